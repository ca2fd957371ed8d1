"""Every variant against the plain oracle, and its parameters."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqe_fast.bm25 import BM25Index
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from tests.bm25 import corpora
from tests.oracles import bm25 as oracle

VARIANT = st.sampled_from(corpora.VARIANTS)
LIMIT = 1e6


@st.composite
def parameters(draw):
    variant = draw(VARIANT)
    chosen = {
        "k1": draw(st.sampled_from([0.0, 1e-9, 1.2, 1.5, LIMIT]) | st.floats(0, 10)),
        "b": draw(st.sampled_from([0.0, 1.0, 0.75]) | st.floats(0, 1)),
        "epsilon": draw(st.sampled_from([0.0, 5e-324, 1e-300, 1e-40, 0.25, LIMIT])),
    }
    if variant in ("bm25l", "bm25+"):
        chosen["delta"] = draw(st.sampled_from([None, 0.0, 1e-300, 0.5, LIMIT]))
    return variant, chosen


@settings(deadline=None, max_examples=300)
@given(
    st.lists(st.lists(st.sampled_from("abcdef"), max_size=9), max_size=12),
    st.lists(st.lists(st.sampled_from("abcdefg"), max_size=9), min_size=1, max_size=3),
    parameters(),
)
def test_any_parameters_on_any_small_corpus(documents, queries, chosen):
    variant, parameters = chosen
    index = BM25Index.build(documents, tokenizer=None, variant=variant, **parameters)
    corpora.expect_scores(index, documents, queries, variant, **parameters)
    plain = oracle.Oracle(documents, variant, **parameters)
    rows = index.score_rows(queries)
    hits = index.search(queries, k=4)
    for query, row, ids, scores in zip(queries, rows, hits.ids, hits.scores, strict=True):
        holds = plain.row(query)[2]
        assert np.isfinite(row).all()
        assert not np.signbit(row[~holds]).any()
        wanted_ids, wanted_scores = oracle.top(row, holds, 4)
        assert ids.tolist() == wanted_ids
        assert scores.tolist() == wanted_scores


@pytest.mark.parametrize("variant", corpora.VARIANTS)
@pytest.mark.parametrize("block_docs", [64, 65536])
def test_long_tailed_corpus(variant, block_docs):
    texts = corpora.zipf_texts(1500, seed=3)
    documents = [text.split() for text in texts]
    for parameters in ({}, {"k1": 0.0}, {"b": 0.0}, {"b": 1.0, "k1": 0.4}):
        index = corpora.build_in_blocks(texts, block_docs, variant=variant, **parameters)
        plain = oracle.Oracle(documents, variant, **parameters)
        queries = [*corpora.queries_of(texts, 8, 6), *corpora.queries_of(texts, 200, 2)]
        for query, got in zip(queries, index.score_rows(queries), strict=True):
            score, size, _ = plain.row(query.split())
            assert oracle.close(got, score, size)


@pytest.mark.parametrize("variant", corpora.VARIANTS)
def test_idf_and_document_frequency(variant):
    documents = [["a", "a", "b"], ["a", "c"], ["a", "b", "d"]]
    index = BM25Index.build(documents, tokenizer=None, variant=variant)
    plain = oracle.Oracle(documents, variant)
    np.testing.assert_allclose(index.idf(list("abcdz")), [plain.idf(t) for t in "abcdz"], rtol=1e-6)


@pytest.mark.parametrize("variant", corpora.VARIANTS)
def test_a_match_is_a_hit_whatever_its_score(variant):
    """Scores of 0, below it, and too small for a usual float."""
    for epsilon in (0.0, 5e-324, 1e-320, 1e-44, 1e-40, 1e-38, 0.25):
        for texts in (["a", "a b", "a c"], ["a x y z", "a b", "a c", "q r s t u v w"], ["a"], ["a", "b"]):
            index = BM25Index.build(texts, variant=variant, epsilon=epsilon)
            hits = index.search(["a", "a a unknown"], k=9)
            held = sum("a" in text.split() for text in texts)
            assert hits.counts.tolist() == [held, held]
            assert (np.diff(hits.scores[:, :held]) <= 0).all()


BAD = {
    "k1": [-1e-9, LIMIT + 1, math.nan, math.inf, -math.inf, 10**400, -(10**400)],
    "b": [-0.1, 1.0000001, math.nan, math.inf],
    "epsilon": [-1, LIMIT * 1.01, math.nan, math.inf],
    "delta": [-1, LIMIT * 1.01, math.nan, -math.inf],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD.items() for value in values]
)
def test_parameters_out_of_range_are_refused_by_name(name, value):
    with pytest.raises(InvalidInputError, match=f"^{name} must be a finite number from 0 to"):
        BM25Index.build(["a"], variant="bm25+", **{name: value})


@pytest.mark.parametrize("name", list(BAD))
@pytest.mark.parametrize("value", [True, np.True_, "1", b"1", [1.0], 1j, {}])
def test_parameters_of_another_type_are_refused_by_name(name, value):
    with pytest.raises(InvalidTypeError, match=f"^{name} must be a number; got"):
        BM25Index.build(["a"], variant="bm25l", **{name: value})


def test_numbers_of_other_types_are_taken():
    index = BM25Index.build(["a"], k1=np.float32(1.25), b=np.int64(1), epsilon=1)
    assert (index.info["k1"], index.info["b"], index.info["epsilon"]) == (1.25, 1.0, 1.0)


@pytest.mark.parametrize("variant", ["okapi", "lucene", "atire"])
def test_delta_without_a_use_is_refused(variant):
    with pytest.raises(InvalidInputError, match="delta is used by bm25l and bm25\\+ only"):
        BM25Index.build(["a"], variant=variant, delta=0.0)


@pytest.mark.parametrize("value", ["Okapi", "bm25", "", None, 3])
def test_unknown_variant(value):
    with pytest.raises((InvalidInputError, InvalidTypeError), match=r"^variant must be one of okapi, lucene"):
        BM25Index.build(["a"], variant=value)
