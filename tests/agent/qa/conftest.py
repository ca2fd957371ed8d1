"""Questions that the tests of question answering share."""

from __future__ import annotations

import pytest

from sqe_fast.agent.qa.sets import Question


@pytest.fixture
def questions():
    """Seven questions of two sets; evidence is known of one."""
    return [
        *(Question("nq", str(n), f"capital number {n}?", ("Paris", "City of Light")) for n in range(4)),
        Question("popqa", "0", "capital again?", ("paris",), frozenset({"w1", "w9"})),
        Question("popqa", "1", "another capital?", ("Rome",)),
        Question("popqa", "2", "a long one?", ("Paris France",)),
    ]
