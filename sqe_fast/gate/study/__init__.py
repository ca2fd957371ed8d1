"""Gates judged honestly: curves of recall against budget, what a signal tells, intervals, cross-validation.

All of it is arithmetic on `Outcomes`: of each question, whether it is answered without and with expansion. No
search and no model runs here.
"""

from __future__ import annotations

from sqe_fast.gate.study.contrast import contrast, contrast_with_random, expected_hits
from sqe_fast.gate.study.curves import Band, Curve, budget_weights, oracle_curve, random_band, score_curve
from sqe_fast.gate.study.fitted import GATE_FORMS, fit_gate
from sqe_fast.gate.study.folds import Cut, Held, cross_validate, fit_cut, folds_of
from sqe_fast.gate.study.outcomes import AXES, Outcomes
from sqe_fast.gate.study.power import Power, auc, power
from sqe_fast.gate.study.rankings import Ranking, Rule, best_signal, by_gate, by_signal, learned
from sqe_fast.gate.study.sources import hits_of, outcomes_of_batches, outcomes_of_rows

__all__ = [
    "AXES",
    "GATE_FORMS",
    "Band",
    "Curve",
    "Cut",
    "Held",
    "Outcomes",
    "Power",
    "Ranking",
    "Rule",
    "auc",
    "best_signal",
    "budget_weights",
    "by_gate",
    "by_signal",
    "contrast",
    "contrast_with_random",
    "cross_validate",
    "expected_hits",
    "fit_cut",
    "fit_gate",
    "folds_of",
    "hits_of",
    "learned",
    "oracle_curve",
    "outcomes_of_batches",
    "outcomes_of_rows",
    "power",
    "random_band",
    "score_curve",
]
