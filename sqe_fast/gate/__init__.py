"""The gate: signals of a question's own lists, and rules that decide from them whether to expand it."""

from __future__ import annotations

from sqe_fast.gate.accept import PROBE_SIGNALS, Accept, Rule
from sqe_fast.gate.gates import AlwaysGate, Decide, Gate, NeverGate, OracleGate, RandomGate, ThresholdGate
from sqe_fast.gate.signals import DENSE_SIGNALS, SIGNALS, Signal, compute_signals

__all__ = [
    "DENSE_SIGNALS",
    "PROBE_SIGNALS",
    "SIGNALS",
    "Accept",
    "AlwaysGate",
    "Decide",
    "Gate",
    "NeverGate",
    "OracleGate",
    "RandomGate",
    "Rule",
    "Signal",
    "ThresholdGate",
    "compute_signals",
]
