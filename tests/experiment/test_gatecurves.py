"""Tables of a study of gates: what stands in them is what the study says."""

from __future__ import annotations

import numpy as np
import pytest

from sqe_fast.errors import InvalidInputError
from sqe_fast.experiment.gatecurves import curve_table, gate_table, signal_scores
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
