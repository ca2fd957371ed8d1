"""Fixtures of the store's tests."""

from __future__ import annotations

import pytest
from oracles.standins import HashEncoder

from sqe_fast.store import MemoryStore


@pytest.fixture
def encoder():
    return HashEncoder()


@pytest.fixture
def store(tmp_path, encoder):
    with MemoryStore.create(tmp_path / "memory", encoder=encoder) as store:
        yield store
