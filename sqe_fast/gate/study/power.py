"""What a score tells apart: questions that the base misses; and, which is another thing, those to expand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sqe_fast.errors import InvalidInputError
from sqe_fast.gate.study.outcomes import Outcomes

__all__ = ["Power", "auc", "power"]


@dataclass(frozen=True)
class Power:
    """The areas under two receiver operating characteristics; 0.5 is chance.

    Attributes
    ----------
    difficulty : float
        Of telling questions that the base misses from those that it answers.
    gain : float
        Of telling questions that expansion helps from all others. A gate lives by this one: a hard question
        that expansion does not help is not worth an expansion.
    """

    difficulty: float
    gain: float


def auc(score: ArrayLike, positive: ArrayLike) -> float:
    """Return the share of pairs in which the positive has the lower score, ties counting half.

    The Mann-Whitney statistic over the number of pairs, in O(n log n). NaN where one side is empty; a score
    that is NaN is higher than all.

    Parameters
    ----------
    score : float[n]
    positive : bool[n]

    Examples
    --------
    >>> auc([0.1, 0.2, 0.2, 0.9], [True, True, False, False])
    0.875
    """
    values, mask = np.asarray(score, np.float64), np.asarray(positive, np.bool_)
    if values.shape != mask.shape or values.ndim != 1:
        raise InvalidInputError(
            f"score and positive must have one shape [n]; got {list(values.shape)} and {list(mask.shape)}"
        )
    _, place = np.unique(values, return_inverse=True)
    ours, theirs = place[mask], np.sort(place[~mask])
    if not len(ours) or not len(theirs):
        return float("nan")
    at_most = np.searchsorted(theirs, ours, side="right")
    below = np.searchsorted(theirs, ours, side="left")
    higher = len(theirs) - at_most + 0.5 * (at_most - below)
    return float(higher.sum() / (len(ours) * len(theirs)))


def power(outcomes: Outcomes, score: ArrayLike) -> Power:
    """Return how well a score (low: needy) tells difficult questions, and questions that expansion helps."""
    return Power(auc(score, ~outcomes.base_hit), auc(score, outcomes.helps))
