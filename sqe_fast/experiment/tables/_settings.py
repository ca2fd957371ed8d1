"""What a report may be told."""

from __future__ import annotations

from dataclasses import dataclass

from sqe_fast._checks import check_int, check_number
from sqe_fast.experiment.published import GATE_THRESHOLD, MAX_EXPANSION_RATE
from sqe_fast.stats import MAX_ROUNDS, MAX_SEED

__all__ = ["ReportSettings"]


@dataclass(frozen=True)
class ReportSettings:
    """Settings of a report; the defaults are the protocol's.

    Attributes
    ----------
    k : int
        Depth of recall that gates and paired tests look at.
    resamples : int
        Of every bootstrap over all seeds, and rounds of sign flips.
    seed_resamples : int
        Of every bootstrap over one seed.
    seed : int
        Of the random numbers.
    threshold : float
        Of the gate that the split validation reports besides the chosen one.
    budget : float
        The largest share of queries that a gate chosen from a grid may expand.
    examples : int
        Queries of each kind among the case examples.
    """

    k: int = 5
    resamples: int = 10_000
    seed_resamples: int = 5_000
    seed: int = 42
    threshold: float = GATE_THRESHOLD
    budget: float = MAX_EXPANSION_RATE
    examples: int = 2

    def __post_init__(self) -> None:
        check_int("k", self.k, 1)
        check_int("resamples", self.resamples, 1, MAX_ROUNDS)
        check_int("seed_resamples", self.seed_resamples, 1, MAX_ROUNDS)
        check_int("seed", self.seed, 0, MAX_SEED)
        check_number("threshold", self.threshold, -1e30)
        check_number("budget", self.budget, 0, 1)
        check_int("examples", self.examples, 0)
