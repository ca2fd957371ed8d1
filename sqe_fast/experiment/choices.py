"""Gates chosen on some questions and judged on others: halves of a seed, and seeds left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqe_fast.experiment.metrics import NotInRowsError
from sqe_fast.experiment.published import LOO_THRESHOLDS, MAX_EXPANSION_RATE, SPLIT_THRESHOLDS
from sqe_fast.experiment.rows import Experiment, SeedRows
from sqe_fast.experiment.sweeps import Bools, Ints, Pair, best, count_gates, pair_of, top1_of

__all__ = [
    "LeftOutSeed",
    "SplitChoice",
    "halves",
    "judged",
    "leave_one_seed_out",
    "left_out_seed",
    "split_validation",
]


def halves(query_ids: Sequence[str]) -> tuple[Ints, Ints]:
    """Return the positions of the first n // 2 questions by query_id, and of the rest.

    Examples
    --------
    >>> [half.tolist() for half in halves(["q2", "q0", "q1"])]
    [[1], [2, 0]]
    """
    order = np.array(sorted(range(len(query_ids)), key=query_ids.__getitem__), np.int64)
    return order[: len(order) // 2], order[len(order) // 2 :]


@dataclass(frozen=True, eq=False)
class SplitChoice:
    """A gate chosen on the first half of a seed's questions and judged on the second.

    Attributes
    ----------
    seed : int
    policy : str
        What the gate looks at.
    threshold : float
    train_recall, train_rate : float
        On the first half.
    test_recall, test_rate, dense_recall : float
        On the second half: of the gate, and of Dense-Only.
    deltas : int8[second half]
        Hits of the gate less those of Dense-Only, by query_id.
    """

    seed: int
    policy: str
    threshold: float
    train_recall: float
    train_rate: float
    test_recall: float
    test_rate: float
    dense_recall: float
    deltas: NDArray[np.int8]

    @property
    def delta(self) -> float:
        """Recall of the gate less that of Dense-Only, on the second half."""
        return self.test_recall - self.dense_recall


def judged(
    seed: SeedRows, pair: Pair, opened: Bools, chosen: tuple[str, float], trained: tuple[float, float]
) -> SplitChoice:
    """Return a choice with what it gives on `pair`, the second half; `opened` is where it expands."""
    hits = pair.gated(opened)
    n = len(pair)
    return SplitChoice(
        seed.seed,
        *chosen,
        *trained,
        float(np.count_nonzero(hits)) / n,
        float(np.count_nonzero(opened)) / n,
        float(np.count_nonzero(pair.dense)) / n,
        hits.astype(np.int8) - pair.dense.astype(np.int8),
    )


def split_validation(
    seed: SeedRows, k: int = 5, thresholds: Sequence[float] = SPLIT_THRESHOLDS
) -> SplitChoice:
    """Choose the threshold with the most hits on the first half (ties: the lower); judge it on the second."""
    pair, top1 = pair_of(seed, k), top1_of(seed)
    first, second = halves(seed.query_ids)
    if not len(first):
        raise NotInRowsError(f"seed {seed.seed} has one query, which cannot be split")
    counts = count_gates(top1[first], pair.taken(first), thresholds)
    at = best(counts)
    if at is None:
        raise NotInRowsError("there is no threshold to choose from")
    threshold = float(counts.thresholds[at])
    trained = float(counts.recall[at]), float(counts.rate[at])
    return judged(seed, pair.taken(second), top1[second] < threshold, ("score_only", threshold), trained)


@dataclass(frozen=True, eq=False)
class LeftOutSeed:
    """A gate chosen on all other seeds and judged on the one left out.

    Attributes as in `SplitChoice`; `dense_recall` and `always_recall` are of the seed left out.
    """

    seed: int
    policy: str
    threshold: float
    train_recall: float
    train_rate: float
    gate_recall: float
    rate: float
    dense_recall: float
    always_recall: float
    deltas: NDArray[np.int8]


def leave_one_seed_out(
    experiment: Experiment,
    k: int = 5,
    thresholds: Sequence[float] = LOO_THRESHOLDS,
    budget: float = MAX_EXPANSION_RATE,
) -> list[LeftOutSeed]:
    """Choose for each seed the threshold with the most hits on the others, in a budget; judge it on the seed.

    Ties go to the lower expansion rate, then to the lower threshold.

    Raises
    ------
    NotInRowsError
        There are fewer than two seeds, or no threshold is within the budget.
    """
    if len(experiment.seeds) < 2:
        raise NotInRowsError("leaving one seed out needs at least two seeds")
    signals = [top1_of(seed) for seed in experiment.seeds]
    pairs = [pair_of(seed, k) for seed in experiment.seeds]
    counts = [count_gates(signal, pair, thresholds) for signal, pair in zip(signals, pairs, strict=True)]
    every = counts[0]
    for one in counts[1:]:
        every = every + one
    found = []
    for seed, signal, pair, own in zip(experiment.seeds, signals, pairs, counts, strict=True):
        others = every - own
        at = best(others, budget, lower_rate=True)
        if at is None:
            raise NotInRowsError(
                f"without seed {seed.seed} no threshold expands at most {budget:g} of the queries"
            )
        threshold = float(others.thresholds[at])
        trained = float(others.recall[at]), float(others.rate[at])
        found.append(left_out_seed(seed, pair, signal < threshold, ("score_only", threshold), trained))
    return found


def left_out_seed(
    seed: SeedRows, pair: Pair, opened: Bools, chosen: tuple[str, float], trained: tuple[float, float]
) -> LeftOutSeed:
    """Return what a chosen gate gives on the seed left out."""
    hits, n = pair.gated(opened), len(pair)
    return LeftOutSeed(
        seed.seed,
        *chosen,
        *trained,
        float(np.count_nonzero(hits)) / n,
        float(np.count_nonzero(opened)) / n,
        float(np.count_nonzero(pair.dense)) / n,
        float(np.count_nonzero(pair.always)) / n,
        hits.astype(np.int8) - pair.dense.astype(np.int8),
    )
