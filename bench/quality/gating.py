"""Gates at the paper's share of questions: on the paper's method, and on ours."""

from __future__ import annotations

from dataclasses import replace

from bench.quality.dev import Dev
from bench.quality.expanding import always
from sqe_fast.experiment.gatecurves import gate_table, signal_scores
from sqe_fast.experiment.table import Table
from sqe_fast.gate import SIGNALS
from sqe_fast.gate.study import (
    Outcomes,
    best_signal,
    by_signal,
    cross_validate,
    learned,
    outcomes_of_batches,
)
from sqe_fast.methods import get_method

SHARE = 0.48  # of the paper


def paper_outcomes(dev: Dev, strength: str = "strong") -> Outcomes:
    """Return the outcomes of dense search and of Always-Expand."""
    methods = [get_method("dense", k=10), get_method("always", k=10)]
    found = dev.engine("whitespace", strength).search_methods(dev.questions, methods, signals=SIGNALS)
    return outcomes_of_batches(found["Dense-Only"], found["Always-Expand"], dev.targets)


def plus_outcomes(dev: Dev, strength: str = "strong") -> Outcomes:
    """Return the outcomes of hybrid+ and of sqe+ with its gate open."""
    base = get_method("hybrid+", k=10)
    opened = replace(always(1, 0), name="open", accept=get_method("sqe+").accept)
    found = dev.engine("code", strength).search_methods(dev.questions, [base, opened], signals=SIGNALS)
    return outcomes_of_batches(found["Hybrid-Plus"], found["open"], dev.targets)


def gates_table(outcomes: Outcomes, name: str, title: str, share: float = SHARE, repeats: int = 10) -> Table:
    """Return every signal as a gate, and gates that choose or learn, in sample and out of fold."""
    scores = signal_scores(outcomes)
    turned = Outcomes(scores, outcomes.base_hit, outcomes.expanded_hit, outcomes.tokens)
    rules = {gate: by_signal(gate) for gate in scores}
    rules |= {"best of all": best_signal(scores, share), "learned from all": learned(list(scores))}
    rules["learned from four"] = learned(["fused_spread", "spread", "rbo", "bm25_spread"])
    held = cross_validate(turned, rules, share, repeats=repeats)
    shown = dict(scores)
    for chooser in ("best of all", "learned from all", "learned from four"):
        shown[chooser] = rules[chooser](turned)(turned)
    return gate_table(outcomes, shown, share, held=held, name=name, title=title)
