"""A study of gates as tables and as the arrays of a figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from sqe_fast.errors import InvalidInputError
from sqe_fast.experiment.page.sections import GateCurves
from sqe_fast.experiment.rows import Experiment
from sqe_fast.experiment.table import Column, Table
from sqe_fast.gate.study import (
    Held,
    Outcomes,
    budget_weights,
    contrast,
    contrast_with_random,
    expected_hits,
    oracle_curve,
    outcomes_of_rows,
    power,
    random_band,
    score_curve,
)
from sqe_fast.gate.study.outcomes import Floats

__all__ = ["AGAINST", "NEEDY_ABOVE", "curve_table", "experiment_curves", "figure_curves", "gate_table"]
__all__ += ["held_table", "signal_scores"]

AGAINST = "top1"
"""The gate that others are compared with: the paper's."""

NEEDY_ABOVE = frozenset({"oov", "length"})
"""Signals whose high values speak for expansion; of all others low ones do. Not chosen by any data."""

POINTS = 51
SHOWN = 6  # lines of a figure that can still be told apart
SHARE = 0.48  # of the paper
BASE, EXPANDED = "Dense-Only", "Always-Expand"
RANDOM, ORACLE = "random", "oracle"


def signal_scores(outcomes: Outcomes) -> dict[str, Floats]:
    """Return each signal as a score, low where a question is needy; without those that have no value."""
    return {
        name: -values if name in NEEDY_ABOVE else values
        for name, values in outcomes.signals.items()
        if not np.isnan(values).all()
    }


def gate_table(
    outcomes: Outcomes,
    scores: Mapping[str, Floats],
    budget: float,
    axis: str = "questions",
    *,
    at: int = 5,
    against: str = AGAINST,
    held: Mapping[str, Held] | None = None,
    name: str = "gates",
    title: str | None = None,
) -> Table:
    """Return what each gate reaches at a budget, best first, with random and oracle below.

    Parameters
    ----------
    outcomes : Outcomes
    scores : mapping of str to float[n]
        Of each gate; low is expanded first.
    budget : float
        Share of the questions that are expanded, or of the tokens that all expansions cost.
    axis : {"questions", "tokens"}
    at : int
        The k of Recall@k, for headings.
    against : str
        The gate that others are compared with, where it is among `scores`.
    held : mapping of str to Held, optional
        What cross-validation says of gates, by name.
    """
    if not scores:
        raise InvalidInputError("scores must hold at least one gate")
    costs = outcomes.costs(axis)
    other = scores.get(against)
    rows: list[tuple[Any, ...]] = []
    for gate, score in scores.items():
        recall = float(expected_hits(outcomes, budget_weights(score, costs, budget)).mean())
        random = contrast_with_random(outcomes, score, budget, axis)
        cells: list[Any] = [gate, recall, random.mean, (random.low, random.high)]
        paired = None if other is None or gate == against else contrast(outcomes, score, other, budget, axis)
        cells += [None, None] if paired is None else [paired.mean, (paired.low, paired.high)]
        told = power(outcomes, score)
        cells += [score_curve(outcomes, score, axis).area, told.difficulty, told.gain]
        if held is not None:
            out = held.get(gate)
            cells += (
                [None, None, None, None]
                if out is None
                else [out.share, out.recall, out.against_random.mean, _interval(out)]
            )
        rows.append(tuple(cells))
    rows.sort(key=lambda row: -row[1])
    band = random_band(outcomes, [budget], axis)
    oracle = oracle_curve(outcomes, axis)
    blank = (None,) * (4 if held is not None else 0)
    line = outcomes.recall + budget * float(outcomes.gain.mean())
    edges = (float(band.low[0]) - line, float(band.high[0]) - line)
    rows.append((RANDOM, line, 0.0, edges, None, None, band.area, 0.5, 0.5, *blank))
    top = float(oracle.at(budget)[0])
    rows.append((ORACLE, top, top - line, None, None, None, oracle.area, None, 1.0, *blank))
    what = "the questions" if axis == "questions" else "the tokens of expanding all"
    columns = [
        Column("gate", "Gate"),
        Column("recall", f"R@{at}", "percent"),
        Column("random", "less random", "points"),
        Column("random_interval", "95%", "interval"),
        Column("against", f"less {against}", "points"),
        Column("against_interval", "95%", "interval"),
        Column("area", "Area", "percent"),
        Column("difficulty", "AUC difficulty", "float", 3),
        Column("gain", "AUC gain", "float", 3),
    ]
    if held is not None:
        columns += [
            Column("held_share", "Out of fold: expanded", "percent"),
            Column("held_recall", f"R@{at}", "percent"),
            Column("held_random", "less random", "points"),
            Column("held_interval", "95%", "interval"),
        ]
    return Table(
        name,
        title or f"Gates that expand {budget:.0%} of {what}",
        tuple(columns),
        tuple(rows),
        (
            f"{len(outcomes):,} questions; R@{at} {outcomes.recall:.1%} without expansion, "
            f"{outcomes.expanded_hit.mean():.1%} with all; it helps {outcomes.helps.mean():.1%} and hurts "
            f"{outcomes.hurts.mean():.1%}.",
            "Intervals are of paired bootstraps over the questions; random: where 95% of 200 random "
            "gates lie. Area is the mean recall over all budgets. AUC of difficulty: telling what the base "
            "misses; AUC of gain: telling what expansion helps.",
        ),
    )


def held_table(held: Mapping[str, Held], *, at: int = 5, name: str = "held") -> Table:
    """Return what gates reach on questions that they were not fitted on, best first."""
    rows = [
        (gate, out.share, out.recall, out.against_random.mean, _interval(out)) for gate, out in held.items()
    ]
    rows.sort(key=lambda row: -row[2])
    return Table(
        name,
        "The same out of fold, thresholds set on other questions",
        (
            Column("gate", "Gate"),
            Column("share", "Expanded", "percent"),
            Column("recall", f"R@{at}", "percent"),
            Column("random", "less random", "points"),
            Column("interval", "95%", "interval"),
        ),
        tuple(rows),
    )


def curve_table(
    outcomes: Outcomes,
    scores: Mapping[str, Floats],
    axis: str = "questions",
    *,
    points: int = POINTS,
    name: str = "curves",
) -> Table:
    """Return recall at evenly spaced budgets: a column a gate, the band of random ones, the oracle."""
    budget = np.linspace(0, 1, points)
    band = random_band(outcomes, budget, axis)
    lines = {gate: score_curve(outcomes, score, axis).at(budget) for gate, score in scores.items()}
    lines |= {RANDOM: band.mean, "random_low": band.low, "random_high": band.high}
    lines[ORACLE] = oracle_curve(outcomes, axis).at(budget)
    columns = (Column("budget", f"Share of {axis}", "percent"), *(Column(k, k, "percent") for k in lines))
    rows = tuple(map(tuple, np.column_stack([budget, *lines.values()]).tolist()))
    return Table(name, f"Recall against the share of {axis}", columns, rows)


def figure_curves(
    outcomes: Outcomes,
    scores: Mapping[str, Floats],
    axis: Literal["questions", "tokens"] = "questions",
    *,
    at: int = 5,
) -> GateCurves:
    """Return the figure of the first few gates, and of the one that others are compared with."""
    budget = np.linspace(0, 1, POINTS)
    shown = [name for place, name in enumerate(scores) if place < SHOWN or name == AGAINST]
    band = random_band(outcomes, budget, axis)
    return GateCurves(
        budget,
        {name: score_curve(outcomes, scores[name], axis).at(budget) for name in shown},
        (band.low, band.high),
        oracle_curve(outcomes, axis).at(budget),
        axis,
        at,
    )


def experiment_curves(experiment: Experiment, at: int = 5) -> GateCurves | None:
    """Return the figure of an experiment's signals, the best at the paper's share first.

    None where the rows of Dense-Only or of Always-Expand, or every signal, are lacking in some seed.
    """
    if any(name not in seed.methods for seed in experiment.seeds for name in (BASE, EXPANDED)):
        return None
    outcomes = outcomes_of_rows(experiment.seeds, BASE, EXPANDED, at)
    scores = signal_scores(outcomes)
    if not scores or not len(outcomes):
        return None
    best = sorted(scores, key=lambda name: -score_curve(outcomes, scores[name]).at(SHARE)[0])
    return figure_curves(outcomes, {name: scores[name] for name in best}, at=at)


def _interval(out: Held) -> tuple[float, float]:
    return out.against_random.low, out.against_random.high
