"""Gates that expand a share of the questions: of a batch by rank, of a stream by a running quantile."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqe_fast._checks import check_int, check_number, describe
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.gate._gates.base import Asking, ChoosingRun, Decide, Scored

__all__ = ["RateGate", "StreamingGate"]


@dataclass(frozen=True)
class RateGate(Scored):
    """Expand the neediest share of the questions, exactly.

    After t questions of a run, floor(rate t + 1/2) of them have been expanded, at the end of every chunk.
    Which ones is decided within each chunk, the neediest first, equals in the order of the questions: a chunk
    gets what is due by then, less what earlier chunks got. One chunk is ranked as a whole; in many small ones
    a question competes with fewer others, and one at a time every 1 / rate-th is expanded whatever it needs.
    For those use `StreamingGate`. Blank questions do not count.

    Examples
    --------
    >>> decide = RateGate(rate=0.5).start()
    >>> decide({"spread": np.array([0.3, 0.1, 0.2, 0.4], np.float32)}, 4).tolist()
    [False, True, True, False]
    """

    rate: float = 0.46

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("rate", self.rate, 0, 1)

    def start(self) -> Decide:
        """See `Gate.start`."""
        return _RateRun(self)


class _RateRun(ChoosingRun):
    def __init__(self, gate: RateGate) -> None:
        self._gate = gate
        self._seen = 0
        self._taken = 0

    def choose(self, asking: Asking) -> NDArray[np.bool_]:
        """Take what is due by the end of these questions; O(n log n)."""
        places = np.flatnonzero(asking.open)
        self._seen += len(places)
        due = math.floor(self._gate.rate * self._seen + 0.5) - self._taken
        number = min(max(due, 0), len(places))
        self._taken += number
        order = np.argsort(-self._gate.need(asking.signals)[places], kind="stable")
        chosen = np.zeros(len(asking), np.bool_)
        chosen[places[order[:number]]] = True
        return chosen


@dataclass(frozen=True)
class StreamingGate(Scored):
    """Expand a share of a stream, one question at a time, by a running quantile of their need.

    A question is expanded if it is among the neediest share of the last `window` questions, itself included;
    the answer does not depend on how the stream is cut. Rules, in this order:

    1. The share aimed at is ``rate + behind / window``, from 0 to 1, where `behind` is what was due so far
       (rate times the questions seen) less what was expanded. So a stream that drifts, every question
       needier than all before, never gets more than ``rate * window + 1`` expansions ahead of the rate, and
       never falls further behind than ``(1 - rate) * window + 1``.
    2. With m questions in the window, the question is expanded if at most ``share * m`` are as needy as it
       or needier, and not if that many are needier.
    3. In between (it sits on the quantile, alone or with equals) it is expanded if less than rate times the
       questions seen, itself included, was expanded.

    Warm-up needs no rule of its own: the first question of a run sits on the quantile and is expanded, and
    while the window holds few, rule 3 keeps the share. `history` fills the window beforehand. O(window) a
    question, some microseconds. Blank questions do not count. To go on from one search to the next, wrap it
    in `KeptGate`.

    Attributes
    ----------
    rate : float
        The share, from 0 to 1.
    window : int
        How many of the last questions are looked back on. A short one keeps closer to the rate, a long one
        finds the quantile more exactly: over shuffled streams of 360 real questions (MiniLM, spread), 50, 200
        and 1000 kept 48 % within 0.5, 1.1 and 2.1 points (standard deviation), with a Recall@5 of 74.7, 75.1
        and 75.1; the whole batch at once gives 75.6.
    history : tuple of float
        Values of the signal (or gains predicted by the model) of earlier questions, oldest first.

    Examples
    --------
    >>> decide = StreamingGate(rate=0.5, history=(0.1, 0.2, 0.3, 0.4)).start()
    >>> [bool(decide({"spread": np.array([x], np.float32)}, 1)[0]) for x in (0.15, 0.35, 0.05)]
    [True, False, True]
    """

    rate: float = 0.46
    window: int = 200
    history: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("rate", self.rate, 0, 1)
        check_int("window", self.window, 1, 2**20)
        object.__setattr__(self, "history", _numbers(self.history))

    def start(self) -> Decide:
        """See `Gate.start`."""
        return _StreamRun(self)


def _numbers(history: Iterable[float]) -> tuple[float, ...]:
    """Return the history checked: a signal may be infinite, but never NaN."""
    try:
        held = tuple(history)
        if any(isinstance(value, (str, bytes, bool)) for value in held):
            raise TypeError
        numbers = tuple(map(float, held))
    except (TypeError, ValueError, OverflowError):
        raise InvalidTypeError(f"history must hold numbers; got {describe(history)}") from None
    if any(map(math.isnan, numbers)):
        raise InvalidInputError("history must not hold NaN")
    return numbers


class _StreamRun(ChoosingRun):
    def __init__(self, gate: StreamingGate) -> None:
        self._gate = gate
        turned = gate.model is None and gate.direction == "below"
        kept = gate.history[-gate.window :]
        self._last = deque((-value for value in kept) if turned else kept)
        self._sorted = sorted(self._last)
        self._seen = 0
        self._taken = 0

    def choose(self, asking: Asking) -> NDArray[np.bool_]:
        """Decide question by question."""
        chosen = np.zeros(len(asking), np.bool_)
        need = self._gate.need(asking.signals)
        for place in np.flatnonzero(asking.open).tolist():
            chosen[place] = self._one(float(need[place]))
        return chosen

    def _one(self, need: float) -> bool:
        rate, window = self._gate.rate, self._gate.window
        behind = rate * self._seen - self._taken
        insort(self._sorted, need)
        self._last.append(need)
        if len(self._last) > window:
            del self._sorted[bisect_left(self._sorted, self._last.popleft())]
        self._seen += 1
        quota = min(max(rate + behind / window, 0.0), 1.0) * len(self._sorted)
        as_needy = len(self._sorted) - bisect_left(self._sorted, need)
        needier = len(self._sorted) - bisect_right(self._sorted, need)
        if as_needy <= quota:
            yes = True
        elif needier >= quota:
            yes = False
        else:
            yes = self._taken < rate * self._seen
        self._taken += yes
        return yes
