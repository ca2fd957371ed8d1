"""Top-k is exact: the sorted score rows, for every path that search can take and every way to run it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqe_fast import _core
from tests.bm25 import corpora

LENGTHS = {0: 1, 1: 6, 8: 12, 80: 5, 500: 2}  # tokens of a query: how many queries


def mixed_queries(texts, seed=0):
    return [q for length, count in LENGTHS.items() for q in corpora.queries_of(texts, length, count, seed)]


def ks_of(n_docs):
    return [1, 3, 10, 100, max(n_docs, 1), n_docs + 7]


CORPORA = {
    "one": lambda: ["w1 w2 w1"],
    "few": lambda: corpora.zipf_texts(9, seed=1, vocabulary=20),
    "zipf": lambda: corpora.zipf_texts(1300, seed=2, vocabulary=400),
    "heavy": lambda: corpora.zipf_texts(1100, seed=3, vocabulary=60, skew=1.05, mean_length=60),
    "tied": lambda: corpora.tied_texts(1200, seed=4),
    "repeating": lambda: corpora.repeating_texts(700, seed=5),
    "all equal": lambda: ["w1 w2 w3"] * 600,
    "all empty": lambda: [""] * 300,
}


@pytest.mark.parametrize("block_docs", [1, 64, 256, 300, 65536])
@pytest.mark.parametrize("kind", CORPORA)
def test_top_k_is_the_sorted_score_rows(kind, block_docs):
    texts = CORPORA[kind]()
    if block_docs == 1:
        texts = texts[:150]
    present = corpora.Presence(texts)
    queries = mixed_queries(texts)
    for variant in corpora.VARIANTS:
        index = corpora.build_in_blocks(texts, block_docs, variant=variant)
        corpora.expect_top(index, queries, ks_of(len(texts)), present)


@pytest.mark.parametrize("block_docs", [4096, 65536])
@pytest.mark.parametrize(("variant", "seed"), [("okapi", 6), ("lucene", 7), ("bm25+", 8)])
def test_twenty_thousand_documents(variant, seed, block_docs):
    """Blocks large enough for bitmaps, look-ups, folding and the change to dense sums."""
    texts = corpora.zipf_texts(20_000, seed, vocabulary=2000, mean_length=15)
    present = corpora.Presence(texts)
    index = corpora.build_in_blocks(texts, block_docs, variant=variant)
    corpora.expect_top(index, mixed_queries(texts, seed), [1, 3, 10, 100, 20_007], present)


@pytest.mark.parametrize("kind", ["zipf", "tied", "heavy"])
def test_block_size_does_not_matter(kind):
    texts = CORPORA[kind]()
    queries = mixed_queries(texts)
    whole = corpora.build_in_blocks(texts, 65536)
    for block_docs in (17, 64, 256, 1000):
        index = corpora.build_in_blocks(texts, block_docs)
        assert index.info["n_blocks"] >= len(texts) / block_docs
        corpora.same_results(index, whole, queries)


@pytest.mark.parametrize("variant", ["okapi", "lucene"])
def test_neither_threads_nor_instruction_set_matter(variant):
    texts = corpora.zipf_texts(3000, seed=9, vocabulary=500)
    queries = mixed_queries(texts) * 3
    index = corpora.build_in_blocks(texts, 700, variant=variant)
    before = _core.isa()
    answers = []
    try:
        for level in _core.isa_levels():
            _core.set_isa(level)
            for threads in (1, 2, 5):
                found = [index.search(queries, k, threads=threads) for k in (1, 10, 3007)]
                answers.append([index.score_rows(queries, threads=threads), *found])
    finally:
        _core.set_isa(before)
    for rows, *found in answers[1:]:
        assert rows.tobytes() == answers[0][0].tobytes()
        for hits, first in zip(found, answers[0][1:], strict=True):
            assert hits.ids.tobytes() == first.ids.tobytes()
            assert hits.scores.tobytes() == first.scores.tobytes()


@pytest.mark.parametrize("level", _core.isa_levels())
def test_every_level_is_exact_on_dense_blocks(level):
    texts = corpora.zipf_texts(6000, seed=10, vocabulary=300, skew=1.05)
    index = corpora.build_in_blocks(texts, 2500, variant="lucene")
    before = _core.isa()
    _core.set_isa(level)
    try:
        corpora.expect_top(index, mixed_queries(texts), [1, 10, 100], corpora.Presence(texts))
    finally:
        _core.set_isa(before)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 900),
    st.integers(2, 120),
    st.integers(1, 40),
    st.sampled_from([16, 256, 400, 65536]),
    st.sampled_from(corpora.VARIANTS),
    st.sampled_from([1.02, 1.2, 2.0]),
)
def test_any_corpus(seed, n_docs, vocabulary, mean_length, block_docs, variant, skew):
    texts = corpora.zipf_texts(n_docs, seed, vocabulary, skew, mean_length)
    index = corpora.build_in_blocks(texts, block_docs, variant=variant, b=0.0 if seed % 5 == 0 else 0.75)
    queries = corpora.queries_of(texts, 1 + seed % 30, 4, seed)
    corpora.expect_top(index, queries, [1, 3, 10, n_docs], corpora.Presence(texts))


def test_a_good_late_document_is_found():
    """The best documents stand in the last block, behind thousands that look nearly as good."""
    rng = np.random.default_rng(0)
    texts = [f"w{rng.integers(30)} w{rng.integers(30)} common" for _ in range(5000)]
    texts += ["w1 w2 common", "rare w1 w2 common", "rare rare w1"]
    for block_docs in (256, 1000, 65536):
        index = corpora.build_in_blocks(texts, block_docs, variant="lucene")
        assert sorted(index.search(["common w1 w2 rare"], k=2).ids[0].tolist()) == [5001, 5002]
        corpora.expect_top(index, ["common w1 w2 rare", "common rare"], [1, 2, 10], corpora.Presence(texts))


def test_ties_at_the_cut_go_to_the_first_rows():
    texts = ["b", "a b"] * 3000
    for block_docs in (100, 256, 65536):
        for variant in corpora.VARIANTS:
            hits = corpora.build_in_blocks(texts, block_docs, variant=variant).search(["a", "a zzz"], k=10)
            assert hits.ids.tolist() == [list(range(1, 21, 2))] * 2
