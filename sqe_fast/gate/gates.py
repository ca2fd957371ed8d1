"""Gates: which questions are worth an expansion. Each is a row of settings; `start` gives its decisions.

====================  ====================================================================================
AlwaysGate            every question
NeverGate             none
RandomGate            a share, drawn blindly
ThresholdGate         where a signal is below (or above) a value
LearnedGate           where a model predicts a gain above a value
RateGate              the neediest share of each chunk, exactly that share of the run
StreamingGate         the neediest share of a stream, one question at a time
TokenBudgetGate       the neediest, or what another gate wishes, while a number of tokens lasts
KeptGate              any of these, going on from one search to the next
OracleGate            where it helps: a diagnosis
====================  ====================================================================================

A gate decides from the signals of the questions that it is asked about, and may be asked about some of them
only (`Asking.open`): it can stand before every step of a method that has several.
"""

from __future__ import annotations

from sqe_fast.gate._gates.base import (
    Asking,
    Chooser,
    Decide,
    Direction,
    Gate,
    Payee,
    Quote,
    Quoter,
    Scored,
    Signals,
    TokenCounter,
    choose,
)
from sqe_fast.gate._gates.kept import KeptGate
from sqe_fast.gate._gates.plain import (
    AlwaysGate,
    LearnedGate,
    NeverGate,
    OracleGate,
    RandomGate,
    ThresholdGate,
)
from sqe_fast.gate._gates.rate import RateGate, StreamingGate
from sqe_fast.gate._gates.tokens import TokenBudgetGate, TokenRun

__all__ = ["AlwaysGate", "KeptGate", "LearnedGate", "NeverGate", "OracleGate", "RandomGate", "RateGate"]
__all__ += ["StreamingGate", "ThresholdGate", "TokenBudgetGate", "TokenRun"]
__all__ += ["Asking", "Chooser", "Decide", "Direction", "Gate", "Payee", "Quote", "Quoter", "Scored"]
__all__ += ["Signals", "TokenCounter", "choose"]
