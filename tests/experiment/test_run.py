"""Running: rows are the engine's answers, nothing is paid for twice, and what is refused."""

from __future__ import annotations

import inspect
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from oracles.small import ScriptedGenerator, TextEncoder
from oracles.steps import PROTOCOL, SETTINGS, Asker

from sqe_fast._cli.experiment.run import run as command
from sqe_fast._store.files import sha256_of
from sqe_fast.engine import Engine
from sqe_fast.errors import InvalidInputError
from sqe_fast.expand import Expander
from sqe_fast.experiment.layout import SeedFolder, seed_folders
from sqe_fast.experiment.manifest import read_manifest
from sqe_fast.experiment.prepare import prepare
from sqe_fast.experiment.rows import METHOD_FILES, file_of, read_experiment, read_probes, read_seed
from sqe_fast.experiment.run import run
from sqe_fast.experiment.settings import RunSettings
from sqe_fast.experiment.trajectories import Source
from sqe_fast.fusion import rrf_lists
from sqe_fast.gate import TokenBudgetGate
from sqe_fast.gate.signals import SIGNALS
from sqe_fast.generate.base import Generation
from sqe_fast.methods import Stage, get_method
from sqe_fast.store import MemoryStore

pytest.importorskip("faiss")
WORKER = Path(__file__).parent / "kill_worker.py"
TIMES = ("elapsed_seconds",)
PLAIN = RunSettings(methods=("dense", "bm25", "hybrid"), timed=False)


@pytest.fixture
def root(tiny_prepared, tmp_path):
    """A copy of the prepared seeds, to be run."""
    shutil.copytree(tiny_prepared, tmp_path / "exp")
    return tmp_path / "exp"


def rows_of(root, seed=42):
    """Return all rows of a seed by method, less what no two runs have in common."""
    found = {}
    for name, rows in read_seed(root / f"seed{seed}").methods.items():
        found[name] = [json.loads(json.dumps(row)) for row in rows.raw]
        for row in found[name]:
            del row["cached"], row["meta"]["elapsed_seconds"]
    return found


@pytest.mark.parametrize("seed", [42, 43])
def test_rows_are_the_engines_answers(tiny_experiment, seed):
    one = read_seed(tiny_experiment / f"seed{seed}")
    failing = read_seed(tiny_experiment / "seed42").queries[0]
    with MemoryStore.open(one.folder.parent / "memory", read_only=True, encoder=TextEncoder()) as store:
        engine = Engine(store, generator=ScriptedGenerator(fail={failing}))
        for method in SETTINGS.of_seed(seed):
            first = method.name == "Dense-Only"
            extra = tuple(SIGNALS) if first else ()
            batch = engine.search(one.queries, method, targets=one.targets, signals=extra)
            rows = one.methods[method.name]
            assert (set(rows.signals) == set(SIGNALS)) == first
            assert rows.retrieved == batch.ids
            assert rows.expanded.tolist() == batch.expanded.tolist()
            assert rows.calls.tolist() == batch.usage.calls.tolist()
            assert rows.prompt_tokens.tolist() == batch.usage.prompt_tokens.tolist()
            assert rows.completion_tokens.tolist() == batch.usage.completion_tokens.tolist()
            assert rows.cached_tokens.tolist() == batch.usage.cached_tokens.tolist()
            for i, (row, told) in enumerate(zip(rows.raw, batch.rows(), strict=True)):
                assert row["scores"] == [hit["score"] for hit in told["hits"]]
                for name in ("gated", "signals", "lists", "problem"):
                    assert row[name] == told[name]
                assert row["meta"]["n_ranked_lists_fused"] == len(batch.took_part(i))
            assert rows.path.name == file_of(method)


def test_each_seed_draws_its_own_random_numbers(tiny_experiment):
    for one in read_experiment(tiny_experiment).seeds:
        draws = random.Random(one.seed)
        wanted = [draws.random() < 0.46 for _ in range(24)]
        assert [row["gated"] for row in one.methods["Random-Gated-Expansion"].raw] == wanted
        sqe = one.methods["Selective-QE"]
        assert [row["gated"] for row in sqe.raw] == (sqe.top1 < 0.55).tolist()
        assert 0 < sqe.expanded.sum() < 24


def test_probes_are_the_lists_that_were_fused(tiny_experiment):
    one = read_seed(tiny_experiment / "seed42")
    probes = read_probes(tiny_experiment / "seed42")
    always, hybrid = one.methods["Always-Expand"], one.methods["Hybrid-RRF"]
    assert [row["query_id"] for row in probes] == list(one.query_ids)
    assert probes[0]["problem"] == "traces: time-out; paraphrases: time-out"
    names = ["question dense", "question bm25"]
    for number in (1, 2):
        names += [f"trace {number} dense", f"trace {number} bm25"]
    names += ["paraphrase 1 dense", "paraphrase 2 dense"]
    for i, row in enumerate(probes):
        lists = {one["name"]: one for one in row["lists"]}
        assert list(lists) == (names if i else names[:2])
        for found in lists.values():
            ids, rank = found["ids"], found["target_rank"]
            assert len(ids) == len(found["scores"]) <= 20
            assert (ids.index(row["target_id"]) + 1 if row["target_id"] in ids else None) == rank
            assert found["scores"] == sorted(found["scores"], reverse=True)

        def fused(wanted, lists=lists):
            pairs = [list(zip(lists[name]["ids"], lists[name]["scores"], strict=True)) for name in wanted]
            return tuple(name for name, _ in rrf_lists(pairs, k=10))

        assert hybrid.retrieved[i] == fused(["question dense", "question bm25"])
        if i:
            assert always.retrieved[i] == fused([name for name in names if name != "question bm25"])
            assert row["traces"] == [f"{row['query']} traces cache", f"{row['query']} traces retry"]


def test_the_manifest_says_how(tiny_experiment):
    for folder in seed_folders(tiny_experiment):
        told = read_manifest(folder.results.manifest)
        assert told["complete"]
        assert told["seed"] == folder.seed
        choices = told["choices"]
        assert choices["prepared"] == sha256_of(folder.manifest)
        assert list(choices["methods"]) == [*METHOD_FILES, "Oracle"]
        assert choices["methods"]["Random-Gated-Expansion"]["seed"] == folder.seed
        assert choices["methods"]["Selective-QE"]["threshold"] == 0.55
        assert choices["expansions"]["generator"] == "scripted"
        assert "share of the wall time" in choices["elapsed_seconds"]
        assert told["questions"] == {"asked": 24, "left_out": 0}
        assert told["paid"]["requests"] == 48
        assert told["paid"]["failed"] == (2 if folder.seed == 42 else 0)
        assert told["encoder"]["name"] == "words"
        assert {"cpu", "cores", "memory", "python", "versions"} <= set(told["machine"])
        assert {"answers", "probes", "timing", "all"} == set(told["wall"]["seconds"])
        files = {path.name for path in folder.results.rows()} | {"probes.jsonl"}
        assert set(told["checksums"]) == files
        for name, checksum in told["checksums"].items():
            assert sha256_of(folder.results.path / name) == checksum


def kill(root, log, point):
    command = [sys.executable, str(WORKER), "run", str(root), "-", str(log), point]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode != 0


def test_a_killed_run_goes_on_and_pays_once(root, tmp_path):
    log = tmp_path / "log"
    assert kill(root, log, "generate:3")  # in the middle of the model's third chunk
    first = log.read_text().splitlines()
    assert len(first) == 2 * 5 * 2  # traces and paraphrases of two chunks of five questions
    assert not read_manifest(root / "seed42" / "results" / "manifest.json")["complete"]
    assert kill(root, log, "write_rows:12")  # among the rows of the second seed
    assert not kill(root, log, "none")
    asked = log.read_text().splitlines()
    assert len(set(asked)) == len(asked) == 2 * 24 * 2  # every request of both seeds, each once
    told = read_manifest(root / "seed43" / "results" / "manifest.json")
    assert told["paid"]["requests"] == 0
    one = read_seed(root / "seed42")
    always = one.methods["Always-Expand"]
    whole = tmp_path / "whole"
    shutil.copytree(root, whole, ignore=shutil.ignore_patterns("results"))
    run(whole, TextEncoder(), ScriptedGenerator(), settings=SETTINGS, chunk=5)
    for seed in (42, 43):
        assert rows_of(root, seed) == rows_of(whole, seed)  # with the cost of what was paid before the kills
    assert always.calls.tolist() == [2] * 24
    paid_before = {line.split(" ", 1)[1].rsplit(" ", 1)[0] for line in first}
    for row in always.raw:
        assert row["cached"] == (row["query"] in paid_before)
    assert all(row["cached"] for row in read_seed(root / "seed43").methods["Always-Expand"].raw)


def test_what_is_there_is_not_run_again(root):
    generator, encoder = ScriptedGenerator(), TextEncoder()
    first = run(root, encoder, generator, settings=SETTINGS)
    assert [(one.new, one.questions, one.left_out) for one in first] == [(True, 24, 0)] * 2
    before = rows_of(root)
    calls, encoded = len(generator.calls), len(encoder.calls)
    second = run(root, encoder, generator, settings=SETTINGS)
    assert [one.new for one in second] == [False, False]
    assert (len(generator.calls), len(encoder.calls)) == (calls, encoded)
    assert [rows.method for rows in second[0].rows()] == [*METHOD_FILES, "Oracle"]
    other = replace(SETTINGS, methods=tuple(METHOD_FILES), threshold=0.5)
    told = r"methods.Selective-QE.threshold: there it is 0.55, given 0.5; methods.Oracle: is there, and not"
    with pytest.raises(InvalidInputError, match=told):
        run(root, encoder, generator, settings=other)
    assert rows_of(root) == before
    (done, _) = run(root, encoder, generator, settings=other, again=True)
    assert done.new
    assert len(generator.calls) == calls  # other rows from the same generations
    after = rows_of(root)
    assert list(after) == list(METHOD_FILES)  # rows of a method that is no longer asked for are gone
    assert after["Always-Expand"] == before["Always-Expand"]
    assert after["Selective-QE"] != before["Selective-QE"]


def test_results_that_were_changed_are_not_taken_for_whole(root):
    run(root, TextEncoder(), settings=PLAIN, seeds=[42])
    path = root / "seed42" / "results" / "dense_only_detailed.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"true", b"false", 1))
    with pytest.raises(
        InvalidInputError, match=r"dense_only_detailed.jsonl' was changed since it was written"
    ):
        run(root, TextEncoder(), settings=PLAIN, seeds=[42])
    path.unlink()
    with pytest.raises(InvalidInputError, match=r"dense_only_detailed.jsonl' is missing; again"):
        run(root, TextEncoder(), settings=PLAIN, seeds=[42])
    run(root, TextEncoder(), settings=PLAIN, seeds=[42], again=True)
    assert path.read_bytes() == whole


def test_a_cache_is_shared(root, tmp_path):
    generator = ScriptedGenerator()
    settings = replace(SETTINGS, methods=("traces",), timed=False)
    run(root, TextEncoder(), generator, seeds=[42], settings=settings, cache=tmp_path / "all.sqlite")
    assert not (root / "seed42" / "results" / "generations.sqlite").exists()
    copy = tmp_path / "copy"
    shutil.copytree(root, copy, ignore=shutil.ignore_patterns("results"))
    other = ScriptedGenerator()
    run(copy, TextEncoder(), other, seeds=[42], settings=settings, cache=tmp_path / "all.sqlite")
    assert (len(generator.calls), len(other.calls)) == (1, 0)
    assert rows_of(copy) == rows_of(root)


class Slow(ScriptedGenerator):
    """Takes 2 ms a request, in one call."""

    def generate(self, requests):
        time.sleep(0.002 * len(requests))
        return super().generate(requests)


def test_seconds_are_of_the_method_alone_and_of_what_it_generated(root):
    settings = replace(SETTINGS, methods=("dense", "paraphrases", "sqe"))
    run(root, TextEncoder(), Slow(), seeds=[42], settings=settings)
    methods = read_seed(root / "seed42").methods
    assert len(set(methods["Dense-Only"].seconds)) == 1
    assert methods["Dense-Only"].seconds[0] > 0
    assert (methods["Paraphrases-Only"].seconds >= 0.002).all()
    sqe = methods["Selective-QE"]
    plain = sqe.seconds[~sqe.expanded]
    assert len(set(plain)) == 1
    assert (sqe.seconds[sqe.expanded] >= plain[0] + 0.004).all()  # two requests, at least 2 ms each
    before = sqe.seconds[sqe.expanded] - plain[0]
    run(root, TextEncoder(), Slow(), seeds=[42], settings=settings, again=True)
    sqe = read_seed(root / "seed42").methods["Selective-QE"]
    after = sqe.seconds[sqe.expanded] - sqe.seconds[~sqe.expanded][0]
    assert np.allclose(before, after, atol=1e-12)  # of when they were made
    run(root, TextEncoder(), Slow(), seeds=[42], settings=replace(settings, timed=False), again=True)
    one = read_seed(root / "seed42")
    assert all(np.isnan(rows.seconds).all() for rows in one.methods.values())
    told = read_manifest(root / "seed42" / "results" / "manifest.json")["choices"]["elapsed_seconds"]
    assert told.startswith("not measured")


def test_equal_questions_cost_each_what_they_would_alone(tmp_path, steps):
    class Same(Asker):
        def answer(self, request):
            answer = super().answer(request)
            same = "Where did they meet?"
            return replace(answer, texts=(same,)) if request.question < "e2" else answer

    prepare(tmp_path, [42], Source((str(steps),)), TextEncoder(), Same(), protocol=PROTOCOL)
    generator = ScriptedGenerator()
    run(tmp_path, TextEncoder(), generator, settings=replace(SETTINGS, timed=False), chunk=6)
    one = read_seed(tmp_path / "seed42")
    assert len(set(one.queries)) < 24 - 6
    assert sum(len(call) for call in generator.calls) == 2 * len(set(one.queries))
    assert one.methods["Always-Expand"].calls.tolist() == [2] * 24
    assert (
        one.methods["Random-Gated-Expansion"].calls.sum()
        == 2 * one.methods["Random-Gated-Expansion"].expanded.sum()
    )


def test_targets_without_a_question_are_left_out(tmp_path, steps, tiny_prepared):
    target = read_questions(tiny_prepared)[3]["target_id"]
    source = Source((str(steps),))
    prepare(tmp_path, [42], source, TextEncoder(), Asker(fail={target}), protocol=PROTOCOL)
    (done,) = run(tmp_path, TextEncoder(), settings=PLAIN)
    assert (done.questions, done.left_out) == (23, 1)
    assert "q0003" not in read_seed(tmp_path / "seed42").query_ids
    assert read_manifest(done.folder.results.manifest)["questions"] == {"asked": 23, "left_out": 1}


def read_questions(root):
    return [json.loads(line) for line in SeedFolder.of(root, 42).questions.read_text().splitlines()]


def test_a_generator_that_breaks_leaves_the_questions_own_lists(root):
    settings = replace(SETTINGS, methods=("dense", "always"))
    broken = ScriptedGenerator(raises=RuntimeError("out of memory"))
    run(root, TextEncoder(), broken, seeds=[42], settings=settings)
    methods = read_seed(root / "seed42").methods
    always = methods["Always-Expand"]
    assert always.retrieved == methods["Dense-Only"].retrieved
    assert not always.expanded.any()
    assert np.isnan(always.seconds).all()
    assert {row["problem"] for row in always.raw} == {
        "traces: RuntimeError: out of memory; paraphrases: RuntimeError: out of memory"
    }
    assert not any(row["cached"] for row in always.raw)


def test_a_store_without_vectors(tmp_path, steps):
    prepare(tmp_path, [42], Source((str(steps),)), None, Asker(), protocol=PROTOCOL)
    run(tmp_path, None, settings=RunSettings(methods=("bm25",)))
    one = read_seed(tmp_path / "seed42")
    assert list(one.methods) == ["BM25-Only"]
    assert one.methods["BM25-Only"].hit(10).any()
    assert [len(row["lists"]) for row in read_probes(tmp_path / "seed42")] == [1] * 24


def test_methods_of_ones_own(root):
    mine = replace(get_method("sqe", threshold=0.6, signal="top1"), name="Mine", alias="mine")
    late = replace(get_method("random", rate=0.9, seed=1), name="Late", alias="late")
    settings = RunSettings(methods=("dense", mine, late), timed=False, k=5, depth=7, signals=("rbo",))
    run(root, TextEncoder(), ScriptedGenerator(), seeds=[43], settings=settings)
    one = read_seed(root / "seed43")
    assert list(one.methods) == ["Dense-Only", "Late", "Mine"]
    assert set(one.methods["Dense-Only"].signals) - set(one.methods["Mine"].signals) == {"rbo"}
    assert one.methods["Mine"].path.name == "mine_detailed.jsonl"
    assert (one.methods["Mine"].top1 < 0.6).tolist() == one.methods["Mine"].expanded.tolist()
    draws = random.Random(43)
    assert one.methods["Late"].expanded.tolist() == [draws.random() < 0.9 for _ in range(24)]
    assert {len(ids) for ids in one.methods["Mine"].retrieved} == {5}
    assert max(len(found["ids"]) for row in read_probes(root / "seed43") for found in row["lists"]) == 7


def test_cascades_and_rules_beside_the_others(root):
    """Each method's rows are those of the method run alone, with its own cost, also from the cache."""
    step = Stage(1, 0, "top1 >= 0.5")
    cascade = replace(get_method("traces"), name="Cascade", alias="cascade", stages=(step,))
    strict = replace(get_method("always"), name="Strict", alias="strict", accept="top1 >= 0.5")
    settings = RunSettings(methods=("always", cascade, strict))
    run(root, TextEncoder(), ScriptedGenerator(), seeds=[42], settings=settings, chunk=5)
    first = read_seed(root / "seed42")
    asked = ScriptedGenerator()
    run(root, TextEncoder(), asked, seeds=[42], settings=settings, chunk=7, again=True)
    assert asked.calls == []
    again = read_seed(root / "seed42")
    with MemoryStore.open(root / "seed42" / "memory", read_only=True, encoder=TextEncoder()) as store:
        for method in settings.of_seed(42):
            batch = Engine(store, generator=ScriptedGenerator()).search(first.queries, method)
            for rows in (first.methods[method.name], again.methods[method.name]):
                assert rows.retrieved == batch.ids
                assert rows.calls.tolist() == batch.usage.calls.tolist()
                assert rows.completion_tokens.tolist() == batch.usage.completion_tokens.tolist()
                assert rows.expanded.tolist() == batch.expanded.tolist()
                assert np.isfinite(rows.seconds).all()
    steps = [row["steps"] for row in first.methods["Cascade"].raw]
    assert set(steps) == {1, 2}
    assert first.methods["Cascade"].calls.tolist() == steps
    refused = [row for row in first.methods["Strict"].raw if row["refused"]]
    assert refused
    assert {row["meta"]["n_hypothetical_traces_generated"] for row in refused} == {2}
    assert {row["cached"] for row in again.methods["Cascade"].raw} == {True}
    told = read_manifest(root / "seed42" / "results" / "manifest.json")["choices"]["methods"]
    assert "0.5" in told["Cascade"]["stages"]
    assert "0.5" in told["Strict"]["accept"]
    assert {len(row["traces"]) for row in read_probes(root / "seed42")} == {2}


def test_a_budget_of_tokens(root):
    class Counting(ScriptedGenerator):
        def most_tokens(self, requests):
            return [(10, 6) for _ in requests]

    gate = TokenBudgetGate(10 * 32)
    lean = replace(get_method("sqe"), name="Lean", alias="lean", gate=gate)
    settings = RunSettings(methods=("always", lean))
    run(root, TextEncoder(), Counting(), seeds=[42], settings=settings)
    one = read_seed(root / "seed42").methods["Lean"]
    spent = one.prompt_tokens + one.completion_tokens
    assert 0 < one.expanded.sum() < 24
    assert 0 < spent.sum() <= 320
    assert np.isfinite(one.seconds).all()


FEWER = (
    replace(get_method("traces", K=1), name="One-Trace", alias="one"),
    replace(get_method("always", K=1, P=1), name="One-Each", alias="each"),
    get_method("sqe+"),
)


@pytest.mark.filterwarnings("ignore:sqe. was chosen for stores")
@pytest.mark.parametrize("method", FEWER, ids=lambda method: method.alias)
def test_a_method_that_takes_fewer_probes_costs_what_it_would_alone(root, method):
    """Beside one that takes more: the same rows, new tokens in proportion, and never without a time."""
    found = []
    for methods in ((method,), ("always", method)):
        copy = root.parent / f"of{len(methods)}"
        shutil.copytree(root, copy)
        run(copy, TextEncoder(), ScriptedGenerator(), seeds=[42], settings=RunSettings(methods=methods))
        found.append(read_seed(copy / "seed42").methods[method.name])
    alone, beside = found
    for name in ("retrieved", "expanded", "calls", "prompt_tokens", "cached_tokens"):
        assert np.array_equal(getattr(alone, name), getattr(beside, name))
    assert alone.calls.any()
    traces = 3 * np.minimum(alone.calls, 1)
    wanted = traces if method.wants[1] == 0 else traces + 3
    assert beside.completion_tokens.tolist() == wanted.tolist()
    assert np.isfinite(beside.seconds).all()
    assert all(row["estimated_tokens"] for row in beside.raw)
    assert not alone.raw[0]["estimated_tokens"]
    for a, b in zip(alone.raw, beside.raw, strict=True):
        judged = ("gated", "lists", "problem", "refused", "evidence")
        assert [a.get(name) for name in judged] == [b.get(name) for name in judged]


def test_every_option_of_expansions_can_be_chosen():
    """In Python and on the command line; each is told in the manifest, and reaches the expander."""
    options = set(inspect.signature(Expander).parameters) - {"generator", "cache", "K", "P", "count_cached"}
    own = {"sampling_seed" if name == "seed" else name for name in options}
    assert own == set(RunSettings().choices(42, None)["expansions"]) - {"generator", "prompts"}
    assert own <= {field.name for field in fields(RunSettings)}
    assert own <= {parameter.name for parameter in command.params}
    lengths = []
    for brief in (False, True):
        generator = ScriptedGenerator()
        expander = RunSettings(brief=brief).expander(generator, None)
        lengths.append(sum(len(one.messages[0].content) for one in expander.requests("why?", 1, 0)))
    assert lengths[1] < lengths[0] / 2


def test_joint_answers(root):
    class Joint(ScriptedGenerator):
        def answer(self, request):
            assert request.kind == "joint"
            texts = tuple(f"{request.question} {word}" for word in ("one", "two", "three", "four"))
            return Generation(texts, 10, 0, 9, verbatim=True, traces=2)

    generator = Joint()
    settings = RunSettings(methods=("always", "traces"), joint=True)
    run(root, TextEncoder(), generator, seeds=[42], settings=settings)
    methods = read_seed(root / "seed42").methods
    assert sum(len(call) for call in generator.calls) == 24
    assert methods["Always-Expand"].calls.tolist() == [1] * 24
    assert (methods["Always-Expand"].seconds > 0).all()
    assert np.isnan(methods["HyDE-Traces-Only"].seconds).all()
    assert {len(row["lists"]) for row in methods["HyDE-Traces-Only"].raw} == {5}


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"methods": ()}, "methods must be at least one, each once; got none"),
        ({"methods": ("sqe", "Selective-QE")}, "each once; got Selective-QE, Selective-QE"),
        ({"methods": ("best",)}, "method must be one of"),
        (
            {"methods": (replace(get_method("sqe"), name="Mine", alias="proposed"),)},
            "is for Selective-QE",
        ),
        ({"methods": ("oracle", replace(get_method("oracle"), name="Mine"))}, "which is for Oracle; give it"),
        ({"methods": (replace(get_method("sqe"), name="Mine", alias="a/b"),)}, "cannot be in 'a/b_detailed"),
        ({"threshold": float("nan")}, "threshold must be a finite number"),
        ({"signals": ("luck",)}, "signals must be one of"),
        ({"rate": 2}, "rate must be a finite number from 0 to 1"),
        ({"k": 0}, "k must be from 1"),
        ({"depth": 5}, "depth must be at least k, 10; got 5"),
    ],
)
def test_settings_that_do_not_fit(numbers, message):
    with pytest.raises(InvalidInputError, match=message):
        RunSettings(**numbers)


def test_what_was_not_prepared_or_changed_is_refused(root):
    encoder = TextEncoder()
    with pytest.raises(InvalidInputError, match="holds no prepared seed 7; it has 42, 43"):
        run(root, encoder, settings=PLAIN, seeds=[42, 7])
    with pytest.raises(InvalidInputError, match="seeds must be at least one"):
        run(root / "nowhere", encoder, settings=PLAIN)
    with pytest.raises(InvalidInputError, match="Always-Expand expands questions"):
        run(root, encoder, settings=RunSettings(methods=("always",)))
    with pytest.raises(InvalidInputError, match="encoder dim: the store has 16, given 8"):
        run(root, TextEncoder(dim=8), settings=PLAIN)
    folder = SeedFolder.of(root, 42)
    folder.questions.write_text(folder.questions.read_text().replace("meet", "met"))
    with pytest.raises(InvalidInputError, match=r"questions.jsonl' was changed since it was prepared"):
        run(root, encoder, settings=PLAIN)
    manifest = json.loads(folder.manifest.read_text()) | {"complete": False}
    folder.manifest.write_text(json.dumps(manifest))
    with pytest.raises(InvalidInputError, match="is not prepared to the end"):
        run(root, encoder, settings=PLAIN)


def test_rows_of_others_are_left_alone(root):
    results = root / "seed42" / "results"
    results.mkdir()
    (results / "dense_only_detailed.jsonl").write_text("mine")
    with pytest.raises(InvalidInputError, match="holds rows of another program"):
        run(root, TextEncoder(), settings=PLAIN, seeds=[42])
    assert (results / "dense_only_detailed.jsonl").read_text() == "mine"
    run(root, TextEncoder(), settings=PLAIN, seeds=[42], again=True)
    assert list(read_seed(root / "seed42").methods) == ["Dense-Only", "BM25-Only", "Hybrid-RRF"]
