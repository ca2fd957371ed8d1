"""Timing two or more ways of doing one thing against each other."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

__all__ = ["Timing", "race"]

MIN_SAMPLE_SECONDS = 0.05  # a sample repeats short calls until it is at least about this long


@dataclass(frozen=True)
class Timing:
    """Seconds of one call: the best sample and the median of all samples."""

    best: float
    median: float


def race(calls: Mapping[str, Callable[[], object]], repeats: int, budget: float = 30.0) -> dict[str, Timing]:
    """Time every call `repeats` times, taking turns, so that a slow minute of the machine hits all alike.

    Each call runs once unmeasured first (caches, compilation), and in every second round the order is turned
    around. The garbage collector rests meanwhile. No round starts after `budget` seconds, but two always run.
    """
    start = time.perf_counter()
    gc.collect()
    gc.disable()
    try:
        inner = {name: loops_for(call) for name, call in calls.items()}
        samples: dict[str, list[float]] = {name: [] for name in calls}
        order = list(calls)
        for round_ in range(repeats):
            if round_ >= 2 and time.perf_counter() - start > budget:
                break
            for name in order:
                samples[name].append(sample(calls[name], inner[name]))
            order.reverse()
    finally:
        gc.enable()
    return {name: Timing(min(times), statistics.median(times)) for name, times in samples.items()}


def loops_for(call: Callable[[], object]) -> int:
    """Warm `call` up and return how many calls fill a sample."""
    seconds = sample(call, 1)
    if seconds < 10 * MIN_SAMPLE_SECONDS:
        seconds = sample(call, 1)
    return max(1, round(MIN_SAMPLE_SECONDS / max(seconds, 1e-7)))


def sample(call: Callable[[], object], loops: int) -> float:
    """Return the mean seconds of `loops` calls in a row."""
    start = time.perf_counter()
    for _ in range(loops):
        call()
    return (time.perf_counter() - start) / loops
