"""sqe+ and hybrid+ asked oddly: tiny stores, blanks, repeats, one question at a time, any chunks."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.small import WORDS, ScriptedGenerator, TextEncoder

pytest.importorskip("faiss")

from sqe_fast._engine.searcher import Searcher
from sqe_fast.engine import Engine
from sqe_fast.gate import evidence
from sqe_fast.store import MemoryStore

METHODS = ("hybrid+", "sqe+")
QUESTIONS = [f"why did the {one} fail after the {other}" for one in WORDS[:6] for other in WORDS[7:11]]
ODD = ["", QUESTIONS[0], QUESTIONS[0], "   ", "words that nothing holds", QUESTIONS[1], QUESTIONS[0]]


@pytest.fixture
def make(tmp_path):
    """From a number of episodes to an engine over a store of them."""
    stores = []

    def engine(n, chunk=1024, threads=None):
        store = MemoryStore.create(tmp_path / str(len(stores)), encoder=TextEncoder())
        stores.append(store)
        texts = [f"step {i}: {WORDS[i % 14]} {WORDS[(i * 5 + 3) % 14]} failed" for i in range(n)]
        store.add({"id": f"e{i}", "text": text} for i, text in enumerate(texts))
        store.commit()
        return Engine(store, generator=ScriptedGenerator(), chunk=chunk, threads=threads)

    yield engine
    for store in stores:
        store.close()


def told(batch):
    """What a batch tells of each question, its costs too."""
    ids, scores = batch.ids, [row.tolist() for row in batch.hits.scores]
    calls = batch.usage.calls.tolist()
    columns = (ids, scores, batch.gated.tolist(), batch.refused, batch.problems, calls)
    return list(zip(*columns, strict=True))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_tiny_stores(make, method, n):
    batch = make(n).search(ODD, method)
    for question, row, problem in zip(ODD, batch.ids, batch.problems, strict=True):
        blank = not question.strip()
        assert len(row) == (0 if blank else min(5, n))
        assert len(set(row)) == len(row)
        assert (problem is not None) == (blank or n == 0)
    assert batch.ids[1] == batch.ids[2] == batch.ids[6]
    assert not np.isnan(batch.signals["top1"]).any()
    assert not batch.gated[[0, 3]].any()
    assert n or not batch.gated.any()


@pytest.mark.parametrize("method", METHODS)
def test_nothing_at_all_is_asked(make, method):
    assert len(make(9).search([], method)) == 0


@pytest.mark.parametrize("chunk", [1, 2, 7])
@pytest.mark.parametrize("method", METHODS)
def test_chunks_and_threads_do_not_count(make, method, chunk):
    whole = told(make(60).search(QUESTIONS, method))
    assert told(make(60, chunk, threads=1).search(QUESTIONS, method)) == whole


def test_the_order_counts_for_the_gate_alone(make):
    """The stream decides in order; what a question is answered, expanded or not, is its own."""
    engine = make(60)
    turned = engine.search(QUESTIONS[::-1], "sqe+")
    batch = engine.search(QUESTIONS, "sqe+")
    both = 0
    for one, other in zip(told(batch), told(turned)[::-1], strict=True):
        if one[2] == other[2]:
            assert one == other
            both += 1
    assert both > len(QUESTIONS) / 2
    assert batch.signals["fused_spread"].tolist() == turned.signals["fused_spread"][::-1].tolist()


def test_one_alone_is_the_first_of_many(make):
    engine = make(60)
    assert told(engine.search(QUESTIONS[:1], "sqe+")) == told(engine.search(QUESTIONS, "sqe+"))[:1]


@pytest.mark.parametrize("room", [2**26, 1])
def test_rows_that_the_gate_needed_are_not_made_again(make, monkeypatch, room):
    """Where they take little memory; where they do not, they are, and nothing else changes."""
    scored = []
    rows = Searcher.dense_rows

    def counted(self, vectors):
        scored.append(len(vectors))
        return rows(self, vectors)

    expected = told(make(60).search(ODD + QUESTIONS, "sqe+"))
    monkeypatch.setattr(Searcher, "dense_rows", counted)
    monkeypatch.setattr(evidence, "_BLOCK_BYTES", room)
    batch = make(60).search(ODD + QUESTIONS, "sqe+")
    assert told(batch) == expected
    distinct = len({question for question in ODD + QUESTIONS if question.strip()})
    accepted = len({q for q, yes in zip(ODD + QUESTIONS, batch.expanded, strict=True) if yes})
    assert sum(scored) == distinct * (1 if room > 1 else 2) + accepted
