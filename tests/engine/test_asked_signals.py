"""Signals that a caller asks the engine for: what they are, and that they change nothing."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("faiss")

from oracles.small import WORDS, ScriptedGenerator, TextEncoder, small_store

from sqe_fast.engine import Engine
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.gate import DENSE_SIGNALS, SIGNALS, Corpus, Evidence, compute_signals
from sqe_fast.store import MemoryStore

QUESTIONS = [f"where is the {a} of the {b}" for a in WORDS[:5] for b in WORDS[5:8]]
ASKED = [QUESTIONS[0], "", QUESTIONS[1], QUESTIONS[0], "zzz", *QUESTIONS[2:]]


@pytest.fixture
def encoder():
    return TextEncoder()


@pytest.fixture
def store(tmp_path, encoder):
    with small_store(tmp_path / "memory", encoder) as store:
        encoder.calls.clear()
        yield store


def same(first, second):
    assert first.ids == second.ids
    assert np.array_equal(first.hits.scores, second.hits.scores)
    assert np.array_equal(first.lengths, second.lengths)
    assert first.gated.tolist() == second.gated.tolist()


def test_they_are_those_of_the_evidence(store, encoder):
    from sqe_fast.dense import DenseIndex

    batch = Engine(store).search(QUESTIONS, "dense", signals=SIGNALS)
    assert set(batch.signals) == set(SIGNALS)
    snapshot = store.snapshot
    dense = DenseIndex.build(snapshot.vectors)
    queries = encoder.encode(QUESTIONS, "query")
    evidence = Evidence(
        dense.search(queries, 20),
        snapshot.bm25.search(QUESTIONS, 20),
        questions=QUESTIONS,
        queries=queries,
        corpus=Corpus(snapshot.vectors, snapshot.bm25, dense.search, dense.scores),
    )
    for name, values in compute_signals(SIGNALS, evidence).items():
        assert np.array_equal(batch.signals[name], values), name


@pytest.mark.parametrize("method", ["dense", "bm25", "hybrid", "sqe", "always"])
def test_they_change_no_answer(store, method):
    engine = Engine(store, generator=ScriptedGenerator())
    plain = engine.search(ASKED, method, k=3)
    told = engine.search(ASKED, method, k=3, signals=SIGNALS)
    same(plain, told)
    assert set(plain.signals) <= set(told.signals) == set(SIGNALS)
    for name, values in plain.signals.items():
        assert np.array_equal(values, told.signals[name])


def test_chunks_repeats_and_blanks(store):
    whole = Engine(store).search(ASKED, "hybrid", signals=SIGNALS).signals
    assert not any(np.isnan(values).any() for values in whole.values())
    assert all(values[0] == values[3] for values in whole.values())
    for chunk in (1, 2, 7):
        parts = Engine(store, chunk=chunk).search(ASKED, "hybrid", signals=SIGNALS).signals
        for name, values in whole.items():
            assert np.array_equal(parts[name], values), (name, chunk)
    alone = Engine(store).search(ASKED, "dense", signals=["rbo"]).signals
    assert np.array_equal(alone["rbo"], whole["rbo"])


def test_only_what_they_need_is_looked_up(store, encoder):
    batch = Engine(store).search(QUESTIONS, "bm25", signals=["oov", "bm25_spread"])
    assert list(batch.signals) == ["oov", "bm25_spread"]
    assert encoder.calls == []
    assert list(Engine(store).search(QUESTIONS, "dense").signals) == list(DENSE_SIGNALS)


def test_several_methods_tell_them_all(store):
    found = Engine(store).search_methods(QUESTIONS, ["dense", "bm25"], signals=["rbo"])
    assert np.array_equal(found["Dense-Only"].signals["rbo"], found["BM25-Only"].signals["rbo"])
    assert "top1" not in found["BM25-Only"].signals


def test_an_empty_store(tmp_path, encoder):
    with MemoryStore.create(tmp_path / "empty", encoder=encoder) as store:
        signals = Engine(store).search(QUESTIONS[:2], "dense", signals=SIGNALS).signals
    assert set(signals) == set(SIGNALS)
    assert not any(np.isnan(values).any() for values in signals.values())
    assert signals["oov"].tolist() == [1, 1]


def test_a_store_without_vectors_has_those_of_words(tmp_path):
    with MemoryStore.create(tmp_path / "words") as store:
        store.add([{"id": "a", "text": "pip failed: no network"}])
        store.commit()
        engine = Engine(store)
        batch = engine.search(["pip crashed", ""], "bm25", signals=["oov", "idf_max", "length", "bm25_top1"])
        assert batch.signals["oov"].tolist() == [0.5, 1]
        assert batch.signals["length"].tolist() == [2, 0]
        with pytest.raises(InvalidInputError, match="a signal of dense lists needs vectors"):
            engine.search(["pip"], "bm25", signals=["spread"])


def test_refuses_names(store):
    engine = Engine(store)
    with pytest.raises(InvalidInputError, match=r"signals must be one of top1, .*got 'top2'"):
        engine.search(QUESTIONS, "dense", signals=["top2"])
    with pytest.raises(InvalidTypeError, match="signals must be a list of str, not one str"):
        engine.search(QUESTIONS, "dense", signals="top1")
