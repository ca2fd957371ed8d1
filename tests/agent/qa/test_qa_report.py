"""Tables of runs: means by hand, averages over sets, paired differences."""

from __future__ import annotations

import numpy as np
import pytest

from sqe_fast.agent.qa.report import MEASURES, labels, qa_tables, values
from sqe_fast.agent.qa.run import QARun, read_run, run_qa
from sqe_fast.errors import InvalidInputError
from sqe_fast.stats import paired_bootstrap
from tests.agent.qa.standin import SETTINGS, StandIn


@pytest.fixture
def runs(tmp_path, questions):
    """Two systems: one right wherever "Paris" is, one silent on two of these; the second without popqa/2."""
    run_qa(tmp_path / "one", questions, StandIn(), SETTINGS)
    roller = StandIn(failing=[questions[0].question], silent=[questions[4].question])
    run_qa(tmp_path / "two", questions[:6], roller, SETTINGS | {"system": "Other"})
    return [read_run(tmp_path / "one"), read_run(tmp_path / "two")]


def table(runs, name, **settings):
    return next(one for one in qa_tables(runs, **settings) if one.name == name)


def test_systems_against_sets(runs):
    em = table(runs, "em")
    assert [column.title for column in em.columns] == ["system", "NQ", "PopQA", "avg."]
    assert em.rows == (
        ("Stand-in", 1.0, pytest.approx(1 / 3), pytest.approx(2 / 3)),  # of sets, not of questions
        ("Other", 0.75, 0.0, 0.375),
    )
    assert em.notes == ("Questions: NQ 4 of 3,610; PopQA 3 / 2 of 14,267.",)
    f1 = table(runs, "f1")
    assert f1.rows[0] == ("Stand-in", 1.0, pytest.approx((1 + 0 + 2 / 3) / 3), pytest.approx(7 / 9))


def test_a_set_that_a_system_lacks_leaves_no_average(runs):
    only = QARun(runs[1].folder, runs[1].settings, runs[1].rows[:4])
    em = table([runs[0], only], "em")
    assert em.rows[1] == ("Other", 0.75, None, None)
    assert em.notes[0] == "Other has no question of PopQA, and therefore no average."


def test_costs_are_means_of_a_question(runs):
    costs = table(runs, "costs")
    one, two = (dict(zip([column.key for column in costs.columns], row, strict=True)) for row in costs.rows)
    assert (one["n"], one["turns"], one["queries"], one["passages"], one["prompt"]) == (7, 1, 1, 2, 40)
    assert (one["cached"], one["written"], one["compressor"], one["search"], one["seconds"]) == (
        10,
        12,
        36,
        0,
        1,
    )
    assert two["turns"] == pytest.approx(5 / 6)
    assert two["queries"] == 1  # of those that searched
    assert costs.notes[1:] == (
        "Stand-in: 7 searches had a problem (see `sqe-fast qa show`).",
        "Other: 5 searches had a problem (see `sqe-fast qa show`).",
    )


def test_by_system_and_set(runs):
    sets = table(runs, "sets")
    assert [row[:3] for row in sets.rows] == [
        ("Stand-in", "NQ", 4),
        ("Stand-in", "PopQA", 3),
        ("Other", "NQ", 4),
        ("Other", "PopQA", 2),
    ]
    assert sets.column("evidence_recall") == (None, 0.5, None, 0.5)
    assert sets.column("answer_recall") == (1.0, pytest.approx(1 / 3), 0.75, 0.5)
    assert sets.column("failed") == (0, 0, 0.25, 0)


def test_paired_differences_are_over_common_questions(runs):
    paired = table(runs, "paired", resamples=500, seed=3)
    (row,) = paired.rows
    assert row[:3] == ("Other", 6, pytest.approx(-2 / 6))
    expected = paired_bootstrap([-1, 0, 0, 0, -1, 0], 500, 3)
    assert row[3] == (expected.low, expected.high)
    turned = table(runs, "paired", resamples=500, baseline=1).rows[0]
    assert turned[:3] == ("Stand-in", 6, pytest.approx(2 / 6))
    assert [one.name for one in qa_tables(runs[:1])] == ["em", "f1", "costs", "sets", "set_costs"]


def test_bad_arguments_are_refused(runs):
    with pytest.raises(InvalidInputError, match="at least one run"):
        qa_tables([])
    with pytest.raises(InvalidInputError, match="baseline"):
        qa_tables(runs, baseline=2)


def test_runs_of_one_name_are_told_apart(runs):
    one, two = runs
    assert labels([one, two]) == ["Stand-in", "Other"]
    other = QARun(one.folder.with_name("x"), SETTINGS | {"policy": "big"}, one.rows)
    assert labels([one, other]) == ["Stand-in (none)", "Stand-in (big)"]
    assert labels([one, one, other])[:2] == ["Stand-in (none) (one) #1", "Stand-in (none) (one) #2"]


def test_every_measure_is_a_number_or_nothing(runs):
    for measure in MEASURES:
        found = values(runs[1].rows, measure)
        assert found.dtype == np.float64
        assert found.shape == (6,)
