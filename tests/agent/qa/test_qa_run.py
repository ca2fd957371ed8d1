"""Runs that are killed and go on; pinned settings; rows that say what happened."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from sqe_fast.agent.qa.rows import answer_recall, evidence_recall, parse_rows
from sqe_fast.agent.qa.run import MANIFEST, ROWS, read_run, read_runs, run_qa
from sqe_fast.agent.values import Passage
from sqe_fast.errors import InvalidInputError, RecordError, StoreLockedError
from tests.agent.qa.standin import SETTINGS, StandIn


def test_rows_tell_what_happened(tmp_path, questions):
    roller = StandIn(failing=[questions[1].question], silent=[questions[2].question])
    seen = []
    assert run_qa(tmp_path / "run", questions, roller, SETTINGS, batch=3, on_rows=seen.extend) == 7
    assert [len(batch) for batch in roller.batches] == [3, 3, 1]
    run = read_run(tmp_path / "run")
    assert run.system == "Stand-in"
    assert list(run.rows) == seen
    right, failed, silent, _, judged, wrong, part = run.rows
    assert (right["em"], right["f1"], right["answer"], right["finish"]) == (True, 1.0, "the Paris!", "answer")
    assert right["policy"] == {
        "calls": 2,
        "prompt_tokens": 40,
        "cached_tokens": 10,
        "completion_tokens": 12,
        "estimated": False,
    }
    assert right["searches"][0]["hits"][0][0] == {"id": "w1", "title": "Paris", "score": 2.0}
    assert right["segments"][1][0] == "policy"
    assert (right["answer_recall"], right["evidence_recall"]) == (True, None)
    assert (failed["finish"], failed["problem"], failed["em"]) == ("failed", "no such luck", False)
    assert failed["answer_recall"] is False  # it never searched
    assert (silent["answer"], silent["em"], silent["f1"]) == (None, False, 0.0)
    assert judged["evidence_recall"] == 0.5
    assert (wrong["em"], wrong["answer_recall"]) == (False, False)
    assert part["f1"] == pytest.approx(2 / 3)


def test_a_system_that_cannot_search_has_no_recall(tmp_path, questions):
    run_qa(tmp_path, questions[:1], StandIn(), SETTINGS, searches=False)
    assert read_run(tmp_path).rows[0]["answer_recall"] is None


def test_a_run_goes_on_where_it_was_interrupted(tmp_path, questions):
    with pytest.raises(KeyboardInterrupt):
        run_qa(tmp_path, questions, StandIn(killed_after=2), SETTINGS, batch=2)
    assert len(read_run(tmp_path).rows) == 4
    with (tmp_path / ROWS).open("ab") as file:
        file.write(b'{"set": "nq", "id": "torn')
    assert len(read_run(tmp_path).rows) == 4
    roller = StandIn()
    assert run_qa(tmp_path, questions, roller, SETTINGS, batch=2) == 3
    assert [text for batch in roller.batches for text in batch] == [one.question for one in questions[4:]]
    assert [(row["set"], row["id"]) for row in read_run(tmp_path).rows] == [one.key for one in questions]
    assert run_qa(tmp_path, questions, StandIn(killed_after=0), SETTINGS) == 0


def test_a_kill_loses_one_batch_at_most(tmp_path):
    """A process killed in the middle of a batch: rows before it are whole, and the rest is done again."""
    script = f"""
import os, signal, sys
sys.path.insert(0, {os.getcwd()!r})
from tests.agent.qa.standin import SETTINGS, StandIn
from sqe_fast.agent.qa.run import run_qa
from sqe_fast.agent.qa.sets import Question
class Killed(StandIn):
    def run(self, questions, ids=None):
        if len(self.batches) == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().run(questions, ids)
asked = [Question("nq", str(n), f"q{{n}}?", ("Paris",)) for n in range(10)]
run_qa(sys.argv[1], asked, Killed(), SETTINGS, batch=2)
"""
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "run")], check=False, timeout=60)
    assert done.returncode == -9
    assert [row["id"] for row in read_run(tmp_path / "run").rows] == ["0", "1", "2", "3", "4", "5"]


def test_failed_questions_are_asked_again_when_told(tmp_path, questions):
    run_qa(tmp_path, questions, StandIn(failing=[questions[1].question]), SETTINGS)
    assert run_qa(tmp_path, questions, StandIn(), SETTINGS) == 0
    assert run_qa(tmp_path, questions, StandIn(), SETTINGS, retry_failed=True) == 1
    rows = read_run(tmp_path).rows
    assert [row["finish"] for row in rows] == ["answer"] * 7
    assert [(row["set"], row["id"]) for row in rows] == [one.key for one in questions]


def test_a_changed_setting_is_an_error_that_names_it(tmp_path, questions):
    run_qa(tmp_path, questions[:1], StandIn(), SETTINGS)
    changed = SETTINGS | {"policy": "other", "budgets": {"prompt": 9}}
    with pytest.raises(
        InvalidInputError, match=r'budgets\.prompt was 4096, now 9; policy was "none", now "other"'
    ):
        run_qa(tmp_path, questions, StandIn(), changed)
    assert run_qa(tmp_path, questions, StandIn(), SETTINGS) == 6


@pytest.mark.parametrize("torn", [None, b"", b'{"set": "nq", "id'])
def test_settings_bind_from_the_first_row_on(tmp_path, questions, torn):
    """What failed before any answer, as with a wrong address, may be set right in the same folder."""
    with pytest.raises(KeyboardInterrupt):
        run_qa(tmp_path, questions, StandIn(killed_after=0), SETTINGS)
    if torn is not None:
        (tmp_path / "rows.jsonl").write_bytes(torn)
    changed = SETTINGS | {"policy": "another"}
    assert run_qa(tmp_path, questions, StandIn(), changed) == len(questions)
    assert read_run(tmp_path).settings == changed
    with pytest.raises(InvalidInputError, match="policy was"):
        run_qa(tmp_path, questions, StandIn(), SETTINGS)


def test_another_question_under_a_known_id_is_an_error(tmp_path, questions):
    run_qa(tmp_path, questions[:1], StandIn(), SETTINGS)
    other = type(questions[0])("nq", "0", "something else?", ("Paris",))
    with pytest.raises(InvalidInputError, match="'nq/0' of another question"):
        run_qa(tmp_path, [other], StandIn(), SETTINGS)
    with pytest.raises(InvalidInputError, match="two different"):
        run_qa(tmp_path / "b", [questions[0], other], StandIn(), SETTINGS)


def test_one_process_at_a_time(tmp_path, questions):
    class Nested(StandIn):
        def run(self, asked, ids=None):
            run_qa(tmp_path, questions, StandIn(), SETTINGS)
            return super().run(asked, ids)

    with pytest.raises(StoreLockedError, match="another process"):
        run_qa(tmp_path, questions, Nested(), SETTINGS)


def test_folders_that_are_no_runs(tmp_path, questions):
    with pytest.raises(InvalidInputError, match="no run of questions"):
        read_run(tmp_path)
    run_qa(tmp_path / "b", questions, StandIn(), SETTINGS)
    run_qa(tmp_path / "a", questions[:1], StandIn(), SETTINGS)
    assert [run.folder.name for run in read_runs([tmp_path, tmp_path / "b"])] == ["a", "b", "b"]
    (tmp_path / "a" / MANIFEST).write_text('{"format": 99, "settings": {}}')
    with pytest.raises(RecordError, match="format 99"):
        read_run(tmp_path / "a")
    with (tmp_path / "b" / ROWS).open("a") as file:
        file.write('{"set": "nq"}\n')
    with pytest.raises(RecordError, match=r"rows\.jsonl:8: id is missing"):
        read_run(tmp_path / "b")


def test_lone_surrogates_and_line_ends_survive(tmp_path, questions):
    odd = type(questions[0])("nq", "x", "half \ud83d of\u2028an emoji?", ("Paris",))
    run_qa(tmp_path, [odd], StandIn(), SETTINGS)
    assert read_run(tmp_path).rows[0]["question"] == odd.question
    assert run_qa(tmp_path, [odd], StandIn(), SETTINGS) == 0
    assert len(parse_rows(tmp_path / ROWS)) == 1
    json.loads((tmp_path / MANIFEST).read_text())


def test_recall_compares_words():
    passages = [Passage("a", "Par is", "the city, of Light!", 1.0), Passage("b", "", "ROME", 1.0)]
    assert answer_recall(passages, ["Paris", "rome"])
    assert answer_recall(passages, ["The City of the Light"])
    assert not answer_recall(passages, ["Paris", "om", "the", "?"])
    assert not answer_recall([], ["a b"])
    assert evidence_recall(passages, frozenset({"a", "c"})) == 0.5
    assert evidence_recall(passages, None) is None
