"""Gates tried after the fact: dense rows where a gate is shut, rows of Always-Expand where it is open.

Expanding a question adds always - dense to the hits, whatever happens to others. So one sort of a signal and
one running sum give the hits and the expanded questions of every threshold: O(n log n + t log n) for t
thresholds, and seeds or halves add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqe_fast.experiment.metrics import NotInRowsError, rows_of
from sqe_fast.experiment.published import SWEEP_THRESHOLDS
from sqe_fast.experiment.rows import SeedRows

__all__ = [
    "ALWAYS",
    "DENSE",
    "Bools",
    "Floats",
    "GateCounts",
    "Ints",
    "Pair",
    "best",
    "count_gates",
    "pair_of",
    "threshold_sweep",
    "top1_of",
]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DENSE, ALWAYS = "Dense-Only", "Always-Expand"


@dataclass(frozen=True, eq=False)
class Pair:
    """Hits of n questions, as they are and expanded.

    Attributes
    ----------
    dense, always : bool[n]
        Whether the target is within k for Dense-Only and for Always-Expand.
    """

    dense: Bools
    always: Bools

    def __len__(self) -> int:
        return len(self.dense)

    def taken(self, rows: Ints) -> Pair:
        """Return the questions at these positions."""
        return Pair(self.dense[rows], self.always[rows])

    def gated(self, opened: Bools) -> Bools:
        """bool[n]: the hits of a gate that expands where `opened`."""
        return np.where(opened, self.always, self.dense)


@dataclass(frozen=True, eq=False)
class GateCounts:
    """What each of t thresholds gives over n questions.

    Attributes
    ----------
    thresholds : float64[t]
    hits, expanded : int64[t]
    n : int
    """

    thresholds: Floats
    hits: Ints
    expanded: Ints
    n: int

    @property
    def recall(self) -> Floats:
        """float64[t]."""
        return self.hits / self.n

    @property
    def rate(self) -> Floats:
        """float64[t]: share of the questions that are expanded."""
        return self.expanded / self.n

    def __add__(self, other: GateCounts) -> GateCounts:
        return GateCounts(
            self.thresholds, self.hits + other.hits, self.expanded + other.expanded, self.n + other.n
        )

    def __sub__(self, other: GateCounts) -> GateCounts:
        return GateCounts(
            self.thresholds, self.hits - other.hits, self.expanded - other.expanded, self.n - other.n
        )


def pair_of(seed: SeedRows, k: int) -> Pair:
    """Return the hits within k of Dense-Only and Always-Expand."""
    return Pair(rows_of(seed, DENSE).hit(k), rows_of(seed, ALWAYS).hit(k))


def top1_of(seed: SeedRows) -> Floats:
    """Return float64[n]: the dense score of each question's best hit, from the first method that has them.

    Raises
    ------
    NotInRowsError
        No method has one for every question.
    """
    for rows in seed.methods.values():
        for values in (rows.top1, rows.signals.get("top1")):
            if values is not None and not np.isnan(values).any():
                return values
    raise NotInRowsError(f"the rows of seed {seed.seed} hold no top1_score_before_expansion for every query")


def count_gates(
    signal: Floats,
    pair: Pair,
    thresholds: Sequence[float],
    *,
    within: Bools | None = None,
    forced: Bools | None = None,
) -> GateCounts:
    """Count hits and expanded questions of the gate ``signal < t`` for every threshold t.

    Parameters
    ----------
    signal : float64[n]
        nan is below no threshold.
    pair : Pair
        Of the same n questions.
    thresholds : sequence of t floats
    within : bool[n], optional
        Expand only where true: the gate is ``signal < t and within``.
    forced : bool[n], optional
        Expand there too: the gate is ``signal < t or forced``.

    Returns
    -------
    GateCounts

    Examples
    --------
    >>> pair = Pair(np.array([True, False, False]), np.array([False, True, False]))
    >>> counts = count_gates(np.array([0.7, 0.5, 0.6]), pair, [0.5, 0.6, 0.8])
    >>> counts.hits.tolist(), counts.expanded.tolist()
    ([1, 2, 1], [0, 1, 3])
    """
    gain = pair.always.astype(np.int64) - pair.dense.astype(np.int64)
    base, opened = int(np.count_nonzero(pair.dense)), 0
    free = np.ones(len(pair), np.bool_) if within is None else within
    if forced is not None:
        base, opened = base + int(gain[forced].sum()), int(np.count_nonzero(forced))
        free = free & ~forced
    values, gain = signal[free], gain[free]
    order = np.argsort(values, kind="stable")  # nan goes last
    running = np.concatenate([[0], np.cumsum(gain[order])])
    limits = np.asarray(thresholds, np.float64)
    below = np.searchsorted(values[order], limits, side="left")
    return GateCounts(limits, base + running[below], opened + below.astype(np.int64), len(pair))


def best(counts: GateCounts, budget: float = float("inf"), *, lower_rate: bool = False) -> int | None:
    """Return the position of the threshold with the most hits; None where none is within the budget.

    Ties go to the lower threshold, or with `lower_rate` to the lower expansion rate and then the lower
    threshold. `budget` is the largest share of questions that may be expanded.
    """
    allowed = [i for i in range(len(counts.hits)) if counts.rate[i] <= budget]

    def order(i: int) -> tuple[int, int, float]:
        return -int(counts.hits[i]), int(counts.expanded[i]) if lower_rate else 0, float(counts.thresholds[i])

    return min(allowed, key=order, default=None)


def threshold_sweep(seed: SeedRows, k: int = 5, thresholds: Sequence[float] = SWEEP_THRESHOLDS) -> GateCounts:
    """Count all questions of a seed at every threshold on the top-1 dense score."""
    return count_gates(top1_of(seed), pair_of(seed, k), thresholds)
