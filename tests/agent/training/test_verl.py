"""verl's adapter against verl itself, in an environment of its own; and what needs no verl."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sqe_fast.agent.qa.sets import Question
from sqe_fast.agent.replay import RecordedPolicy
from sqe_fast.agent.rewards import REWARDS, score
from sqe_fast.agent.rollout import Roller
from sqe_fast.agent.training.verl import data, launch
from sqe_fast.agent.training.verl.reward import EXTRA, compute_score, summary
from sqe_fast.errors import InvalidInputError

ROOT = Path(__file__).resolve().parents[3]
CHECKS = Path(__file__).with_name("verl_checks.py")
NAMES = [line[4:].split("(")[0] for line in CHECKS.read_text().splitlines() if line.startswith("def check_")]
QUESTION = Question("nq", "7", "When was Emma published?", ("1815", "December 1815"))


def interpreter():
    """Return the interpreter that has verl, or skip."""
    wish = os.environ.get("SQE_FAST_VERL_PYTHON")
    found = Path(wish) if wish else ROOT / ".venv-verl" / "bin" / "python"
    if not found.is_file():
        pytest.skip("no environment with verl: `make verl-env`, or name its Python in SQE_FAST_VERL_PYTHON")
    return found


@pytest.mark.slow
def test_against_verl(tiny, tmp_path):
    """All checks in one process and one test: verl takes seconds to import, and workers share nothing."""
    python = interpreter()
    environment = os.environ | {
        "PYTHONPATH": f"{ROOT}{os.pathsep}{CHECKS.parents[1]}",
        "PYTHONWARNINGS": "",
        "CHECKS_TOKENIZER": str(tiny),
        "CUDA_VISIBLE_DEVICES": "",
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [str(python), str(CHECKS), str(tmp_path)],
        env=environment, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert "RESULTS " in done.stdout, done.stderr[-3000:]
    results = json.loads(done.stdout.rsplit("RESULTS ", 1)[1])
    failed = [f"{name}:\n{told}" for name, told in results.items() if told != "ok"]
    assert not failed, "\n".join(failed)
    assert set(results) == set(NAMES)


def rollouts():
    policy = RecordedPolicy(
        {
            "right": ["<think>t</think><search>Emma</search>", "<think>t</think><answer>1815</answer>"],
            "wrong": ["<think>t</think><answer>1816</answer>"],
            "invalid": ["<answer>December 1815</answer>"],
        }
    )
    from noted import NotedIndex

    return Roller(policy, NotedIndex(), "search-r1", force_answer=False).run(
        ["q"] * 4, ["right", "wrong", "invalid", "none"]
    )


@pytest.mark.parametrize("name", sorted(set(REWARDS) - {"stepsearch"}))
def test_the_reward_function_pays_as_the_reward(name):
    for rollout in rollouts():
        extra = json.loads(json.dumps({EXTRA: summary(rollout)}))  # it travels between processes
        paid = compute_score("nq", "", {"target": ["1815"]}, extra, reward=name)
        wanted = 0.0 if rollout.finish == "failed" else score(name, rollout, ["1815"]).total
        assert paid["score"] == wanted
        assert paid["valid"] == rollout.valid
        assert paid["searches"] == len(rollout.turns)


def test_rewards_of_steps_are_added():
    truth = {"target": ["1815"], "keys": [["Emma novel"]], "evidence": ["Emma is a novel by Jane Austen"]}
    rollout = rollouts()[0]
    paid = compute_score("nq", "", truth, {EXTRA: summary(rollout)}, reward="stepsearch")
    assert paid["score"] > compute_score("nq", "", truth, {EXTRA: summary(rollout)}, reward="f1")["score"]


def test_a_response_alone_is_judged_by_its_text():
    text = (
        "<think>t</think><search>Emma ## Austen</search>\n<information>x</information>\n"
        "<think>t</think><answer>1815</answer>"
    )
    paid = compute_score("nq", text, ["1815"])
    assert paid == {"score": 1.0, "acc": 1.0, "f1": 1.0, "valid": 1.0, "searches": 1.0}
    assert compute_score("nq", text.replace("<think>t</think><answer>", "<answer>"), "1815")["score"] == 0.8
    assert compute_score("nq", "no tag", ["1815"])["score"] == 0.0
    with pytest.raises(InvalidInputError, match="dialect must be one of"):
        compute_score("nq", text, ["1815"], dialect="xml")
    with pytest.raises(InvalidInputError, match="holds no golden answers"):
        compute_score("nq", text, {})


def test_rows_of_verl():
    (row,) = data.verl_rows([QUESTION], "expandsearch")
    assert row["data_source"] == "nq"
    assert row["agent_name"] == data.NAME
    assert QUESTION.question in row["prompt"][0]["content"]
    assert row["reward_model"]["ground_truth"]["target"] == ["1815", "December 1815"]
    assert row["extra_info"]["question"] == QUESTION.question


def test_the_parquet_file_holds_the_rows(tmp_path):
    pytest.importorskip("pyarrow")
    import pyarrow.parquet

    path = data.write_parquet(tmp_path / "train.parquet", [QUESTION], "search-r1")
    assert pyarrow.parquet.read_table(path).to_pylist() == data.verl_rows([QUESTION], "search-r1")
    assert [one.name for one in tmp_path.iterdir()] == ["train.parquet"]
    with pytest.raises(InvalidInputError, match="at least one question"):
        data.write_parquet(path, [], "search-r1")


def test_the_file_of_the_agent_loop(tmp_path):
    path = launch.write_agent_loop(
        tmp_path / "loop.json", "expandsearch", "http://h:1", "openai:m@http://h:2/v1", settings={"k": 10}
    )
    (entry,) = json.loads(path.read_text())
    assert entry["_target_"] == launch.LOOP
    assert entry["settings"] == {"k": 10}
    module, name = launch.LOOP.rsplit(".", 1)
    source = ROOT / (module.replace(".", "/") + ".py")
    assert f"class {name}(" in source.read_text()


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (("search-r1", None, None), "Search-R1 searches: give a retriever"),
        (("r1", "http://h:1", None), "R1 does not search"),
        (("expandsearch", "http://h:1", None), "ExpandSearch squeezes: give a compressor"),
        (("search-r1", "http://h:1", "openai:m"), "Search-R1 does not squeeze"),
    ],
)
def test_parts_that_do_not_fit_are_told(tmp_path, parts, message):
    with pytest.raises(InvalidInputError, match=message):
        launch.write_agent_loop(tmp_path / "loop.json", *parts)


def test_what_needs_no_verl_imports_none():
    code = (
        "import sys; sys.modules['verl'] = None;"
        "from sqe_fast.agent.training.verl import data, launch, parts, reward"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
