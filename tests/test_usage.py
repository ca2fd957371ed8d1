"""Usage: sums, joins, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from sqe_fast.errors import InvalidInputError
from sqe_fast.usage import Usage


def test_sums_and_joins():
    a = Usage.of([1, 2], [10, 20], [0, 16], [5, 6])
    b = Usage.of([1, 0], [3, 0], [0, 0], [1, 0], estimated=True)
    both = a + b
    assert both.totals() == {"calls": 4, "prompt_tokens": 33, "cached_tokens": 16, "completion_tokens": 12}
    assert both.total_tokens == 45
    assert both.estimated
    assert not a.estimated
    joined = Usage.concat([a, b, Usage.zeros(1)])
    assert joined.calls.tolist() == [1, 2, 1, 0, 0]
    assert joined.estimated
    assert len(Usage.concat([])) == 0


def test_wrong_shapes_dtypes_and_signs_are_refused():
    with pytest.raises(InvalidInputError, match="one length"):
        Usage.of([1], [1, 2], [0], [0])
    with pytest.raises(InvalidInputError, match="int64"):
        Usage(*(np.zeros(2, np.int32) for _ in range(4)))
    with pytest.raises(InvalidInputError, match=">= 0"):
        Usage.of([-1], [0], [0], [0])
    with pytest.raises(InvalidInputError, match="cannot add 2 queries to 1"):
        Usage.zeros(1) + Usage.zeros(2)
