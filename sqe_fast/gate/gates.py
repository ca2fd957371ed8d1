"""Gates: which questions are worth an expansion. Each is a row of settings; `start` gives its decisions."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sqe_fast._checks import check_choice, check_int, check_number
from sqe_fast.gate.signals import SIGNALS

__all__ = ["AlwaysGate", "Decide", "Gate", "NeverGate", "OracleGate", "RandomGate", "ThresholdGate"]

Signals = Mapping[str, NDArray[np.float32]]
Decide = Callable[[Signals, int], NDArray[np.bool_]]
"""From the signals of the next n questions, and n, to bool[n]: expand or not."""


class Gate(Protocol):
    """A rule that says which questions to expand."""

    @property
    def signals(self) -> tuple[str, ...]:
        """The names of the signals that it looks at."""

    def start(self) -> Decide:
        """Return the decisions of one run: questions in order, any number of them a call."""


@dataclass(frozen=True)
class AlwaysGate:
    """Expand every question."""

    @property
    def signals(self) -> tuple[str, ...]:
        """None."""
        return ()

    def start(self) -> Decide:
        """See `Gate.start`."""
        return lambda _, n: np.ones(n, np.bool_)


@dataclass(frozen=True)
class NeverGate:
    """Expand no question."""

    @property
    def signals(self) -> tuple[str, ...]:
        """None."""
        return ()

    def start(self) -> Decide:
        """See `Gate.start`."""
        return lambda _, n: np.zeros(n, np.bool_)


@dataclass(frozen=True)
class ThresholdGate:
    """Expand where a signal is below a threshold: where the store's own answer looks weak.

    Examples
    --------
    >>> decide = ThresholdGate(threshold=0.65).start()
    >>> decide({"top1": np.array([0.6, 0.7], np.float32)}, 2).tolist()
    [True, False]
    """

    threshold: float = 0.65
    signal: str = "top1"

    def __post_init__(self) -> None:
        check_number("threshold", self.threshold, -1e30)
        check_choice("signal", self.signal, tuple(SIGNALS))

    @property
    def signals(self) -> tuple[str, ...]:
        """The one signal."""
        return (self.signal,)

    def start(self) -> Decide:
        """See `Gate.start`."""
        # Compared as doubles: 0.65 rounded to float32 is another number, and would move ties.
        return lambda signals, _: signals[self.signal].astype(np.float64) < self.threshold


@dataclass(frozen=True)
class RandomGate:
    """Expand a share of the questions, drawn without looking at them.

    The draws are those of the SQE protocol: ``random.Random(seed).random() < rate``, one a question, in
    order, over the whole run however it is cut into chunks.
    """

    rate: float = 0.46
    seed: int = 42

    def __post_init__(self) -> None:
        check_number("rate", self.rate, 0, 1)
        check_int("seed", self.seed, 0, 2**63 - 1)

    @property
    def signals(self) -> tuple[str, ...]:
        """None."""
        return ()

    def start(self) -> Decide:
        """See `Gate.start`."""
        draw = random.Random(self.seed).random
        return lambda _, n: np.array([draw() < self.rate for _ in range(n)], np.bool_)


@dataclass(frozen=True)
class OracleGate:
    """Expand where it helps: a diagnosis that looks at the targets, no method to be used.

    Helps: a target is among the first `at` hits with the expansion and not without it. Every question is
    expanded to find out; the engine keeps the expansion where it helps.
    """

    at: int = 5

    def __post_init__(self) -> None:
        check_int("at", self.at, 1)

    @property
    def signals(self) -> tuple[str, ...]:
        """None."""
        return ()

    def start(self) -> Decide:
        """Return decisions that expand every question; see the class."""
        return AlwaysGate().start()
