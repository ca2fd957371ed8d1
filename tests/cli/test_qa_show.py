"""`sqe-fast qa show`: one rollout as people read it, in colour and without, and the list of a run."""

from __future__ import annotations

import json

import pytest

from sqe_fast.agent.qa.run import run_qa
from sqe_fast.agent.qa.sets import Question
from sqe_fast.cli import main
from tests.agent.qa.standin import SETTINGS, StandIn


@pytest.fixture
def run(tmp_path):
    """A run of three questions; two sets share an id, one question fails."""
    asked = [
        Question("nq", "1", "capital of\x1b[31m France?", ("Paris",)),
        Question("popqa", "1", "capital?", ("Rome",)),
        Question("popqa", "2", "which one?", ("Paris",), frozenset({"w1"})),
    ]
    run_qa(tmp_path, asked, StandIn(failing=["which one?"]), SETTINGS)
    return str(tmp_path)


def test_a_rollout_can_be_read_without_colour(run, capsys):
    assert main(["qa", "show", run, "nq/1"]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown  # neither ours (no terminal) nor the transcript's own
    lines = shown.splitlines()
    assert lines[0].startswith("nq/1  capital of")
    assert "golden  Paris" in shown
    assert "answer  the Paris!  ✓ exact match  F1 1.00" in shown
    assert "policy 2 calls, 40 tokens read (10 cached), 12 written; compressor 1 call" in shown
    assert "· prompt · 5 tokens (shown with --prompt)" in shown
    assert "│ policy · turn 1 · 9 tokens" in shown
    assert "│ <think>look\n│ it up</think><search>" in shown
    assert "    1. Paris  w1  2.000" in shown
    assert "    2. (no title)  w2  1.000" in shown
    assert "  problem: one passage was cut" in shown
    assert "┆ observation · turn 1 · squeezed · 4 tokens" in shown
    assert "┆ <information>(1) Paris [31m</information>" in shown
    assert "Answer this" not in shown


def test_colour_and_the_prompt_on_demand(run, capsys):
    assert main(["qa", "show", run, "nq/1", "--colour", "--prompt"]) == 0
    shown = capsys.readouterr().out
    assert "\x1b[1;36m│ policy" in shown
    assert "Answer this" in shown


def test_ids_that_are_in_no_set_or_in_several(run, capsys):
    assert main(["qa", "show", run, "2"]) == 0
    assert "problem no such luck" in capsys.readouterr().out
    assert main(["qa", "show", run, "1"]) == 2
    assert "in several sets; give one of nq/1, popqa/1" in capsys.readouterr().err
    assert main(["qa", "show", run, "7"]) == 2
    assert "no question '7' among the 3" in capsys.readouterr().err


def test_the_list_of_a_run(run, capsys):
    assert main(["qa", "show", run]) == 0
    shown = capsys.readouterr().out
    assert "3 of 3 questions, 1 with an exact match" in shown
    assert "✓  nq/1" in shown
    assert "✗  popqa/2" in shown
    assert main(["qa", "show", run, "--wrong", "--set", "popqa", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["id"] for row in rows] == ["1", "2"]
    assert main(["qa", "show", run, "nq/1", "--wrong"]) == 2
