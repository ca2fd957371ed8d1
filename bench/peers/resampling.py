"""The paired bootstrap in numpy: resampled row numbers in chunks, and a shortcut for few distinct deltas."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["numpy_bootstrap", "numpy_multinomial"]

Summary = tuple[float, float, float, float, float]


def numpy_bootstrap(deltas: NDArray[np.int8], resamples: int, seed: int = 0, chunk: int = 250) -> Summary:
    """Draw `resamples` samples of all rows with replacement -> (mean, low, high, p_one, p_two).

    Two-byte row numbers and int8 gathers: the fastest plain numpy found (int64 row numbers take longer).
    """
    rng = np.random.default_rng(seed)
    n = len(deltas)
    means = np.empty(resamples)
    kind = np.uint16 if n <= 2**16 else np.uint32
    for start in range(0, resamples, chunk):
        size = min(chunk, resamples - start)
        rows = rng.integers(0, n, (size, n), dtype=kind)
        means[start : start + size] = deltas[rows].sum(axis=1, dtype=np.int32) / n
    return summary(deltas, means)


def numpy_multinomial(deltas: NDArray[np.int8], resamples: int, seed: int = 0) -> Summary:
    """Draw how often each distinct delta occurs instead of which rows: the same law, far less work.

    Shown for honesty: where deltas take few values, no resampling of rows is needed at all.
    """
    rng = np.random.default_rng(seed)
    values, counts = np.unique(deltas, return_counts=True)
    n = len(deltas)
    draws = rng.multinomial(n, counts / n, resamples)
    return summary(deltas, draws @ values.astype(np.float64) / n)


def summary(deltas: NDArray[np.int8], means: NDArray[np.float64]) -> Summary:
    """Mean, 95% interval by linear percentiles, share of resamples on the other side of 0, and twice it."""
    mean = float(deltas.mean())
    low, high = np.percentile(means, [2.5, 97.5])
    below, above = float((means <= 0).mean()), float((means >= 0).mean())
    return mean, float(low), float(high), below if mean > 0 else above, min(1.0, 2 * min(below, above))
