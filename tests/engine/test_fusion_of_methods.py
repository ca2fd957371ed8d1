"""Fusion of whole score rows and weights of lists: the plain re-statement, laws, figures of the dev set."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("faiss")

from oracles.methods import LIST_SIGNALS, Plain, recall
from oracles.small import WORDS, ScriptedGenerator, TextEncoder, small_store

import sqe_fast._engine.fuse as fuse_room
from sqe_fast.engine import Engine
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.gate import AlwaysGate
from sqe_fast.gate.list_signals import LIST_SIGNALS as OURS
from sqe_fast.generate.recorded import RecordedGenerator
from sqe_fast.hits import Hits
from sqe_fast.methods import PARAPHRASES, QUESTION_BOTH, TRACES, Method, get_method
from sqe_fast.store import MemoryStore

HYBRID = replace(get_method("hybrid", fusion="zscore", k=10), name="hybrid z")
TWO = Method("two z", "two", AlwaysGate(), (QUESTION_BOTH,), (TRACES,), k=10, fusion="zscore")
ONE = replace(TWO, name="one z", K=1)
WEIGHTS = {"question bm25": 0.5, "trace 2 *": 0.25, "* bm25": 2}
QUESTIONS = [f"where is the {a} of the {b}" for a in WORDS[:5] for b in WORDS[5:8]]


@pytest.fixture(scope="module")
def plain(code_dev):
    return Plain(code_dev.ids, code_dev.store.bm25, code_dev.vectors, code_dev.vector_of)


@pytest.fixture(scope="module")
def engine(code_dev):
    return Engine(code_dev.store, generator=RecordedGenerator(code_dev.recorded["strong"]), chunk=100)


def lists_of(method, question, made):
    """The (index, text) of each list of a method, in the order of its names."""
    texts = {"question 1": question}
    texts |= {f"trace {n}": text for n, text in enumerate(made["traces"], 1)}
    texts |= {f"paraphrase {n}": text for n, text in enumerate(made["paraphrases"], 1)}
    found = []
    for name in method.list_names:
        probe, index = name.rsplit(" ", 1)
        found.append((index, texts["question 1" if probe == "question" else probe]))
    return found


# -- the dev set -----------------------------------------------------------------------------------

METHODS = [
    HYBRID,
    TWO,
    ONE,
    replace(TWO, name="minmax", fusion="minmax"),
    replace(TWO, name="weighted z", weights=WEIGHTS),
    replace(TWO, name="weighted rrf", weights=WEIGHTS, fusion="rrf"),
    replace(TWO, name="all", added=(TRACES, PARAPHRASES), weights={"paraphrase 1 dense": 0}),
]


@pytest.fixture(scope="module")
def batches(code_dev, engine):
    return engine.search_methods(code_dev.questions, METHODS)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_equals_the_restatement(code_dev, plain, batches, method):
    batch = batches[method.name]
    for question, ids in list(zip(code_dev.questions, batch.ids, strict=True))[::3]:
        lists = lists_of(method, question, code_dev.expansions["strong"][question])
        assert ids == plain.answer(lists, method.list_weights, method.fusion)


def test_figures_of_the_dev_set(code_dev, batches):
    # README of the shared data: 35.3/70.6/80.3, 52.2/87.5/94.2 and 51.9/86.1/92.8, by independent code whose
    # list of stop words is shorter: with that of the tokenizer "code" the hybrid comes out 2.5 lower.
    figures = {"hybrid z": (33.3, 68.1, 78.3), "two z": (52.5, 86.9, 93.9), "one z": (49.4, 84.7, 92.5)}
    for name, wanted in figures.items():
        found = [recall(batches[name].ids, code_dev.targets, at) for at in (1, 5, 10)]
        assert found == pytest.approx(wanted, abs=0.3)


def test_one_alone_equals_the_same_among_all(code_dev, engine, batches):
    for method in (TWO, METHODS[-1]):
        alone = engine.search(code_dev.questions[:50], method)
        assert alone.ids == batches[method.name].ids[:50]


def test_blocks_change_nothing(code_dev, batches, monkeypatch):
    monkeypatch.setattr(fuse_room, "BLOCK_BYTES", 8 * 5000 * 6 * 7)  # seven questions
    engine = Engine(code_dev.store, generator=RecordedGenerator(code_dev.recorded["strong"]), chunk=64)
    batch = engine.search(code_dev.questions[:100], TWO)
    assert batch.ids == batches["two z"].ids[:100]
    assert batch.hits.scores == pytest.approx(batches["two z"].hits.scores[:100], abs=1e-4)


def test_lists_tell_how_many_documents_they_gave(batches):
    assert (batches["two z"].lengths == 5000).all()
    assert (batches["weighted rrf"].lengths[:, 0] == 20).all()
    assert (batches["all"].lengths[:, -2] == -1).all()  # weighs nothing


@pytest.mark.parametrize("fusion", ["rrf", "zscore"])
@pytest.mark.parametrize("signal", LIST_SIGNALS)
def test_weighing_by_a_signal(code_dev, engine, plain, signal, fusion):
    method = replace(TWO, weigh_by=signal, fusion=fusion)
    asked = code_dev.questions[:40]
    for question, ids in zip(asked, engine.search(asked, method).ids, strict=True):
        lists = lists_of(method, question, code_dev.expansions["strong"][question])
        tops = [plain.row(*one)[plain.top(*one, 20)].astype(float).tolist() for one in lists]
        weights = np.array([LIST_SIGNALS[signal](scores) for scores in tops])
        assert ids == plain.answer(lists, weights / weights.max(), fusion)


# -- laws ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    with small_store(tmp_path_factory.mktemp("small") / "memory", TextEncoder()) as store:
        yield Engine(store, generator=ScriptedGenerator())


@settings(max_examples=30, deadline=None)
@given(power=st.integers(-20, 20), fusion=st.sampled_from(["rrf", "zscore", "minmax"]))
def test_only_the_ratios_of_weights_count(small, power, fusion):
    weights = {"question dense": 3.0, "trace * bm25": 0.5}
    scaled = {name: weight * 2.0**power for name, weight in {**weights, "*": 1.0}.items()}
    method = replace(TWO, fusion=fusion, weights=weights)
    assert small.search(QUESTIONS, method).ids == small.search(QUESTIONS, replace(method, weights=scaled)).ids


@settings(max_examples=30, deadline=None)
@given(order=st.permutations(range(len(QUESTIONS))), chunk=st.integers(1, 16))
def test_neither_order_nor_chunks_of_questions_count(small, order, chunk):
    batch = small.search(QUESTIONS, TWO)
    engine = Engine(small.snapshot, TextEncoder(), ScriptedGenerator(), chunk=chunk)
    moved = engine.search([QUESTIONS[i] for i in order], TWO)
    assert moved.ids == tuple(batch.ids[i] for i in order)


@settings(max_examples=30, deadline=None)
@given(scale=st.floats(0.125, 8), shift=st.floats(-4, 4), fusion=st.sampled_from(["zscore", "minmax"]))
def test_one_list_may_have_any_scale(small, scale, shift, fusion):
    class Rescaled(type(small._searcher)):
        def bm25_rows(self, texts):
            return np.float32(scale) * super().bm25_rows(texts) + np.float32(shift)

    method = replace(TWO, fusion=fusion)
    before = small.search(QUESTIONS, method)
    searcher, kind = small._searcher, type(small._searcher)
    searcher.__class__ = Rescaled
    try:
        after = small.search(QUESTIONS, method)
    finally:
        searcher.__class__ = kind
    # Equal up to rounding: documents of nearly one score may change places.
    assert after.hits.scores == pytest.approx(before.hits.scores, abs=1e-4)


def test_signals_of_lists_are_free_of_scale():
    ids = np.array([[1, 2, 3, 4], [5, 6, -1, -1], [7, -1, -1, -1], [-1, -1, -1, -1], [1, 2, 3, -1]], np.int32)
    scores = np.array([[9, 7, 4, 1], [3, 2, 0, 0], [5, 0, 0, 0], [0, 0, 0, 0], [2, 2, 2, 0]], np.float32)
    scores = np.where(ids < 0, -np.inf, scores).astype(np.float32)
    for name, signal in OURS.items():
        found = signal(Hits(ids, scores))
        wanted = [LIST_SIGNALS[name](row[row > -np.inf].tolist()) for row in scores]
        assert found == pytest.approx(wanted)
        assert signal(Hits(ids, scores * np.float32(8))) == pytest.approx(found)
        assert (found[3:] == 0).all()


# -- odd questions and refusals --------------------------------------------------------------------


def test_blank_repeated_and_lost_questions(small):
    lost = QUESTIONS[1]
    engine = Engine(small.snapshot, TextEncoder(), ScriptedGenerator(fail=[lost]))
    batch = engine.search(["", QUESTIONS[0], lost, QUESTIONS[0], "  "], TWO)
    assert batch.ids[0] == batch.ids[4] == ()
    assert batch.ids[1] == batch.ids[3]
    assert batch.ids[2] == engine.search([lost], replace(HYBRID, name="base")).ids[0]
    assert batch.lengths[2].tolist() == [60, 60, -1, -1, -1, -1]
    assert engine.search([""], TWO).ids == ((),)
    assert engine.search(["zzz"], HYBRID).hits.counts.tolist() == [10]


def test_an_empty_store(tmp_path):
    with MemoryStore.create(tmp_path / "empty", encoder=TextEncoder()) as store:
        batch = Engine(store, generator=ScriptedGenerator()).search(QUESTIONS, TWO)
    assert batch.ids == ((),) * len(QUESTIONS)


@pytest.mark.parametrize(
    ("choices", "error", "message"),
    [
        ({"fusion": "sum"}, InvalidInputError, "fusion must be one of rrf, zscore, minmax; got 'sum'"),
        ({"weights": {"*": -1}}, InvalidInputError, r"weights\['\*'\] must be a finite number from 0"),
        ({"weights": {"question *": 0}}, InvalidInputError, "leave at least one list of the question"),
        ({"weights": [1, 2]}, InvalidTypeError, "weights must map names of lists to numbers"),
        ({"weights": 3}, InvalidTypeError, "weights must map names of lists to numbers"),
        ({"weigh_by": "luck"}, InvalidInputError, "weigh_by must be one of drop, gap, spread, peak"),
    ],
)
def test_refuses_by_name(choices, error, message):
    with pytest.raises(error, match=message):
        get_method("traces", **choices)


def test_a_single_list_has_nothing_to_fuse():
    with pytest.raises(InvalidInputError, match="Dense-Only has no 'fusion'"):
        get_method("dense", fusion="zscore")


def test_score_rows_need_an_exact_index(small):
    engine = Engine(small.snapshot, TextEncoder(), factory="HNSW8")
    assert engine.search(QUESTIONS[:1], "hybrid").ids
    with pytest.raises(InvalidInputError, match="scores of every document, which needs factory 'Flat'"):
        engine.search(QUESTIONS[:1], HYBRID)
