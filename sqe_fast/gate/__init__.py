"""The gate: signals of a question's own lists, and rules that decide from them whether to expand it."""

from __future__ import annotations

from sqe_fast.gate.gates import AlwaysGate, Decide, Gate, NeverGate, OracleGate, RandomGate, ThresholdGate
from sqe_fast.gate.signals import DENSE_SIGNALS, SIGNALS, Corpus, Evidence, Signal, compute_signals

__all__ = [
    "DENSE_SIGNALS",
    "SIGNALS",
    "AlwaysGate",
    "Corpus",
    "Decide",
    "Evidence",
    "Gate",
    "NeverGate",
    "OracleGate",
    "RandomGate",
    "Signal",
    "ThresholdGate",
    "compute_signals",
]
