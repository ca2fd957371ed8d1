"""What gates rank questions by, and the rules that choose it from questions with known answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqe_fast._checks import check_number, describe
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.gate.gain import GainModel
from sqe_fast.gate.gates import Gate, LearnedGate, RateGate, StreamingGate, ThresholdGate
from sqe_fast.gate.learned import fit_gain
from sqe_fast.gate.study.curves import budget_weights
from sqe_fast.gate.study.outcomes import Floats, Outcomes

__all__ = ["Ranking", "Rule", "best_signal", "by_gate", "by_signal", "learned"]


@dataclass(frozen=True)
class Ranking:
    """An order of questions: by a signal, low first unless it descends, or by the gain that a model predicts.

    Attributes
    ----------
    signal : str
        Not looked at where there is a model.
    descending : bool
    model : GainModel or None

    Examples
    --------
    >>> Ranking("top1")(Outcomes({"top1": [0.4, 0.9]}, [False, True], [True, True])).tolist()
    [0.4, 0.9]
    """

    signal: str = ""
    descending: bool = False
    model: GainModel | None = None

    def __call__(self, outcomes: Outcomes) -> Floats:
        """Return float64[n], the score of each question: the lower, the sooner it is expanded."""
        if self.model is not None:
            return -self.model.predict(values_of(outcomes, self.model.names))
        values = outcomes.signal(self.signal)
        return -values if self.descending else values


Rule = Callable[[Outcomes], Ranking]
"""From the questions that may be looked at to the ranking that is fitted on them."""


def by_signal(name: str, descending: bool = False) -> Rule:
    """Return the rule that takes one signal, whatever the questions."""
    ranking = Ranking(name, descending)
    return lambda _: ranking


def by_gate(gate: Gate) -> Rule:
    """Return the rule that ranks by what a gate ranks by, whatever its threshold or rate.

    Raises
    ------
    InvalidTypeError
        The gate ranks by nothing: it draws, or does the same for every question.
    """
    if isinstance(gate, LearnedGate):
        ranking = Ranking(model=gate.model)
    elif isinstance(gate, ThresholdGate):
        ranking = Ranking(gate.signal, gate.direction == "above")
    elif isinstance(gate, (RateGate, StreamingGate)):
        ranking = Ranking(gate.signal, gate.direction == "above", gate.model)
    else:
        raise InvalidTypeError(f"gate must rank questions; got {describe(gate)}")
    return lambda _: ranking


def learned(names: Sequence[str] | None = None, **settings: Any) -> Rule:
    """Return the rule that fits a `GainModel`; signals and settings as for `sqe_fast.gate.fit_gain`."""

    def fit(train: Outcomes) -> Ranking:
        chosen = tuple(train.signals) if names is None else tuple(names)
        return Ranking(model=fit_gain(values_of(train, chosen), train.gain, **settings))

    return fit


def best_signal(names: Iterable[str], share: float) -> Rule:
    """Return the rule that takes, of some signals in both directions, what gains most at a share.

    Ties go to the first in order. This is what choosing a gate by its curve amounts to; judged out of fold,
    it shows what the choice itself is worth.
    """
    candidates = [Ranking(name, descending) for name in names for descending in (False, True)]
    if not candidates:
        raise InvalidInputError("best_signal: at least one name is needed")
    share = check_number("share", share, 0, 1)

    def fit(train: Outcomes) -> Ranking:
        costs = train.costs("questions")
        gains = [float(budget_weights(one(train), costs, share) @ train.gain) for one in candidates]
        return candidates[int(np.argmax(gains))]

    return fit


def values_of(outcomes: Outcomes, names: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    """Return signals as gates and models take them."""
    return {name: outcomes.signal(name).astype(np.float32) for name in names}
