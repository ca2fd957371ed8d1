"""Rules that are fitted on some questions and judged on others: repeated k-fold cross-validation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqe_fast._checks import check_int
from sqe_fast.gate.study.contrast import RESAMPLES, expected_hits
from sqe_fast.gate.study.curves import budget_weights
from sqe_fast.gate.study.outcomes import Floats, Outcomes
from sqe_fast.gate.study.rankings import Rule
from sqe_fast.stats import BootstrapResult, paired_bootstrap

__all__ = ["Cut", "Held", "cross_validate", "fit_cut", "folds_of"]


@dataclass(frozen=True)
class Cut:
    """A threshold on a score: expand below it, and at it with a probability.

    Attributes
    ----------
    threshold : float
    at : float
        From 0 to 1. A coarse signal has many scores that are equal to the threshold.
    """

    threshold: float
    at: float

    def weights(self, score: Floats) -> Floats:
        """Return float64[n]: the probability with which each question is expanded."""
        weights: Floats = (score < self.threshold) + self.at * (score == self.threshold)
        return weights


def fit_cut(score: Floats, share: float) -> Cut:
    """Return the threshold below which a share of these scores lies; NaN lies above any threshold."""
    weights = budget_weights(score, np.ones(len(score)), share)
    taken = (weights > 0) & ~np.isnan(score)
    if not taken.any():
        return Cut(float("-inf"), 0.0)
    last = float(score[taken].max())
    return Cut(last, float(weights[score == last][0]))


def folds_of(n: int, folds: int, repeats: int, seed: int) -> Iterator[list[NDArray[np.int64]]]:
    """Yield, for each repeat, a random partition of n questions into folds of nearly equal size."""
    check_int("folds", folds, 2, max(2, n))
    rng = np.random.default_rng(check_int("seed", seed, 0))
    for _ in range(check_int("repeats", repeats, 1, 10_000)):
        yield [np.sort(part) for part in np.array_split(rng.permutation(n), folds)]


@dataclass(frozen=True, eq=False)
class Held:
    """A rule judged on questions that it was not fitted on.

    Attributes
    ----------
    hits : float64[n]
        The probability that each question is answered, averaged over the repeats.
    weights : float64[n]
        The probability with which it is expanded, averaged likewise.
    recalls : float64[repeats]
        Recall of each repeat.
    against_random : BootstrapResult
        Recall less that of a random gate which expands as many, with a paired bootstrap over the questions.
    """

    hits: Floats
    weights: Floats
    recalls: Floats
    against_random: BootstrapResult

    @property
    def recall(self) -> float:
        """Mean recall."""
        return float(self.hits.mean())

    @property
    def share(self) -> float:
        """The share that is expanded; a threshold from other questions does not meet it exactly."""
        return float(self.weights.mean())


def cross_validate(
    outcomes: Outcomes,
    rules: Mapping[str, Rule],
    share: float,
    folds: int = 5,
    repeats: int = 10,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> dict[str, Held]:
    """Judge rules at a share of questions by repeated k-fold cross-validation.

    Each rule is fitted on all folds but one, its threshold set there so that `share` is expanded, and applied
    as it stands to the fold left out; the folds are the same for all rules.

    Parameters
    ----------
    outcomes : Outcomes
        At least as many questions as folds.
    rules : mapping of str to Rule
    share : float
        Of questions to be expanded.
    folds, repeats, seed : int
    resamples : int
        Of the bootstrap.

    Examples
    --------
    >>> from sqe_fast.gate.study import by_signal
    >>> values = np.arange(20.0)
    >>> outcomes = Outcomes({"s": values}, values >= 10, np.ones(20, bool))
    >>> held = cross_validate(outcomes, {"s": by_signal("s")}, 0.5, repeats=2)
    >>> held["s"].recall > 0.9
    True
    """
    n = len(outcomes)
    total = {name: np.zeros(n) for name in rules}
    recalls: dict[str, list[float]] = {name: [] for name in rules}
    for parts in folds_of(n, folds, repeats, seed):
        once = {name: np.zeros(n) for name in rules}
        for part in parts:
            rest = np.ones(n, np.bool_)
            rest[part] = False
            train, test = outcomes.take(rest), outcomes.take(part)
            for name, rule in rules.items():
                score = rule(train)
                once[name][part] = fit_cut(score(train), share).weights(score(test))
        for name, weights in once.items():
            total[name] += weights
            recalls[name].append(float(expected_hits(outcomes, weights).mean()))
    return {
        name: _held(outcomes, np.clip(weights / repeats, 0.0, 1.0), recalls[name], resamples)
        for name, weights in total.items()
    }


def _held(outcomes: Outcomes, weights: Floats, recalls: list[float], resamples: int) -> Held:
    against = paired_bootstrap((weights - weights.mean()) * outcomes.gain, resamples)
    return Held(expected_hits(outcomes, weights), weights, np.array(recalls), against)
