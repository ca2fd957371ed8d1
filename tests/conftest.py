"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# A test that takes long on a busy machine is not wrong.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets; tests that need it skip where it is absent."""
    wish = os.environ.get("SQE_FAST_DATA")
    folder = Path(wish) if wish else Path(__file__).resolve().parents[1].parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("real data not found: set SQE_FAST_DATA or put it at ../shared/data")
    return folder
