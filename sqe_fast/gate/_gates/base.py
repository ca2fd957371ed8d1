"""What a gate is, what a run of one may be told, and scores of need that several gates rank by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sqe_fast._checks import check_choice, describe
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.gate.gain import GainModel
from sqe_fast.gate.signals import SIGNALS
from sqe_fast.usage import Usage

__all__ = ["Asking", "Chooser", "ChoosingRun", "Decide", "Direction", "Gate", "Payee"]
__all__ += ["Quote", "Quoter", "Scored", "Signals", "TokenCounter", "choose", "needs_of"]

Signals = Mapping[str, NDArray[np.float32]]
Direction = Literal["below", "above"]
DIRECTIONS = ("below", "above")

Decide = Callable[[Signals, int], NDArray[np.bool_]]
"""From the signals of the next n questions, and n, to bool[n]: expand or not."""

TokenCounter = Callable[[str], int]
"""From a text to its number of tokens."""


@dataclass(frozen=True, eq=False)
class Quote:
    """The most that expanding each of m questions can cost: int64[m] tokens of prompts, of completions."""

    prompt: NDArray[np.int64]
    completion: NDArray[np.int64]


Quoter = Callable[[NDArray[np.int64], TokenCounter | None], Quote]
"""From places among the questions, and a counter (None: the generator's own), to what they can cost."""


@dataclass(frozen=True, eq=False)
class Asking:
    """The next n questions of a run, as a gate may see them.

    Attributes
    ----------
    signals : mapping of str to float32[n]
        At least those that the gate names.
    open : bool[n]
        False where the question cannot be expanded: it is blank, or an earlier step has settled it.
    quote : callable or None
        Tells what expanding some of them can cost; None where nobody knows.
    """

    signals: Signals
    open: NDArray[np.bool_]
    quote: Quoter | None = None

    def __len__(self) -> int:
        return len(self.open)


class Gate(Protocol):
    """A rule that says which questions to expand."""

    @property
    def signals(self) -> tuple[str, ...]:
        """The names of the signals that it looks at."""

    def start(self) -> Decide:
        """Return the decisions of one run: questions in order, any number of them a call.

        What is returned may also be a `Chooser`, and is then asked by `choose`; and a `Payee`, which is told
        what its questions cost.
        """


@runtime_checkable
class Chooser(Protocol):
    """A run that wants to know more than signals."""

    def choose(self, asking: Asking) -> NDArray[np.bool_]:
        """Return bool[n]: expand or not."""


@runtime_checkable
class Payee(Protocol):
    """A run that keeps an account."""

    def paid(self, usage: Usage) -> None:
        """Take note of the cost of the questions of the earliest decision that has not been paid yet.

        Decisions are paid in order; any number of them may be open.
        """


class ChoosingRun:
    """A run that chooses, and so decides from signals alone where all questions can be expanded."""

    def choose(self, asking: Asking) -> NDArray[np.bool_]:
        """See `Chooser.choose`."""
        raise NotImplementedError

    def __call__(self, signals: Signals, n: int) -> NDArray[np.bool_]:
        """See `Gate.start`."""
        return self.choose(Asking(signals, np.ones(n, np.bool_)))


def choose(run: Decide, asking: Asking) -> NDArray[np.bool_]:
    """Return bool[n]: the decision of any run, and never a question that cannot be expanded.

    A run sees every question: one that draws at random draws for those too that are not open.
    """
    chosen = run.choose(asking) if isinstance(run, Chooser) else run(asking.signals, len(asking))
    return chosen & asking.open


@dataclass(frozen=True, kw_only=True)
class Scored:
    """What gates rank questions by: a signal with its direction, or the gain that a model predicts.

    Attributes
    ----------
    signal : str
        A name of `SIGNALS`.
    direction : {"below", "above"}
        The neediest questions are those where the signal is lowest, or highest.
    model : GainModel, optional
        In place of both: the neediest are those that expansion is to help most.
    """

    signal: str = "spread"
    direction: Direction = "below"
    model: GainModel | None = None

    def __post_init__(self) -> None:
        check_signal(self.signal, self.direction)
        if self.model is not None and not isinstance(self.model, GainModel):
            raise InvalidTypeError(f"model must be a GainModel; got {describe(self.model)}")

    @property
    def signals(self) -> tuple[str, ...]:
        """The signal, or those of the model."""
        return (self.signal,) if self.model is None else self.model.names

    def need(self, signals: Signals) -> NDArray[np.float64]:
        """Return float64[n]: the larger, the needier."""
        if self.model is not None:
            return self.model.predict(signals)
        return needs_of(signals[self.signal], self.direction)


def needs_of(values: NDArray[np.float32], direction: Direction) -> NDArray[np.float64]:
    """Return float64[n]: the values, turned so that the larger is the needier."""
    doubles = np.asarray(values, np.float64)
    if np.isnan(doubles).any():
        raise InvalidInputError("signals must not hold NaN")
    return -doubles if direction == "below" else doubles


def check_signal(signal: str, direction: str) -> None:
    """Refuse a signal or a direction that there is not."""
    check_choice("signal", signal, tuple(SIGNALS))
    check_choice("direction", direction, DIRECTIONS)
