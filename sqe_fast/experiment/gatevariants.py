"""Gates over several signals: score and agreement with BM25, margins, concentration.

A **policy** is a signal with a threshold, alone, with, or beside "no agreement": the best dense hit is not
among the first 10 of BM25.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sqe_fast.experiment.choices import LeftOutSeed, SplitChoice, halves, judged, left_out_seed
from sqe_fast.experiment.metrics import NotInRowsError, rows_of
from sqe_fast.experiment.published import (
    FEATURE_POLICIES,
    LOO_THRESHOLDS,
    MAX_EXPANSION_RATE,
    SPLIT_THRESHOLDS,
    VARIANT_POLICIES,
)
from sqe_fast.experiment.rows import Experiment, SeedRows
from sqe_fast.experiment.sweeps import Bools, Floats, GateCounts, Ints, Pair, count_gates, pair_of, top1_of
from sqe_fast.gate.signals import compute_signals
from sqe_fast.hits import Hits

__all__ = [
    "agreement_of",
    "choose_feature",
    "choose_variant",
    "feature_of",
    "leave_one_seed_out_variants",
    "opened",
]

AGREEMENT_DEPTH = 10
SCORES = 5  # that a concentration looks at


@dataclass(frozen=True)
class _Rule:
    """A policy: its signal, and what agreement does to it."""

    signal: str
    agreement: str = ""  # "and" no agreement, "or" no agreement, or nothing


_RULES: Mapping[str, _Rule] = {
    "score_only": _Rule("top1"),
    "score_and_no_bm25_agreement": _Rule("top1", "and"),
    "score_or_no_bm25_agreement": _Rule("top1", "or"),
    "top1_low": _Rule("top1"),
    "margin_low": _Rule("margin"),
    "concentration_low": _Rule("concentration"),
    "top1_low_or_no_bm25_agreement": _Rule("top1", "or"),
    "margin_low_or_no_bm25_agreement": _Rule("margin", "or"),
}


def agreement_of(seed: SeedRows) -> Bools:
    """bool[n]: the best hit of Dense-Only is among the first 10 of BM25-Only."""
    dense, bm25 = rows_of(seed, "Dense-Only"), rows_of(seed, "BM25-Only")
    pairs = zip(dense.retrieved, bm25.retrieved, strict=True)
    return np.array([bool(ids) and ids[0] in others[:AGREEMENT_DEPTH] for ids, others in pairs], np.bool_)


def feature_of(seed: SeedRows, name: str) -> Floats:
    """Return float64[n]: top1, margin or concentration, as the rows say, or from the scores of Dense-Only.

    Raises
    ------
    NotInRowsError
        The rows have neither the signal nor the scores, as those of the release.
    """
    if name == "top1":
        return top1_of(seed)
    for rows in seed.methods.values():
        values = rows.signals.get(name)
        if values is not None and not np.isnan(values).all():
            return values
    scores: list[Any] = [row.get("scores") for row in rows_of(seed, "Dense-Only").raw]
    if not all(isinstance(one, list) and one for one in scores):
        raise NotInRowsError(f"the rows of seed {seed.seed} hold neither the signal {name} nor dense scores")
    best = np.full((len(scores), SCORES), -np.inf, np.float32)
    for i, one in enumerate(scores):
        best[i, : len(one[:SCORES])] = one[:SCORES]
    hits = Hits(np.where(np.isinf(best), -1, 0).astype(np.int32), best)
    return compute_signals([name], hits)[name].astype(np.float64)


def opened(policy: str, threshold: float, signal: Floats, agreement: Bools | None) -> Bools:
    """bool[n]: where a policy expands."""
    below: Bools = signal < threshold
    rule = _RULES[policy]
    if not rule.agreement or agreement is None:
        return below
    return below & ~agreement if rule.agreement == "and" else below | ~agreement


@dataclass(frozen=True, eq=False)
class _Candidates:
    """All policies over some questions: counts of each, with what is needed to judge one."""

    pair: Pair
    signals: Mapping[str, Floats]
    agreement: Bools | None

    @classmethod
    def of(cls, seed: SeedRows, k: int, policies: Sequence[str]) -> _Candidates:
        signals = {name: feature_of(seed, name) for name in dict.fromkeys(_RULES[p].signal for p in policies)}
        needs = any(_RULES[policy].agreement for policy in policies)
        return cls(pair_of(seed, k), signals, agreement_of(seed) if needs else None)

    def taken(self, rows: Ints) -> _Candidates:
        signals = {name: values[rows] for name, values in self.signals.items()}
        return _Candidates(
            self.pair.taken(rows), signals, None if self.agreement is None else self.agreement[rows]
        )

    def counts(self, policy: str, thresholds: Sequence[float]) -> GateCounts:
        rule = _RULES[policy]
        signal = self.signals[rule.signal]
        if not rule.agreement or self.agreement is None:
            return count_gates(signal, self.pair, thresholds)
        alone = ~self.agreement
        if rule.agreement == "and":
            return count_gates(signal, self.pair, thresholds, within=alone)
        return count_gates(signal, self.pair, thresholds, forced=alone)

    def opened(self, policy: str, threshold: float) -> Bools:
        return opened(policy, threshold, self.signals[_RULES[policy].signal], self.agreement)


def _best(grid: Mapping[str, GateCounts], budget: float) -> tuple[str, int] | None:
    """Return the policy and position with the most hits: ties to the lower rate, policy's name, threshold."""
    allowed = [(name, i) for name, one in grid.items() for i in range(len(one.hits)) if one.rate[i] <= budget]

    def order(at: tuple[str, int]) -> tuple[int, int, str, float]:
        one = grid[at[0]]
        return -int(one.hits[at[1]]), int(one.expanded[at[1]]), at[0], float(one.thresholds[at[1]])

    return min(allowed, key=order, default=None)


def _split(seed: SeedRows, k: int, grids: Mapping[str, Sequence[float]], budget: float) -> SplitChoice:
    whole = _Candidates.of(seed, k, tuple(grids))
    rows = halves(seed.query_ids)
    if not len(rows[0]):
        raise NotInRowsError(f"seed {seed.seed} has one query, which cannot be split")
    first, second = (whole.taken(half) for half in rows)
    counts = {policy: first.counts(policy, thresholds) for policy, thresholds in grids.items()}
    at = _best(counts, budget)
    if at is None:
        raise NotInRowsError(f"on seed {seed.seed} no gate expands at most {budget:g} of the first half")
    policy, i = at
    threshold = float(counts[policy].thresholds[i])
    trained = float(counts[policy].recall[i]), float(counts[policy].rate[i])
    return judged(seed, second.pair, second.opened(policy, threshold), (policy, threshold), trained)


def choose_variant(seed: SeedRows, k: int = 5, thresholds: Sequence[float] = SPLIT_THRESHOLDS) -> SplitChoice:
    """Choose score, score and no agreement, or score or no agreement on the first half; judge on the second.

    Ties go to the lower expansion rate, then by the policy's name, then to the lower threshold.
    """
    return _split(seed, k, dict.fromkeys(VARIANT_POLICIES, thresholds), float("inf"))


def choose_feature(
    seed: SeedRows,
    k: int = 5,
    policies: Mapping[str, Sequence[float]] = FEATURE_POLICIES,
    budget: float = MAX_EXPANSION_RATE,
) -> SplitChoice:
    """Choose among gate features on the first half, within a budget of expansions; judge on the second."""
    return _split(seed, k, policies, budget)


def leave_one_seed_out_variants(
    experiment: Experiment,
    k: int = 5,
    thresholds: Sequence[float] = LOO_THRESHOLDS,
    budget: float = MAX_EXPANSION_RATE,
) -> list[LeftOutSeed]:
    """As `sqe_fast.experiment.choices.leave_one_seed_out`, choosing a policy of agreement as well."""
    if len(experiment.seeds) < 2:
        raise NotInRowsError("leaving one seed out needs at least two seeds")
    parts = [_Candidates.of(seed, k, VARIANT_POLICIES) for seed in experiment.seeds]
    own = [{policy: part.counts(policy, thresholds) for policy in VARIANT_POLICIES} for part in parts]
    every = dict(own[0])
    for counts in own[1:]:
        every = {policy: every[policy] + counts[policy] for policy in VARIANT_POLICIES}
    found = []
    for seed, part, counts in zip(experiment.seeds, parts, own, strict=True):
        others = {policy: every[policy] - counts[policy] for policy in VARIANT_POLICIES}
        at = _best(others, budget)
        if at is None:
            raise NotInRowsError(
                f"without seed {seed.seed} no gate expands at most {budget:g} of the queries"
            )
        policy, i = at
        threshold = float(others[policy].thresholds[i])
        trained = float(others[policy].recall[i]), float(others[policy].rate[i])
        found.append(
            left_out_seed(seed, part.pair, part.opened(policy, threshold), (policy, threshold), trained)
        )
    return found
