"""Every signal against plain Python, on lists of any shape; laws that all of them keep."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import signals as plain

pytest.importorskip("faiss")

from sqe_fast.bm25 import BM25Index
from sqe_fast.dense import DenseIndex
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.gate import DENSE_SIGNALS, SIGNALS, Corpus, Evidence, compute_signals
from sqe_fast.gate.signals import Signal
from sqe_fast.hits import Hits

DIM, DOCUMENTS = 6, 24
WORDS = ["cache", "retry", "lint", "parse", "commit", "branch", "socket"]
LISTS = [name for name, signal in SIGNALS.items() if signal.needs <= {"dense", "bm25"}]


def hits_of(lists, depth):
    ids = np.full((len(lists), depth), -1, np.int32)
    scores = np.full((len(lists), depth), -np.inf, np.float32)
    for row, pairs in enumerate(lists):
        for column, (one, score) in enumerate(pairs):
            ids[row, column], scores[row, column] = one, score
    return Hits(ids, scores)


@st.composite
def ranked(draw, most=22):
    scores = draw(st.lists(st.floats(-1, 1, width=32), max_size=most))
    ids = draw(st.permutations(range(DOCUMENTS)))[: len(scores)]
    return list(zip(ids, sorted(scores, reverse=True), strict=True))


def store(n, seed=1):
    """A store of n documents with vectors far apart, as an Evidence's corpus and as the oracle's."""
    rng = np.random.default_rng(seed)
    vectors = (rng.standard_normal((n, DIM)) + 0.4).astype(np.float16)
    texts = [" ".join(rng.choice(WORDS, 5)) for _ in range(n)]
    index = BM25Index.build(texts, variant="lucene")
    dense = DenseIndex.build(vectors, dim=DIM)
    return SimpleNamespace(
        corpus=Corpus(vectors, index, dense.search, dense.scores),
        dense=dense,
        bm25=index,
        plain=plain.Store(vectors.astype(float), texts),
    )


CORPUS = store(DOCUMENTS)
QUESTIONS = ["cache retry cache", "zzz lint", "parse the commit", "qqq", "branch socket lint retry parse", ""]


def evidence_of(of, questions, depth=24, seed=2):
    """Real lists of real vectors; the blank question has none."""
    rng = np.random.default_rng(seed)
    queries = rng.standard_normal((len(questions), DIM)).astype(np.float32)
    blank = np.array([not question for question in questions], bool)
    queries[blank] = 0
    found = of.dense.search(queries, depth)
    found.ids[blank], found.scores[blank] = -1, -np.inf
    return Evidence(
        found, of.bm25.search(questions, depth), questions=questions, queries=queries, corpus=of.corpus
    )


def compare(evidence, of, tolerance=2e-5):
    found = compute_signals(SIGNALS, evidence)
    assert list(found) == list(SIGNALS)
    for row, question in enumerate(evidence.questions):
        one = SimpleNamespace(
            dense=[(int(i), float(s)) for i, s in zip(*list(evidence.dense)[row], strict=True)],
            bm25=[(int(i), float(s)) for i, s in zip(*list(evidence.bm25)[row], strict=True)],
            vector=evidence.queries[row].astype(float).tolist(),
            text=question,
            store=of.plain,
        )
        for name, values in found.items():
            assert values.dtype == np.float32
            wanted = getattr(plain, name)(one)
            assert float(values[row]) == pytest.approx(wanted, abs=tolerance, rel=tolerance), name


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(ranked(), ranked()), max_size=5), st.integers(22, 24))
def test_signals_of_lists_equal_plain_python(pairs, depth):
    dense, bm25 = (hits_of([pair[side] for pair in pairs], depth) for side in (0, 1))
    found = compute_signals(LISTS, dense, bm25)
    for name, values in found.items():
        assert values.dtype == np.float32
        assert values.shape == (len(pairs),)
        wanted = [getattr(plain, name)(SimpleNamespace(dense=d, bm25=b)) for d, b in pairs]
        assert values.tolist() == pytest.approx(wanted, abs=2e-6), name


@pytest.mark.parametrize("n", [24, 7, 2, 1])
def test_every_signal_equals_plain_python_on_a_store(n):
    of = store(n, seed=n)
    compare(evidence_of(of, QUESTIONS, depth=min(24, n), seed=n), of)


@settings(deadline=None, max_examples=25)
@given(ranked(), ranked(), st.integers(0, 2**20))
def test_every_signal_equals_plain_python_on_any_lists(dense, bm25, seed):
    vector = np.random.default_rng(seed).standard_normal((1, DIM)).astype(np.float32)
    evidence = Evidence(
        hits_of([dense], 22),
        hits_of([bm25], 22),
        questions=QUESTIONS[:1],
        queries=vector,
        corpus=CORPUS.corpus,
    )
    # Search would not give such lists: no signal may rely on where they come from.
    compare(evidence, CORPUS)


def test_a_question_without_anything_has_the_values_stated():
    stated = dict.fromkeys(SIGNALS, 0.0)
    stated |= {"top1": -math.inf, "margin": math.inf, "concentration": 1, "coherence": 1, "oov": 1}
    for of, questions in ((CORPUS, [""]), (store(0), [""])):
        found = compute_signals(SIGNALS, evidence_of(of, questions))
        assert {name: float(values[0]) for name, values in found.items()} == stated


def test_no_questions():
    for values in compute_signals(SIGNALS, evidence_of(CORPUS, [])).values():
        assert values.shape == (0,)
        assert values.dtype == np.float32


@settings(deadline=None, max_examples=25)
@given(st.permutations(range(12)), st.integers(1, 12))
def test_neither_order_nor_size_of_a_batch_changes_a_signal(order, cut):
    evidence = evidence_of(CORPUS, QUESTIONS * 2)
    whole = compute_signals(SIGNALS, evidence)

    def part(rows):
        def of(hits):
            return Hits(hits.ids[rows], hits.scores[rows])

        return compute_signals(
            SIGNALS,
            Evidence(
                of(evidence.dense),
                of(evidence.bm25),
                questions=[evidence.questions[row] for row in rows],
                queries=evidence.queries[rows],
                corpus=CORPUS.corpus,
            ),
        )

    for rows in (order[:cut], order[cut:]):
        for name, values in part(rows).items():
            assert values.tolist() == whole[name][rows].tolist(), name


@pytest.mark.parametrize("score", [0.0, -0.5, 3e38, -3e38, 1e-44])
def test_ties_and_huge_scores_are_never_nan(score):
    hits = Hits(np.arange(12, dtype=np.int32)[None], np.full((1, 12), score, np.float32))
    evidence = Evidence(
        hits,
        hits,
        questions=["cache"],
        queries=np.full((1, DIM), 1e18, np.float32),
        corpus=CORPUS.corpus,
    )
    for name, values in compute_signals(SIGNALS, evidence).items():
        assert np.isfinite(values).all(), name
    widest = Hits(np.array([[0, 1]], np.int32), np.array([[3e38, -3e38]], np.float32))
    assert compute_signals(["gap", "margin", "spread"], widest)["gap"].tolist() == [
        float(np.finfo(np.float32).max)
    ]


def test_a_store_that_lies_around_zero_keeps_its_ratios_finite():
    vectors = np.concatenate([np.eye(DIM), -np.eye(DIM)]).astype(np.float32)
    corpus = Corpus(vectors)
    queries = np.eye(DIM, dtype=np.float32)[:1]
    evidence = Evidence(DenseIndex.build(vectors).search(queries, 10), queries=queries, corpus=corpus)
    assert evidence.background.tolist() == [0]
    found = compute_signals(["nqc", "spread"], evidence)
    assert found["nqc"].tolist() == pytest.approx((found["spread"] * 100).tolist())


def test_shallow_lists_are_enough():
    hits = hits_of([[(3, 0.5)], []], 1)
    found = compute_signals(LISTS, hits, hits)
    assert found["top1"].tolist() == [0.5, -math.inf]
    assert found["margin"].tolist() == [math.inf, math.inf]
    for name in ("spread", "gap", "bm25_spread"):
        assert found[name].tolist() == [0, 0]
    assert found["concentration"].tolist() == [1, 1]
    for name in ("agreement", "top1_agreement", "overlap"):
        assert found[name].tolist() == [1, 0]
    assert found["rbo"].tolist() == pytest.approx([1, 0])


def test_rank_biased_overlap_of_equal_and_of_disjoint_lists():
    ids = np.arange(20, dtype=np.int32)[None]
    scores = np.zeros((1, 20), np.float32)
    same = Hits(ids, scores)
    assert compute_signals(["rbo"], same, same)["rbo"].tolist() == pytest.approx([1])
    assert compute_signals(["rbo"], same, Hits(ids + 20, scores))["rbo"].tolist() == [0]


def test_only_what_a_signal_needs_is_looked_at():
    def fails(*_):
        raise AssertionError("not needed")

    hits = hits_of([[(3, 0.5), (1, 0.25)]], 2)
    corpus = Corpus(np.eye(DIM, dtype=np.float32), fails, fails)
    evidence = Evidence(hits, questions=["cache"], queries=np.ones((1, DIM), np.float32), corpus=corpus)
    found = compute_signals([*DENSE_SIGNALS, "nqc", "wig", "smv", "coherence"], evidence)
    assert all(np.isfinite(values).all() for values in found.values())
    with pytest.raises(AssertionError, match="not needed"):
        compute_signals(["oov"], evidence)


def test_ready_tokens_are_taken_as_they_are():
    index = BM25Index.build([["red", "fish"], ["blue"]], tokenizer=None)
    evidence = Evidence(questions=[("red", "cat"), ()], corpus=Corpus(words=index))
    found = compute_signals(["oov", "length"], evidence)
    assert found["oov"].tolist() == [0.5, 1]
    assert found["length"].tolist() == [2, 0]


def test_what_each_signal_needs():
    assert DENSE_SIGNALS == ("top1", "margin", "spread", "gap", "concentration")
    assert SIGNALS["agreement"].needs_bm25
    assert SIGNALS["agreement"].indexes == {"dense", "bm25"}
    assert SIGNALS["stability"].indexes == {"dense"}
    assert SIGNALS["bm25_top1"].indexes == {"bm25"}
    assert SIGNALS["oov"].indexes == set()
    assert Signal("own", lambda evidence: evidence, 3).needs == {"dense"}


def test_refuses():
    hits = hits_of([[(3, 0.5)]], 1)
    with pytest.raises(InvalidInputError, match="signal must be one of top1"):
        compute_signals(["top2"], hits)
    with pytest.raises(InvalidTypeError, match="signal must be one of top1"):
        compute_signals([1], hits)
    with pytest.raises(InvalidInputError, match="'agreement' needs the BM25 hits of the questions"):
        compute_signals(["agreement"], hits)
    with pytest.raises(InvalidInputError, match="'coherence' needs a Corpus with 'documents'"):
        compute_signals(["coherence"], hits)
    with pytest.raises(InvalidInputError, match="'oov' needs the texts of the questions"):
        compute_signals(["oov"], Evidence(corpus=CORPUS.corpus))
    with pytest.raises(InvalidInputError, match="of one length; got 1 and 2"):
        compute_signals(["agreement"], hits, hits_of([[], []], 1))
    with pytest.raises(InvalidInputError, match="bm25 goes into the Evidence"):
        compute_signals(["top1"], Evidence(hits), hits)
