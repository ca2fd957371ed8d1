"""Fixtures of the text room."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sqe_fast import _core


@pytest.fixture(params=_core.isa_levels())
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run the test once at each instruction set level of this machine."""
    before = _core.isa()
    _core.set_isa(request.param)
    yield request.param
    _core.set_isa(before)
