"""The gate: signals of a question's own lists, and rules that decide from them whether to expand it."""

from __future__ import annotations

from sqe_fast.gate.accept import Accept, Rule
from sqe_fast.gate.gain import GainModel
from sqe_fast.gate.gates import (
    AlwaysGate,
    Asking,
    Decide,
    Gate,
    KeptGate,
    LearnedGate,
    NeverGate,
    OracleGate,
    RandomGate,
    RateGate,
    StreamingGate,
    ThresholdGate,
    TokenBudgetGate,
)
from sqe_fast.gate.learned import fit_gain
from sqe_fast.gate.probe_signals import PROBE_SIGNALS
from sqe_fast.gate.signals import DENSE_SIGNALS, SIGNALS, Corpus, Evidence, Signal, compute_signals

__all__ = [
    "DENSE_SIGNALS",
    "PROBE_SIGNALS",
    "SIGNALS",
    "Accept",
    "AlwaysGate",
    "Asking",
    "Corpus",
    "Decide",
    "Evidence",
    "GainModel",
    "Gate",
    "KeptGate",
    "LearnedGate",
    "NeverGate",
    "OracleGate",
    "RandomGate",
    "RateGate",
    "Rule",
    "Signal",
    "StreamingGate",
    "ThresholdGate",
    "TokenBudgetGate",
    "compute_signals",
    "fit_gain",
]
