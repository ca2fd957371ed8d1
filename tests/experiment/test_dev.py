"""The dev set of real agent steps, prepared from its files and run: the figures of README."""

from __future__ import annotations

import json
import shutil

import pytest
from oracles.lookup import dev_encoder

from sqe_fast.experiment.manifest import read_manifest
from sqe_fast.experiment.prepare import prepare
from sqe_fast.experiment.protocol import Given
from sqe_fast.experiment.report import write_report
from sqe_fast.experiment.rows import METHOD_FILES, read_experiment, read_probes, read_seed
from sqe_fast.experiment.run import run
from sqe_fast.experiment.settings import RunSettings
from sqe_fast.experiment.trajectories import Source
from sqe_fast.experiment.verify import verify_experiment
from sqe_fast.generate.recorded import RecordedGenerator

# R@1, R@5 and R@10 in percent at depth 20, white space tokenizer, recorded expansions. Dense-Only, BM25-Only,
# Hybrid-RRF and Always-Expand stand in README and in the shared data's; those were computed by other code.
FIGURES = {
    "Dense-Only": (28.3, 56.4, 68.3),
    "BM25-Only": (11.4, 25.0, 30.3),
    "Hybrid-RRF": (21.1, 50.6, 64.4),
    "Paraphrases-Only": (34.2, 65.0, 75.8),
    "HyDE-Traces-Only": (50.0, 81.4, 89.2),
    "Always-Expand": (51.1, 81.1, 87.5),
}


@pytest.fixture(scope="module")
def folder(shared_data, tmp_path_factory):
    """Seed 42 of an experiment, its results those of the nine methods."""
    pytest.importorskip("faiss")
    data = shared_data / "agent_memory"
    root, encoder = tmp_path_factory.mktemp("dev"), dev_encoder(data)
    files = Given(data / "dev" / "queries.jsonl", data / "dev" / "store_ids.txt")
    source = Source((str(data / "traces.jsonl.gz"),))
    (done,) = prepare(root, [42], source, encoder, given=files)
    assert (done.memory, done.questions, done.failed) == (5000, 360, 0)
    expansions = RecordedGenerator(data / "dev" / "expansions.jsonl")
    settings = RunSettings(methods=(*METHOD_FILES, "oracle"), threshold=0.5, timed=False)
    run(root, encoder, expansions, settings=settings)
    return root / "seed42"


def test_recall_on_the_dev_set(folder):
    methods = read_seed(folder).methods
    for name, figures in FIGURES.items():
        found = tuple(round(100 * methods[name].hit(k).mean(), 1) for k in (1, 5, 10))
        assert found == figures
    hits = {name: rows.hit(5) for name, rows in methods.items()}
    helped = hits["Always-Expand"] & ~hits["Dense-Only"]
    assert methods["Oracle"].expanded.tolist() == helped.tolist()
    assert hits["Oracle"].tolist() == (hits["Dense-Only"] | hits["Always-Expand"]).tolist()
    sqe = methods["Selective-QE"]
    for i, expanded in enumerate(sqe.expanded):
        other = methods["Always-Expand" if expanded else "Dense-Only"]
        assert sqe.retrieved[i] == other.retrieved[i]


def test_what_was_prepared_is_what_was_given(folder, shared_data):
    given = shared_data / "agent_memory" / "dev"
    wanted = [json.loads(line) for line in (given / "queries.jsonl").read_text().splitlines()]
    one = read_seed(folder)
    assert one.query_ids == tuple(row["query_id"] for row in wanted)
    assert one.queries == tuple(row["query"] for row in wanted)
    assert one.targets == tuple(row["target_episode_id"] for row in wanted)
    counts = read_manifest(folder / "manifest.json")["counts"]
    assert (counts["pool"], counts["memory"]) == (11_180, 5000)


def test_every_probe_has_its_list(folder):
    probes = read_probes(folder)
    assert len(probes) == 360
    assert {len(row["lists"]) for row in probes} == {8}
    ranks = [row["lists"][0]["target_rank"] for row in probes]
    dense = read_seed(folder).methods["Dense-Only"].rank
    assert [rank if rank and rank <= 10 else 0 for rank in ranks] == dense.tolist()


def test_its_tables_are_the_same_bytes_again_and_add_up(folder, tmp_path):
    """Report, report again, verify; then a row that was damaged."""
    root = tmp_path / "exp"
    shutil.copytree(folder.parent, root)
    for name in ("report", "again"):
        tables = write_report(root / name, read_experiment(root))
    files = {path.name: path.read_bytes() for path in (root / "report").iterdir()}
    assert files == {path.name: path.read_bytes() for path in (root / "again").iterdir()}
    assert [table.name for table in tables if table.missing] == ["leave-one-seed-out"]
    shown = {row[0]: tuple(round(100 * value, 1) for value in row[1:4]) for row in tables[0].rows}
    assert FIGURES.items() <= shown.items()
    headroom = next(table for table in tables if table.name == "oracle-headroom")
    assert 0.2 < headroom.column("helpful")[0] < 0.35  # 26.1 in all of the 360, by other code
    assert [str(finding) for finding in verify_experiment(root).findings] == []
    path = root / "seed42/results/traces_only_detailed.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[100]["hit@1"] = not rows[100]["hit@1"]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = [str(finding) for finding in verify_experiment(root).findings]
    assert any(f"traces_only_detailed.jsonl:101 ({rows[100]['query_id']}): hit@1 is" in one for one in found)
