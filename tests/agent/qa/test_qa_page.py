"""Runs as a page: tables and rollouts, texts of models as text and never as markup."""

from __future__ import annotations

import re

import pytest

from sqe_fast.agent.qa.page import rollout_sections, write_qa_page
from sqe_fast.agent.qa.report import qa_tables
from sqe_fast.agent.qa.run import read_run, run_qa
from sqe_fast.cli import main
from sqe_fast.errors import InvalidInputError
from sqe_fast.experiment.page import write_page
from tests.agent.qa.standin import SETTINGS, StandIn


@pytest.fixture
def runs(tmp_path, questions):
    """Two runs of one system, so that their names and ids need telling apart."""
    for name in ("a", "b"):
        run_qa(tmp_path / name, questions, StandIn(failing=[questions[0].question]), SETTINGS)
    return [read_run(tmp_path / "a"), read_run(tmp_path / "b")]


def test_a_page_of_runs(runs, tmp_path):
    tables = qa_tables(runs)
    page = write_qa_page(tmp_path / "page.html", runs, tables, limit=5)
    html = page.path.read_text(encoding="utf-8")
    assert (page.tables, page.questions, page.figures) == (len(tables), 0, 0)
    assert html.count('<details class="rollout">') == 10
    assert html.count("The first 5 of 7 rollouts are shown") == 2
    assert "14 answers of Stand-in (none) (a), Stand-in (none) (b)." in html
    assert "&lt;search&gt;capital number 1?&lt;/search&gt;" in html
    assert "<search>" not in html
    assert "(golden: Paris | City of Light)" in html
    assert len(set(re.findall(r'<section id="([\w-]+)"', html))) == 3
    assert not re.search(r'(?:src|href)="(?!#|data:)', html)


def test_words_of_the_loop_are_not_told_as_found(runs):
    row = runs[0].rows[1]
    row["segments"] = [*row["segments"], ["observation", "\n<answer>", 1]]
    html = rollout_sections(runs)[0].html
    assert html.count("<b>Put in by the loop</b><pre>&lt;answer&gt;</pre>") == 1
    assert html.count("<b>Observation</b>") == 6


def test_sections_go_into_any_page(runs):
    first, second = rollout_sections(runs)
    assert first.id != second.id
    assert first.title == "Rollouts of Stand-in (none) (a)"


def test_a_page_without_an_experiment_says_what_it_is(runs, tmp_path):
    with pytest.raises(InvalidInputError, match="lead"):
        write_page(tmp_path / "page.html", None, qa_tables(runs))


def test_the_command_line_writes_it(runs, tmp_path, capsys):
    path = tmp_path / "agents.html"
    assert main(["qa", "report", str(tmp_path), "--html", str(path), "--rollouts", "1"]) == 0
    assert f"wrote {path}: 6 tables" in capsys.readouterr().out
    assert path.read_text(encoding="utf-8").count('<details class="rollout">') == 2
