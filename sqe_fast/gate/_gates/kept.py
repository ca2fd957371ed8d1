"""A gate whose run goes on from one search to the next."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqe_fast.gate._gates.base import Asking, ChoosingRun, Decide, Gate, Payee
from sqe_fast.gate._gates.base import choose as decision
from sqe_fast.gate._gates.plain import check_gate
from sqe_fast.usage import Usage

__all__ = ["KeptGate"]


@dataclass(frozen=True, eq=False)
class KeptGate:
    """Keep one run of a gate over many searches: for agents that ask one question at a time.

    A gate starts anew with each search. This one does not: a `StreamingGate` in it looks back on the
    questions of earlier searches, a `RateGate` carries what is due, and a `TokenBudgetGate` holds its total
    over all of them. Searches may run in several threads; their decisions come one after the other.

    Attributes
    ----------
    inner : Gate
        What decides.
    run
        Its run, as `inner.start()` gave it: of a `TokenBudgetGate`, ``run.spent`` and ``run.left`` tell how
        it stands.

    Examples
    --------
    >>> gate = KeptGate(RateGate(rate=0.5))  # doctest: +SKIP
    >>> method = replace(get_method("sqe"), name="half", gate=gate)  # doctest: +SKIP
    >>> [bool(engine.search([q], method).gated[0]) for q in questions]  # doctest: +SKIP
    [True, False, True, False]
    """

    inner: Gate
    run: Any = field(init=False, repr=False)
    _lock: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_gate("inner", self.inner)
        object.__setattr__(self, "run", self.inner.start())
        object.__setattr__(self, "_lock", Lock())

    @property
    def signals(self) -> tuple[str, ...]:
        """Those of the gate in it."""
        return self.inner.signals

    def start(self) -> Decide:
        """See `Gate.start`; what is returned shares one state with all others."""
        run = self.run.again() if hasattr(self.run, "again") else self.run
        return _KeptRun(run, self._lock)


class _KeptRun(ChoosingRun):
    def __init__(self, run: Decide, lock: Lock) -> None:
        self._run = run
        self._lock = lock

    def choose(self, asking: Asking) -> NDArray[np.bool_]:
        """Decide while no other search does."""
        with self._lock:
            return decision(self._run, asking)

    def paid(self, usage: Usage) -> None:
        """See `Payee.paid`."""
        if isinstance(self._run, Payee):
            with self._lock:
                self._run.paid(usage)
