"""`okapi` against rank_bm25 0.2.2 itself, to 1e-5 of the score of every document."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from sqe_fast.bm25 import BM25Index
from tests.bm25 import corpora
from tests.oracles import bm25 as oracle

WORD = st.sampled_from("abcdef")
DOCUMENTS = st.lists(st.lists(WORD, max_size=12), min_size=1, max_size=12).filter(any)


def expect_rank_bm25(documents, queries, **settings):
    """Compare every score; what rank_bm25 itself loses where values of both signs cancel is allowed for."""
    theirs = BM25Okapi(documents, **settings)
    plain = oracle.Oracle(documents, **settings)
    rows = BM25Index.build(documents, tokenizer=None, **settings).score_rows(queries)
    for query, got in zip(queries, rows, strict=True):
        # rank_bm25's mean idf is rounding where idfs cancel; its error reaches each score by these terms.
        noise = 1e-15 * settings.get("epsilon", 0.25) * max(map(abs, theirs.idf.values())) * len(theirs.idf)
        size = plain.row(query)[1]
        with np.errstate(invalid="ignore"):
            wanted = theirs.get_scores(query)
        # It divides 0 by 0 for a document without the token where k1 is 0, and for an empty one where b is 1.
        wanted = np.where(np.isnan(wanted), got, wanted)
        slack = 1e-12 * size + noise * len(query) * (theirs.k1 + 1)
        assert np.all(np.abs(got - wanted) <= 1e-5 * np.abs(wanted) + slack), (query, got, wanted)


@settings(deadline=None, max_examples=300)
@given(
    DOCUMENTS,
    st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=15), min_size=1, max_size=4),
    st.sampled_from([0.0, 0.5, 1.5, 8.0]),
    st.sampled_from([0.0, 0.3, 0.75, 1.0]),
    st.sampled_from([0.0, 0.25, 1.0, 3.0]),
)
def test_any_small_corpus(documents, queries, k1, b, epsilon):
    expect_rank_bm25(documents, queries, k1=k1, b=b, epsilon=epsilon)


def test_idf_of_every_sign_and_its_floor():
    documents = [["a", "b"], ["a", "c"], ["a", "b", "d"], ["a"]]
    theirs = BM25Okapi(documents)
    index = BM25Index.build(documents, tokenizer=None)
    assert theirs.idf["b"] == 0
    np.testing.assert_allclose(index.idf(list("abcd")), [theirs.idf[t] for t in "abcd"], rtol=1e-6)
    assert index.document_frequencies([*"abcd", "z"]).tolist() == [4, 2, 1, 1, 0]
    assert index.idf(["z"]).tolist() == [0]


@pytest.mark.parametrize("length", [100, 159, 160, 161, 500, 1500])
def test_long_queries_keep_five_digits(length):
    """Equal float values added up hundreds of times all round to one side."""
    words = [f"w{number}" for number in range(length)]
    for others in (3, 20, 101, 333):
        documents = [words, *([f"z{number}"] * (number % 5 + 1) for number in range(others))]
        expect_rank_bm25(documents, [words, words[::2] + words])


def test_long_queries_with_a_negative_idf():
    documents = [["the", *(f"w{i}" for i in range(n, n + 40))] for n in range(60)]
    query = ["the"] * 50 + [f"w{i}" for i in range(0, 100, 3)] * 4
    expect_rank_bm25(documents, [query, ["the"], ["w3", "the"]], epsilon=-0.0)
    expect_rank_bm25(documents, [query, ["the"], ["w3", "the"]])


@pytest.mark.parametrize("name", ["cranfield", pytest.param("cosqa", marks=pytest.mark.slow)])
def test_real_corpus(shared_data: Path, name):
    texts, queries = corpora.read_ir_set(shared_data / "ir" / name)
    documents = [text.lower().split() for text in texts]
    queries = queries[:40] + [" ".join(texts[row].split()[:300]) for row in (1, 2)]
    theirs = BM25Okapi(documents)
    rows = BM25Index.build(texts).score_rows(queries)
    for query, got in zip(queries, rows, strict=True):
        np.testing.assert_allclose(got, theirs.get_scores(query.lower().split()), rtol=1e-5)
