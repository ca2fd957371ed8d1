"""Acceptance in the engine: the plain re-statement, laws, the dev set's figures, and what is told of it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("faiss")

from oracles.methods import Plain, Probes, recall
from oracles.small import WORDS, ScriptedGenerator, TextEncoder, small_store

from sqe_fast.engine import Engine
from sqe_fast.errors import InvalidTypeError
from sqe_fast.gate import Accept, AlwaysGate
from sqe_fast.generate.recorded import RecordedGenerator
from sqe_fast.methods import PARAPHRASES, QUESTION_BOTH, QUESTION_DENSE, TRACES, Method, get_method
from sqe_fast.text import tokenize

BASE = replace(get_method("hybrid", fusion="zscore", k=10), name="base")
TWO = Method("two", "two", AlwaysGate(), (QUESTION_BOTH,), (TRACES,), k=10, fusion="zscore")
ALL = replace(TWO, name="all", added=(TRACES, PARAPHRASES))
TOP1, GAIN = "top1 >= 0.6", "top1 >= question + 0.05"
QUESTIONS = [f"where is the {a} of the {b}" for a in WORDS[:5] for b in WORDS[5:8]]

RULES = [
    TOP1,
    GAIN,
    "top1_z >= 4.5",
    "bm25_z >= question + 2",
    "bm25_top1 >= 40",
    "idf_share >= 0.3",
    "lift >= 2.5",
    "dense_bm25 >= 0.1, overlap >= 0.1",
    "agreement >= 0.2",
    "top1 >= 0.6 ~ 0.1",
    "idf_share >= 0.3 ~ 0.1 or top1_z >= question",
]
METHODS = [replace(ALL, name=rule, accept=rule) for rule in RULES]
METHODS += [replace(method, name=f"rrf {method.name}", fusion="rrf") for method in METHODS[::4]]


@pytest.fixture(scope="module")
def plain(code_dev):
    return Plain(code_dev.ids, code_dev.store.bm25, code_dev.vectors, code_dev.vector_of)


@pytest.fixture(scope="module")
def probes(code_dev, plain):
    return Probes(plain, code_dev.texts, lambda text: tokenize(text, "code"))


@pytest.fixture(scope="module")
def engines(code_dev):
    return {
        who: Engine(code_dev.store, generator=RecordedGenerator(path), chunk=200)
        for who, path in code_dev.recorded.items()
    }


@pytest.fixture(scope="module")
def batches(code_dev, engines):
    more = [BASE, TWO, *(replace(TWO, name=f"two {rule}", accept=rule) for rule in (TOP1, GAIN))]
    return {
        who: engine.search_methods(code_dev.questions, [*METHODS, *more]) for who, engine in engines.items()
    }


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_equals_the_restatement(code_dev, plain, probes, batches, method):
    for who, every in (("strong", 60), ("weak", 45)):
        batch = batches[who][method.name]
        for row in range(0, len(code_dev.questions), every):
            question = code_dev.questions[row]
            made = code_dev.expansions[who][question]
            lists, weights = [("dense", question), ("bm25", question)], [1.0, 1.0]
            for kind, indexes in (("traces", ("dense", "bm25")), ("paraphrases", ("dense",))):
                for number, text in enumerate(made[kind]):
                    others = made[kind][:number] + made[kind][number + 1 :]
                    weight = probes.weight(method.accept, text, question, others)
                    lists += [(index, text) for index in indexes]
                    weights += [weight] * len(indexes)
            assert batch.weights[row] == pytest.approx(weights, abs=1e-4)
            assert batch.ids[row] == plain.answer(lists, weights, method.fusion)
            assert (batch.lengths[row] >= 0).tolist() == [weight > 0 for weight in weights]


def test_figures_of_the_dev_set(code_dev, batches):
    # README of the shared data, by independent code over other stop words: base 70.6, all 87.5 and 51.9; at
    # 0.6 87.2 and 70.0, at 0.05 over the question 86.9 and 67.5.
    figures = {
        "base": (68.1, 68.1),
        "two": (86.9, 56.4),
        f"two {TOP1}": (86.9, 67.5),
        f"two {GAIN}": (86.1, 65.6),
    }
    for name, wanted in figures.items():
        found = [recall(batches[who][name].ids, code_dev.targets, 5) for who in ("strong", "weak")]
        assert found == pytest.approx(wanted, abs=0.3)


def test_what_was_refused_is_told(code_dev, batches):
    batch = batches["weak"][f"two {TOP1}"]
    assert batch.probes == ("trace 1", "trace 2")
    values = batch.evidence[TOP1]
    assert values.shape == (360, 2)
    for row, (reasons, seen) in enumerate(zip(batch.refused, values, strict=True)):
        low = [number for number, value in enumerate(seen) if value < 0.6]
        assert list(reasons) == [f"trace {number + 1}" for number in low]
        assert list(reasons.values()) == [f"top1 {seen[number]:.3f} < 0.6" for number in low]
        assert (batch.weights[row, 2:] == 0).reshape(2, 2).all(1).nonzero()[0].tolist() == low
    assert 0 < batch.expanded.sum() < 60
    assert batch.gated.all()
    assert (batch.usage.calls == 1).all()  # what is refused was paid for
    first = next(batch.rows())
    assert json.loads(json.dumps(first, allow_nan=False)) == first
    assert first["refused"] == batch.refused[0]
    assert first["evidence"] == {TOP1: {"trace 1": values[0, 0], "trace 2": values[0, 1]}}


def test_one_alone_equals_the_same_among_all(code_dev, engines, batches):
    for method in METHODS[:4]:
        alone = engines["weak"].search(code_dev.questions[:60], method)
        among = batches["weak"][method.name]
        assert alone.ids == among.ids[:60]
        assert alone.refused == among.refused[:60]


# -- laws ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    with small_store(tmp_path_factory.mktemp("small") / "memory", TextEncoder()) as store:
        yield Engine(store, generator=ScriptedGenerator())


NEITHER = ["top1 >= 0", "idf_share >= 0", "agreement >= 0", "overlap >= 0 or top1 >= 5"]
BOTH = ["top1 >= 5", "idf_share >= 1.5", "overlap >= 2 ~ 0.5", "top1 >= question + 9"]


@pytest.mark.parametrize("fusion", ["rrf", "zscore", "minmax"])
@pytest.mark.parametrize("rule", NEITHER)
def test_to_accept_all_is_to_have_no_rule(small, rule, fusion):
    method = replace(ALL, fusion=fusion)
    plain, judged = small.search(QUESTIONS, method), small.search(QUESTIONS, replace(method, accept=rule))
    assert judged.ids == plain.ids
    assert np.array_equal(judged.hits.scores, plain.hits.scores)
    assert np.array_equal(judged.lengths, plain.lengths)
    assert not any(judged.refused)


@pytest.mark.parametrize("fusion", ["rrf", "zscore", "minmax"])
@pytest.mark.parametrize("rule", BOTH)
def test_to_refuse_all_is_the_base(small, rule, fusion):
    method = replace(ALL, fusion=fusion, accept=rule)
    base, judged = small.search(QUESTIONS, replace(BASE, fusion=fusion)), small.search(QUESTIONS, method)
    assert judged.ids == base.ids
    assert np.array_equal(judged.hits.scores, base.hits.scores)
    assert [len(reasons) for reasons in judged.refused] == [4] * len(QUESTIONS)
    assert not judged.expanded.any()
    single = replace(method, lists=(QUESTION_DENSE,))
    assert small.search(QUESTIONS, single).ids == small.search(QUESTIONS, "dense", k=10).ids


@settings(max_examples=30, deadline=None)
@given(
    order=st.permutations(range(len(QUESTIONS))),
    chunk=st.integers(1, 16),
    rule=st.sampled_from(["top1 >= 0.55", "idf_share >= 0.11 ~ 0.03", "agreement >= 0.5"]),
)
def test_neither_order_nor_chunks_count(small, order, chunk, rule):
    method = replace(ALL, accept=rule)
    batch = small.search(QUESTIONS, method)
    engine = Engine(small.snapshot, TextEncoder(), ScriptedGenerator(), chunk=chunk)
    moved = engine.search([QUESTIONS[i] for i in order], method)
    assert moved.ids == tuple(batch.ids[i] for i in order)
    assert moved.refused == tuple(batch.refused[i] for i in order)


def test_only_the_kinds_that_a_rule_names_are_judged(small):
    rules = Accept.parse("top1 >= 5")
    batch = small.search(QUESTIONS, replace(ALL, accept=replace(rules, probes=("traces",))))
    assert {name for reasons in batch.refused for name in reasons} == {"trace 1", "trace 2"}
    assert (batch.weights[:, -2:] == 1).all()
    assert np.isnan(batch.evidence[str(rules)][:, 2:]).all()


def test_rules_may_look_where_no_list_is_fused(small):
    # Paraphrases are fused by their dense lists only; their words are judged all the same.
    method = get_method("paraphrases", k=10, accept="idf_share >= 0.11")
    batch = small.search(QUESTIONS, method)
    assert batch.lists == ("question dense", "paraphrase 1 dense", "paraphrase 2 dense")
    assert 0 < sum(map(len, batch.refused)) < 30
    assert batch.evidence["idf_share >= 0.11"].shape == (15, 2)


def test_odd_questions(small):
    lost, short = QUESTIONS[1], QUESTIONS[2]
    engine = Engine(small.snapshot, TextEncoder(), ScriptedGenerator(fail=[lost], short=[short]))
    asked = ["", QUESTIONS[0], lost, short, QUESTIONS[0], " "]
    batch = engine.search(asked, replace(ALL, accept="agreement >= 0.05, top1 >= 0.1"))
    assert batch.ids[0] == batch.ids[5] == ()
    assert batch.ids[1] == batch.ids[4]
    assert batch.ids[2] == engine.search([lost], BASE).ids[0]
    assert batch.refused[2] == {}
    assert batch.problems[2] == "traces: time-out; paraphrases: time-out"
    # A paraphrase without another has nothing to agree with, and nothing is held against it.
    assert np.isnan(batch.evidence["agreement >= 0.05"][3, 2])
    assert batch.weights[3].tolist()[-2:] == [1, 0]
    assert batch.steps.tolist() == [0, 1, 1, 1, 1, 0]
    assert engine.search([""], replace(ALL, accept=TOP1)).refused == ({},)


def test_gates_and_the_oracle_go_with_it(small):
    targets = [f"e{n}" for n in range(len(QUESTIONS))]
    for alias in ("sqe", "random", "oracle"):
        method = get_method(alias, k=10, accept="top1 >= 0.55", fusion="zscore")
        batch = small.search(QUESTIONS, method, targets=targets)
        assert all(not reasons for reasons in np.array(batch.refused, object)[~batch.gated])
        assert np.isnan(batch.evidence["top1 >= 0.55"][~batch.gated]).all()


def test_a_rule_is_a_choice_of_a_method():
    method = get_method("always", accept=TOP1)
    assert method.accept == Accept.parse(TOP1)
    assert get_method(method, accept=None) == get_method("always")
    with pytest.raises(InvalidTypeError, match="accept must be an Accept or a text of rules; got int 3"):
        get_method("always", accept=3)
