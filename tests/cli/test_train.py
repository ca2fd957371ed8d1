"""`sqe-fast train`: what is wrong is told before anything is loaded; both ways to train are started right."""

from __future__ import annotations

import importlib.util
import json
import shlex
import subprocess

import pytest

PASSAGES = [
    {"_id": "emma", "title": "Emma", "text": "Emma is a novel by Jane Austen, published in December 1815."},
    {"_id": "austen", "title": "Jane Austen", "text": "Jane Austen was born in Steventon in 1775."},
]
QUESTIONS = [
    {"id": "1", "question": "When was Emma published?", "golden_answers": ["1815"]},
    {"id": "2", "question": "Where was Jane Austen born?", "golden_answers": ["Steventon"]},
]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, rows in (("corpus.jsonl", PASSAGES), ("questions.jsonl", QUESTIONS)):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


COMMON = ["train", "out", "--questions", "questions.jsonl", "--model", "some/model"]
SEARCH = [*COMMON, "--system", "search-r1", "--retriever", "corpus.jsonl"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--backend", "trl", "--system", "search-r1"], "Search-R1 searches: give --retriever"),
        (["--backend", "trl", "--system", "r1", "--retriever", "x"], "R1 does not search: leave out --ret"),
        (["--backend", "trl", "--system", "r1", "--k", "3"], "R1 does not search: leave out --k"),
        (["--backend", "trl", "--system", "expandsearch", "--retriever", "x"], "ExpandSearch squeezes: give"),
        (["--backend", "trl", "--system", "r1", "--compressor", "x"], "R1 does not squeeze: leave out"),
        (["--backend", "trl", "--system", "r2"], "preset must be one of r1, search-r1"),
        (["--backend", "trl", "--system", "r1", "--reward", "gold"], "--reward must be one of em, f1"),
        (["--backend", "trl", "--system", "r1", "--dry-run"], "--dry-run goes with --backend verl"),
        (["--backend", "trl", "--system", "r1", "--steps", "2", "--epochs", "1"], "one of --steps and --ep"),
        (["--backend", "trl", "--system", "r1", "--set", "x"], "--set must be KEY=VALUE; got 'x'"),
        (
            ["--backend", "trl", "--system", "stepsearch", "--retriever", "x"],
            "reward stepsearch needs search",
        ),
        (["--backend", "verl", "--system", "search-r1", "--retriever", "pool:x"], "passages that are there"),
        (["--backend", "tensor", "--system", "r1"], "'tensor' is not one of"),
    ],
)
def test_mistakes_are_told_at_once(run, files, more, message):
    code, _, err = run(*COMMON, *more)
    assert code == 2
    assert message in err
    assert not (files / "out").exists()


def test_what_is_not_installed_is_named_with_the_command(run, files, monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *more: None if name in ("trl", "verl") else real(name, *more),
    )
    code, _, err = run(*SEARCH, "--backend", "trl")
    assert code == 3
    assert "pip install 'sqe_fast[train]'" in err
    code, _, err = run(*SEARCH, "--backend", "verl")
    assert code == 3
    assert "pip install 'sqe_fast[verl]'" in err


def test_verl_is_started_with_files_of_its_own(run, files):
    pytest.importorskip("pyarrow")
    import pyarrow.parquet

    more = ["--set", "trainer.n_gpus_per_node=4", "--steps", "7", "--k", "5", "--turn-tokens", "200"]
    code, out, _ = run(*SEARCH, "--backend", "verl", "--dry-run", *more)
    assert code == 0
    command = shlex.split(out)
    assert command[1:3] == ["-m", "verl.trainer.main_ppo"]
    assert "actor_rollout_ref.model.path=some/model" in command
    assert command[-1] == "trainer.n_gpus_per_node=4"
    assert "trainer.total_training_steps=7" in command
    (entry,) = json.loads((files / "out" / "agent_loop.json").read_text())
    assert entry["retriever"] == str(files / "corpus.jsonl")
    assert (entry["settings"], entry["budgets"]) == ({"k": 5}, {"turn": 200})
    rows = pyarrow.parquet.read_table(files / "out" / "train.parquet").to_pylist()
    assert [row["extra_info"]["question"] for row in rows] == [one["question"] for one in QUESTIONS]
    assert (files / "out" / "test.parquet").exists()


def test_sets_of_the_hub_are_trained_on_and_validated_with_in_their_splits(run, files, monkeypatch):
    pytest.importorskip("pyarrow")
    from sqe_fast.readers import hub

    asked = []

    def records(name, split, config=None):
        asked.append((config, split))
        yield 1, QUESTIONS[0]

    monkeypatch.setattr(hub, "records", records)
    more = ["--backend", "verl", "--dry-run", "--system", "r1", "--model", "m"]
    code, _, _ = run("train", "out", "--questions", "nq", "--validate", "hotpotqa", *more)
    assert code == 0
    assert asked == [("nq", "train"), ("hotpotqa", "dev")]


def test_a_verl_that_fails_is_told(run, files, monkeypatch):
    pytest.importorskip("pyarrow")
    real, asked = importlib.util.find_spec, []

    def start(command, check):
        asked.append(command)
        return subprocess.CompletedProcess(command, 9)

    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *more: real("click" if name in ("verl", "ray", "vllm") else name, *more),
    )
    monkeypatch.setattr(subprocess, "run", start)
    code, _, err = run(*SEARCH, "--backend", "verl")
    assert code == 3
    assert "exit code 9" in err
    assert asked[0][2] == "verl.trainer.main_ppo"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what TRL imports
def test_trl_trains_and_keeps_the_model(run, files, tmp_path_factory):
    for package in ("trl", "datasets", "torch"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    from oracles.tiny import llama_folder
    from transformers import AutoConfig, AutoModelForCausalLM

    folder = llama_folder(tmp_path_factory.mktemp("models") / "llama")
    config = AutoConfig.from_pretrained(folder)
    config.max_position_embeddings = 2000  # random weights do not mind positions
    config.save_pretrained(folder)
    arguments = [
        "train", "out", "--backend", "trl", "--system", "search-r1", "--model", folder, "--questions",
        "questions.jsonl", "--retriever", "corpus.jsonl", "--steps", 2, "--batch", 2, "--generations", 2,
        "--response-tokens", 24, "--answer-tokens", 8, "--turn-tokens", 8, "--turns", 1,
        "--opening", "<search>", "--set", "disable_tqdm=true",
    ]  # fmt: skip
    code, out, err = run(*arguments)
    assert code == 0, err
    assert "2 steps" in out
    state = json.loads((files / "out" / "trainer_state.json").read_text())
    assert state["global_step"] == 2
    assert state["log_history"][0]["rollout/searches"] == 1.0
    assert AutoModelForCausalLM.from_pretrained(files / "out").config.vocab_size == config.vocab_size
    code, _, err = run(*arguments, "--set", "no_such=1")
    assert code == 2
    assert "GRPOConfig has no field 'no_such'" in err
