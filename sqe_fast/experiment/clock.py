"""When something was begun, and how long its parts took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Clock"]


class Clock:
    """Seconds of the parts of some work, from when it is made."""

    def __init__(self) -> None:
        self._started = time.time()
        self._begun = time.perf_counter()
        self._laps: dict[str, float] = {}

    @contextmanager
    def lap(self, name: str) -> Iterator[None]:
        """Measure a part."""
        start = time.perf_counter()
        yield
        self._laps[name] = round(time.perf_counter() - start, 3)

    def told(self) -> dict[str, Any]:
        """Return what a manifest or log says: when it started, and the seconds of each part and of all."""
        everything = round(time.perf_counter() - self._begun, 3)
        return {
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._started)),
            "seconds": {**self._laps, "all": everything},
        }
