"""Gates against each other at one budget, question by question."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sqe_fast.errors import InvalidInputError
from sqe_fast.gate.study.curves import budget_weights
from sqe_fast.gate.study.outcomes import Floats, Outcomes
from sqe_fast.stats import BootstrapResult, paired_bootstrap

__all__ = ["contrast", "contrast_with_random", "expected_hits"]

RESAMPLES = 10_000


def expected_hits(outcomes: Outcomes, weights: ArrayLike) -> Floats:
    """Return float64[n]: the probability that each question is answered, if it is expanded with `weights`."""
    chance = np.asarray(weights, np.float64)
    if chance.shape != (len(outcomes),) or not ((chance >= 0) & (chance <= 1)).all():
        raise InvalidInputError(f"weights must be [n] = [{len(outcomes)}] probabilities")
    hits: Floats = outcomes.base_hit + chance * outcomes.gain
    return hits


def contrast(
    outcomes: Outcomes,
    score: ArrayLike,
    other: ArrayLike,
    budget: float,
    axis: str = "questions",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> BootstrapResult:
    """Return recall of one gate less that of another, both at one budget, with a paired bootstrap.

    The difference of each question is that of its expected hits; resampling takes the gates' choices as they
    are, so the interval is of other questions under these choices.
    """
    costs = outcomes.costs(axis)
    mine, theirs = (budget_weights(one, costs, budget) for one in (score, other))
    return paired_bootstrap((mine - theirs) * outcomes.gain, resamples, seed)


def contrast_with_random(
    outcomes: Outcomes,
    score: ArrayLike,
    budget: float,
    axis: str = "questions",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> BootstrapResult:
    """Return recall of a gate less that of a random one at the same budget, with a paired bootstrap.

    A random gate expands each question with the probability `budget`: its expectation is exact, so no luck
    of one draw is in the difference.

    Examples
    --------
    >>> outcomes = Outcomes({}, [False, True] * 20, [True, True] * 20)
    >>> result = contrast_with_random(outcomes, [0.0, 1.0] * 20, 0.5)
    >>> result.mean
    0.25
    """
    weights = budget_weights(score, outcomes.costs(axis), budget)
    return paired_bootstrap((weights - budget) * outcomes.gain, resamples, seed)
