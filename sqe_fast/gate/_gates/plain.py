"""Gates that look at each question by itself, or at none."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

from sqe_fast._checks import check_int, check_number, describe
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.gate._gates.base import Decide, Direction, check_signal, needs_of
from sqe_fast.gate.gain import GainModel

__all__ = ["AlwaysGate", "LearnedGate", "NeverGate", "OracleGate", "RandomGate", "ThresholdGate"]
__all__ += ["check_gate"]


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
    """Expand where a signal is below a threshold (where the store's own answer looks weak), or above it.

    Examples
    --------
    >>> decide = ThresholdGate(threshold=0.65).start()
    >>> decide({"top1": np.array([0.6, 0.7], np.float32)}, 2).tolist()
    [True, False]
    """

    threshold: float = 0.65
    signal: str = "top1"
    direction: Direction = "below"

    def __post_init__(self) -> None:
        check_number("threshold", self.threshold, -1e30)
        check_signal(self.signal, self.direction)

    @property
    def signals(self) -> tuple[str, ...]:
        """The one signal."""
        return (self.signal,)

    def start(self) -> Decide:
        """See `Gate.start`."""
        # Compared as doubles: 0.65 rounded to float32 is another number, and would move ties.
        at = -self.threshold if self.direction == "below" else self.threshold
        return lambda signals, _: needs_of(signals[self.signal], self.direction) > at


@dataclass(frozen=True)
class LearnedGate:
    """Expand where the gain that a model predicts is above a threshold.

    The gain is in questions answered: 0.1 stands for one more answer found in ten questions expanded. To
    expand a share of the questions instead, give the model to `RateGate`.
    """

    model: GainModel
    threshold: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.model, GainModel):
            raise InvalidTypeError(f"model must be a GainModel; got {describe(self.model)}")
        check_number("threshold", self.threshold, -1e30)

    @property
    def signals(self) -> tuple[str, ...]:
        """Those of the model."""
        return self.model.names

    def start(self) -> Decide:
        """See `Gate.start`."""
        return lambda signals, _: self.model.predict(signals) > self.threshold


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


def check_gate(name: str, gate: Any) -> None:
    """Refuse what is no gate, and the oracle, which only the engine can ask by itself."""
    if not callable(getattr(gate, "start", None)) or not hasattr(gate, "signals"):
        raise InvalidTypeError(f"{name} must be a gate; got {describe(gate)}")
    if isinstance(gate, OracleGate):
        raise InvalidInputError(f"{name}: the oracle works as the gate of a method only")
