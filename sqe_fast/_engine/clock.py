"""Wall time by room, added up from several threads."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from sqe_fast.batch import ROOMS

__all__ = ["Clock"]


class Clock:
    """Seconds spent in each room."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(ROOMS, 0.0)
        self._lock = Lock()

    @contextmanager
    def room(self, name: str) -> Iterator[None]:
        """Add the time that the block takes to a room."""
        start = time.perf_counter()
        try:
            yield
        finally:
            with self._lock:
                self.seconds[name] += time.perf_counter() - start
