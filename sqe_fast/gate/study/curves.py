"""Recall against budget: of a gate that expands the neediest first, of random gates, and of an oracle.

A **score** orders questions: the lower, the sooner it is expanded. Questions of equal score are in no order:
what is given for a budget that ends among them is the expectation over all their orders.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sqe_fast._checks import check_int, check_number
from sqe_fast.errors import InvalidInputError
from sqe_fast.gate.study.outcomes import Floats, Outcomes

__all__ = ["Band", "Curve", "budget_weights", "oracle_curve", "random_band", "score_curve"]

DRAWS = 200


@dataclass(frozen=True, eq=False)
class Curve:
    """Recall against the share of a full budget, as corners of a line.

    Attributes
    ----------
    budget : float64[m]
        Rising from 0 to 1, which expands every question.
    recall : float64[m]
    """

    budget: Floats
    recall: Floats

    def at(self, budget: ArrayLike) -> Floats:
        """Return the recall at each budget (0 to 1), linear between corners."""
        return np.interp(_shares(budget), self.budget, self.recall)

    @property
    def area(self) -> float:
        """The area under the curve: mean recall over budgets spread evenly from 0 to 1."""
        return float(np.sum(np.diff(self.budget) * (self.recall[1:] + self.recall[:-1])) / 2)


@dataclass(frozen=True, eq=False)
class Band:
    """What random gates reach at each of m budgets.

    Attributes
    ----------
    budget, mean, low, high : float64[m]
        Mean recall over the draws, and the 2.5 and 97.5 percentiles.
    area : float
        Area under the expected curve, the straight line from no expansion to all.
    """

    budget: Floats
    mean: Floats
    low: Floats
    high: Floats
    area: float


def budget_weights(score: ArrayLike, costs: ArrayLike, budget: float) -> Floats:
    """Return float64[n]: the probability with which each question is expanded under a budget.

    Questions are taken by rising score (NaN last) until the budget, a share of what all together cost, is
    spent. Where it ends inside a group of equal scores, all of the group get the same probability, such that
    the expected cost is the budget exactly.

    Parameters
    ----------
    score : float[n]
        Lower is expanded first.
    costs : float[n]
        0 or more.
    budget : float
        From 0 to 1.

    Examples
    --------
    >>> budget_weights([3.0, 1.0, 1.0, 2.0], [1, 1, 1, 1], 0.25).tolist()
    [0.0, 0.5, 0.5, 0.0]
    """
    group, spent = _groups(np.asarray(score, np.float64), np.asarray(costs, np.float64))
    limit = check_number("budget", budget, 0, 1) * (spent[-1] if len(spent) else 0.0)
    before = np.concatenate([[0.0], spent[:-1]])
    size = spent - before
    # A group that costs nothing is expanded if the budget reaches it.
    share = np.where(size > 0, (limit - before) / np.where(size > 0, size, 1.0), (before <= limit) * 1.0)
    weights: Floats = np.clip(share, 0.0, 1.0)[group]
    return weights


def score_curve(outcomes: Outcomes, score: ArrayLike, axis: str = "questions") -> Curve:
    """Return the curve of a gate that expands by rising score.

    Parameters
    ----------
    outcomes : Outcomes
    score : float[n]
        Lower is expanded first; NaN last.
    axis : {"questions", "tokens"}
        What the budget counts.

    Examples
    --------
    >>> outcomes = Outcomes({}, [False, True, False], [True, False, False])
    >>> score_curve(outcomes, [0.1, 0.2, 0.3]).recall.round(2).tolist()
    [0.33, 0.67, 0.33, 0.33]
    """
    costs, values = outcomes.costs(axis), _score(outcomes, score)
    if not len(outcomes):
        return Curve(np.array([0.0, 1.0]), np.zeros(2))
    group, spent = _groups(values, costs)
    gained = np.cumsum(np.bincount(group, weights=outcomes.gain.astype(np.float64), minlength=len(spent)))
    budget = spent / spent[-1] if spent[-1] > 0 else np.arange(1, len(spent) + 1) / len(spent)
    recall = outcomes.recall + gained / len(outcomes)
    return Curve(np.concatenate([[0.0], budget]), np.concatenate([[outcomes.recall], recall]))


def oracle_curve(outcomes: Outcomes, axis: str = "questions") -> Curve:
    """Return the curve of a gate that knows: where expansion helps, the cheapest first, and nowhere else.

    No gate can be above it. What is left of a budget when nothing more is to be gained stays unspent.
    """
    costs = outcomes.costs(axis)
    total, n = float(costs.sum()), len(outcomes)
    found = np.sort(costs[outcomes.helps])
    if total <= 0:
        return Curve(np.array([0.0, 1.0]), np.full(2, outcomes.recall + (len(found) / n if n else 0.0)))
    budget = np.concatenate([[0.0], np.cumsum(found) / total])
    recall = outcomes.recall + np.arange(len(found) + 1) / n
    return Curve(np.append(budget, 1.0), np.append(recall, recall[-1]))


def random_band(
    outcomes: Outcomes, budget: ArrayLike, axis: str = "questions", draws: int = DRAWS, seed: int = 0
) -> Band:
    """Return what gates reach that draw questions without looking, each spending exactly the budget.

    Parameters
    ----------
    outcomes : Outcomes
    budget : float[m]
        From 0 to 1.
    axis : {"questions", "tokens"}
    draws : int
        Random orders of the questions.
    seed : int
        Of the draws.
    """
    shares = _shares(budget)
    n, costs = len(outcomes), outcomes.costs(axis)
    rng = np.random.default_rng(check_int("seed", seed, 0))
    found = np.empty((check_int("draws", draws, 1, 100_000), len(shares)))
    gain = outcomes.gain
    total = float(costs.sum())
    for draw in range(draws):
        order = rng.permutation(n)
        spent = np.concatenate([[0.0], np.cumsum(costs[order])])
        gained = np.concatenate([[0.0], np.cumsum(gain[order])])
        found[draw] = np.interp(shares * total, spent, gained)
    found = outcomes.recall + found / max(1, n)
    low, high = np.percentile(found, (2.5, 97.5), axis=0)
    area = outcomes.recall + float(gain.sum()) / max(1, n) / 2
    return Band(shares, found.mean(0), low, high, area)


def _score(outcomes: Outcomes, score: ArrayLike) -> Floats:
    values = np.asarray(score, np.float64)
    if values.shape != (len(outcomes),):
        raise InvalidInputError(f"score must have shape [n] = [{len(outcomes)}]; got {list(values.shape)}")
    return values


def _groups(score: Floats, costs: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Return int[n], each question's group of equal score, and what all groups up to each cost."""
    if score.shape != costs.shape or score.ndim != 1:
        raise InvalidInputError(
            f"score and costs must have one shape [n]; got {list(score.shape)} and {list(costs.shape)}"
        )
    _, group = np.unique(score, return_inverse=True)  # NaN behind all numbers, as one group
    if not len(group):
        return group, np.zeros(0)
    return group, np.cumsum(np.bincount(group, weights=costs))


def _shares(budget: ArrayLike) -> Floats:
    shares = np.atleast_1d(np.asarray(budget, np.float64))
    if shares.ndim != 1 or not ((shares >= 0) & (shares <= 1)).all():
        raise InvalidInputError("budget must hold shares from 0 to 1")
    return shares
