"""What a ranked list tells of itself by its scores: one number a list, whatever the scale of the scores.

Used to weigh the lists of a fusion (`Method.weigh_by`). Each lies from 0 up, does not change when all scores
of a list are multiplied by one number, and is 0 for a list that has no hits or prefers none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from sqe_fast.hits import Hits

__all__ = ["LIST_SIGNALS"]

Floats = NDArray[np.float64]


def _drop(hits: Hits) -> Floats:
    """Return how much of the best score is lost at the end of the list: (s1 - sn) / |s1|, at most 1."""
    best, last, _ = _ends(hits)
    return np.minimum(_share(best - last, np.abs(best)), 1.0)


def _gap(hits: Hits) -> Floats:
    """Return the step behind the best score as a share of the whole fall: (s1 - s2) / (s1 - sn)."""
    best, last, second = _ends(hits)
    return _share(best - second, best - last)


def _spread(hits: Hits) -> Floats:
    """Return the coefficient of variation of the scores: deviation (of the population) / |mean|."""
    mean, deviation = _moments(hits)
    return _share(deviation, np.abs(mean))


def _peak(hits: Hits) -> Floats:
    """Return the z-score of the best hit among the list's own hits: (s1 - mean) / deviation."""
    mean, deviation = _moments(hits)
    return _share(_ends(hits)[0] - mean, deviation)


LIST_SIGNALS: Mapping[str, Callable[[Hits], Floats]] = MappingProxyType(
    {"drop": _drop, "gap": _gap, "spread": _spread, "peak": _peak}
)
"""By name: from n lists to float64[n]."""


def _ends(hits: Hits) -> tuple[Floats, Floats, Floats]:
    """Return the first, the last and the second score of each list; 0 where there are fewer."""
    scores = np.where(hits.ids >= 0, hits.scores, 0.0).astype(np.float64)
    last = np.maximum(hits.counts - 1, 0)
    second = np.minimum(last, 1)
    rows = np.arange(len(scores))
    return scores[:, 0], scores[rows, last], scores[rows, second]


def _moments(hits: Hits) -> tuple[Floats, Floats]:
    real = hits.ids >= 0
    scores = np.where(real, hits.scores, 0.0).astype(np.float64)
    count = np.maximum(real.sum(1), 1)
    mean = scores.sum(1) / count
    squares = np.where(real, (scores - mean[:, None]) ** 2, 0.0).sum(1)
    return mean, np.sqrt(squares / count)


def _share(part: Floats, whole: Floats) -> Floats:
    """Return part / whole, and 0 where the whole is 0 (to within rounding of float32 scores)."""
    found: Floats = np.divide(part, whole, out=np.zeros_like(part), where=whole > 1e-12)
    return found
