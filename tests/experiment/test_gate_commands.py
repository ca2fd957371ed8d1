"""`sqe-fast gate curve` and `gate fit`: over rows of an experiment, and over a store that answers."""

from __future__ import annotations

import csv
import json
import warnings
import xml.etree.ElementTree as Tree

import numpy as np
import pytest

pytest.importorskip("click")
pytest.importorskip("rich")

from oracles.small import ScriptedGenerator, TextEncoder

from sqe_fast.gate import LearnedGate, RateGate, StreamingGate, ThresholdGate
from sqe_fast.gate.files import load_gate, save_gate
from sqe_fast.gate.study import Ranking, fit_gate, outcomes_of_rows, score_curve


@pytest.fixture
def run(capsys, monkeypatch):
    from sqe_fast.cli import main

    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture
def many(tmp_path):
    """Two experiments of rows in which a low spread tells where expansion helps."""

    def write(name, seed, n=120):
        rng = np.random.default_rng(seed)
        spread, top1 = rng.random(n), rng.random(n)
        helps = spread + 0.3 * rng.random(n) < 0.5
        base = rng.random(n) < 0.4
        folder = tmp_path / name / f"seed{seed}" / "results"
        folder.mkdir(parents=True)
        for file, hit in (("dense_only", base), ("always_expand", base | helps)):
            lines = []
            for i in range(n):
                meta = {"prompt_tokens": 100, "completion_tokens": int(rng.integers(20, 90))}
                row = {
                    "query_id": f"q{i}",
                    "query": f"question {i}",
                    "target_id": "t",
                    "retrieved_ids": ["t"] if hit[i] else ["x"],
                    "hit@1": bool(hit[i]),
                    "hit@10": bool(hit[i]),
                    "meta": meta | {"mode": file, "top1_score_before_expansion": top1[i]},
                    "signals": {"top1": top1[i], "spread": spread[i], "margin": None if i == 3 else 0.1 * i},
                }
                lines.append(json.dumps(row) + "\n")
            (folder / f"{file}_detailed.jsonl").write_text("".join(lines))
        return tmp_path / name

    return write("first", 42), write("second", 43)


def read(path):
    with path.open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def test_curves_of_an_experiment(run, many, tmp_path):
    table, figure, page = (tmp_path / name for name in ("gates.csv", "curves.svg", "page.html"))
    code, out, err = run(
        "gate",
        "curve",
        many[0],
        "--share",
        0.4,
        "--csv",
        table,
        "--svg",
        figure,
        "--html",
        page,
        "--repeats",
        2,
    )
    assert code == 0, err
    assert "Gates that expand 40% of the questions" in out
    rows = {row["gate"]: row for row in read(table)}
    assert set(rows) == {"top1", "spread", "margin", "random", "oracle"}
    from sqe_fast.experiment.rows import read_experiment

    outcomes = outcomes_of_rows(read_experiment(many[0]).seeds)
    expected = score_curve(outcomes, outcomes.signal("spread")).at(0.4)[0]
    assert float(rows["spread"]["recall"]) == pytest.approx(expected)
    assert float(rows["spread"]["random_interval_low"]) > 0
    assert float(rows["spread"]["held_interval_low"]) > 0
    assert "learned" in out.split("out of fold")[1]
    curves = read(tmp_path / "gates.curves.csv")
    assert len(curves) == 51
    assert float(curves[20]["spread"]) == pytest.approx(expected)
    assert Tree.parse(figure).getroot().tag.endswith("svg")
    assert "Gate curves" in page.read_text(encoding="utf-8")


def test_the_budget_may_count_tokens(run, many):
    code, out, _ = run(
        "gate", "curve", many[0], "--axis", "tokens", "--repeats", 0, "--signals", "spread,top1"
    )
    assert code == 0
    assert "48% of the tokens of expanding all" in out
    assert "margin" not in out


@pytest.mark.parametrize(
    ("by", "form", "kind"),
    [
        ("learned", "threshold", LearnedGate),
        ("learned", "stream", StreamingGate),
        ("best", "threshold", ThresholdGate),
        ("spread", "rate", RateGate),
        ("top1", "stream", StreamingGate),
    ],
)
def test_a_gate_is_fitted_on_one_set_and_judged_on_another(run, many, tmp_path, by, form, kind):
    file = tmp_path / "gate.json"
    code, out, err = run(
        "gate", "fit", many[0], "--by", by, "--as", form, "--share", 0.4, "--judge", many[1], "--out", file
    )
    assert code == 0, err
    gate = load_gate(file)
    assert type(gate) is kind
    lines = out.splitlines()
    assert any("fitted on" in line for line in lines)
    assert any("out of fold" in line for line in lines)
    assert any("second" in line for line in lines)
    if by != "top1":
        assert "spread" in gate.signals
    code, out, _ = run("gate", "curve", many[1], "--gate", file, "--repeats", 0)
    assert code == 0
    assert "gate" in out


def test_other_seeds_of_one_experiment_judge(run, many, tmp_path):
    (many[1] / "seed43").rename(many[0] / "seed43")
    fit = ("gate", "fit", many[0], "--by", "spread", "--out", tmp_path / "gate.json")
    code, out, err = run(*fit, "--seeds", 42, "--judge", many[0], "--judge-seeds", 43)
    assert code == 0, err
    assert "240" not in out
    code, out, _ = run(*fit, "--seeds", 42, "--judge", many[0])
    assert code == 0
    assert "240" in out
    code, _, err = run(*fit, "--judge", many[0], "--judge-seeds", 50)
    assert code == 2
    assert "holds no rows of seed 50; it has 42, 43" in err


def test_a_fitted_threshold_expands_its_share():
    from sqe_fast.gate.study import Outcomes

    rng = np.random.default_rng(0)
    values = rng.random(50).astype(np.float32)
    outcomes = Outcomes({"spread": values}, rng.random(50) < 0.5, rng.random(50) < 0.7)
    for share in (0.0, 0.1, 0.48, 1.0):
        for descending in (False, True):
            for form in ("threshold", "rate"):
                gate = fit_gate(outcomes, Ranking("spread", descending), share, form)
                chosen = gate.start()({"spread": values}, 50)
                assert chosen.sum() == round(share * 50)
                wanted = np.sort(-values if descending else values)[: chosen.sum()]
                assert (np.sort((-values if descending else values)[chosen]) == wanted).all()


def test_a_store_answers_and_its_gate_is_used(run, tmp_path, monkeypatch):
    pytest.importorskip("faiss")
    from oracles.small import WORDS, small_store

    from sqe_fast import generate
    from sqe_fast._cli import encoders

    encoder = TextEncoder()
    monkeypatch.setattr(encoders.PinnedEncoder, "_load", lambda _: encoder)
    monkeypatch.setattr(generate, "make_generator", lambda _: ScriptedGenerator())
    small_store(tmp_path / "memory", encoder).close()
    questions = tmp_path / "questions.jsonl"
    rng = np.random.default_rng(0)
    questions.write_text(
        "".join(
            json.dumps({"id": f"q{i}", "query": " ".join(rng.choice(WORDS, 3)), "target": f"e{i}"}) + "\n"
            for i in range(24)
        )
    )
    store = tmp_path / "memory"
    source = ("--queries", questions, "--generator", "recorded:none")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        code, out, err = run("gate", "curve", store, *source, "--method", "sqe+", "--repeats", 0)
    assert code == 0, err
    assert "fused_spread" in out
    assert "sqe-fast: warning: sqe+ was chosen for stores with the tokenizer 'code'" in err
    gate = tmp_path / "gate.json"
    code, _, err = run(
        "gate", "fit", store, *source, "--by", "spread", "--share", 0.25, "--judge", questions, "--out", gate
    )
    assert code == 0, err
    code, out, err = run(
        "search",
        store,
        "--queries",
        questions,
        "--method",
        "sqe",
        "--gate",
        gate,
        "--generator",
        "recorded:x",
        "--json",
    )
    assert code == 0, err
    assert sum(json.loads(line)["gated"] for line in out.splitlines()) == 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("curve", "{first}", "--generator", "recorded:x"), "--generator goes with --queries"),
        (("curve", "{first}", "--signals", "spread,luck"), "signal must be one of"),
        (("curve", "{first}", "--base", "Oracle"), "has no rows of Oracle; it has Dense-Only, Always-Expand"),
        (("curve", "{first}", "--queries", "q.jsonl"), "--queries needs a --generator"),
        (("curve", "{first}", "--queries", "q.jsonl", "--html", "x.html"), "--html goes with an experiment"),
        (
            ("curve", "{first}", "--queries", "q", "--generator", "recorded:x", "--method", "dense"),
            "--method dense expands nothing",
        ),
        (("fit", "{first}", "--out", "x", "--by", "luck"), "signal must be one of"),
        (("fit", "{first}"), "Missing option '--out'"),
    ],
)
def test_mistakes_are_told_in_a_line(run, many, arguments, message):
    code, _, err = run("gate", *(str(one).format(first=many[0]) for one in arguments))
    assert code == 2
    assert message in err
    assert len(err.splitlines()) == 1


def test_a_gate_is_for_methods_that_expand(run, tmp_path):
    save_gate(ThresholdGate(threshold=0.5), tmp_path / "gate.json")
    code, _, err = run("search", tmp_path, "why", "--method", "dense", "--gate", tmp_path / "gate.json")
    assert code == 2
    assert "--gate: dense expands nothing" in err
    code, _, err = run("search", tmp_path, "why", "--method", "sqe", "--gate", tmp_path / "none.json")
    assert code == 3
    assert "none.json: cannot be read" in err
