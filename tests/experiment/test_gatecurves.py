"""Tables of a study of gates: what stands in them is what the study says."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.rows import made_up, write

from sqe_fast.errors import InvalidInputError
from sqe_fast.experiment.gatecurves import (
    curve_table,
    experiment_curves,
    figure_curves,
    gate_table,
    signal_scores,
)
from sqe_fast.experiment.rows import read_experiment
from sqe_fast.experiment.table import cell_text
from sqe_fast.gate.study import (
    Outcomes,
    by_signal,
    contrast,
    contrast_with_random,
    cross_validate,
    oracle_curve,
    score_curve,
)


@pytest.fixture(scope="module")
def outcomes():
    rng = np.random.default_rng(3)
    need = rng.random(200)
    base = rng.random(200) < 0.4 + 0.4 * need
    signals = {"top1": rng.random(200), "good": need, "oov": -need, "gone": np.full(200, np.nan)}
    return Outcomes(signals, base, base | (need < 0.5), rng.integers(50, 300, 200))


def test_signals_become_scores_low_where_a_question_is_needy(outcomes):
    scores = signal_scores(outcomes)
    assert list(scores) == ["top1", "good", "oov"]
    assert (scores["oov"] == scores["good"]).all()


@pytest.mark.parametrize("axis", ["questions", "tokens"])
def test_a_gate_table_says_what_the_study_says(outcomes, axis):
    scores = signal_scores(outcomes)
    held = cross_validate(outcomes, {"good": by_signal("good")}, 0.48, repeats=2)
    table = gate_table(outcomes, scores, 0.48, axis, held=held)
    assert [row[0] for row in table.rows] == ["good", "oov", "top1", "random", "oracle"]
    row = dict(zip([column.key for column in table.columns], table.rows[0], strict=True))
    assert row["recall"] == pytest.approx(score_curve(outcomes, scores["good"], axis).at(0.48)[0])
    random = contrast_with_random(outcomes, scores["good"], 0.48, axis)
    assert (row["random"], row["random_interval"]) == (random.mean, (random.low, random.high))
    against = contrast(outcomes, scores["good"], scores["top1"], 0.48, axis)
    assert row["against"] == against.mean
    assert row["gain"] > 0.8
    assert row["held_recall"] == held["good"].recall
    assert table.column("recall")[-1] == pytest.approx(oracle_curve(outcomes, axis).at(0.48)[0])
    assert table.column("held_recall")[1:] == (None,) * 4
    texts = [cell_text(column, value) for column, value in zip(table.columns, table.rows[3], strict=True)]
    assert texts[2] == "0.0"


def test_without_the_gate_to_compare_with_its_columns_are_empty(outcomes):
    table = gate_table(outcomes, {"good": outcomes.signal("good")}, 0.3)
    assert set(table.column("against")) == {None}
    with pytest.raises(InvalidInputError, match="at least one gate"):
        gate_table(outcomes, {}, 0.3)


def test_the_figure_holds_the_best_and_the_papers_gate(outcomes):
    scores = {f"g{i}": outcomes.signal("good") for i in range(9)} | {"top1": outcomes.signal("top1")}
    curves = figure_curves(outcomes, scores, "tokens", at=3)
    assert list(curves.gates) == [*(f"g{i}" for i in range(6)), "top1"]
    assert (curves.axis, curves.cut) == ("tokens", 3)
    assert curves.gates["g0"][25] == score_curve(outcomes, outcomes.signal("good"), "tokens").at(0.5)[0]


def test_an_experiment_has_curves_of_its_signals(tmp_path):
    experiment = read_experiment(write(tmp_path / "exp", made_up(n=16)))
    curves = experiment_curves(experiment)
    assert set(curves.gates) <= {"top1", *experiment.seeds[0].methods["Dense-Only"].signals}
    assert "top1" in curves.gates
    base = np.concatenate([seed.methods["Dense-Only"].hit(5) for seed in experiment.seeds])
    assert all(line[0] == base.mean() for line in curves.gates.values())
    for seed in experiment.seeds:
        del seed.methods["Always-Expand"]
    assert experiment_curves(experiment) is None


def test_a_curve_table_holds_every_line(outcomes):
    table = curve_table(outcomes, {"good": outcomes.signal("good")}, points=5)
    assert [column.key for column in table.columns] == [
        "budget",
        "good",
        "random",
        "random_low",
        "random_high",
        "oracle",
    ]
    assert table.column("budget") == (0.0, 0.25, 0.5, 0.75, 1.0)
    good, low, high, oracle = map(
        np.array, map(table.column, ("good", "random_low", "random_high", "oracle"))
    )
    assert (low <= high).all()
    assert (good <= oracle + 1e-12).all()
    assert good[0] == low[0] == outcomes.recall
    assert good[2] > high[2]
