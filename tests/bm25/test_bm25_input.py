"""Arguments that are wrong, and edge cases that are not."""

from __future__ import annotations

import numpy as np
import pytest

from sqe_fast.bm25 import BM25Index
from sqe_fast.errors import InvalidInputError, InvalidTypeError, SqeFastError
from tests.bm25 import corpora

CALLS = {
    "build": BM25Index.build,
    "add": lambda texts: BM25Index.build(["a"]).add(texts),
    "search": lambda texts: BM25Index.build(["a"]).search(texts),
    "score_rows": lambda texts: BM25Index.build(["a"]).score_rows(texts),
}


def argument_of(name):
    return "texts" if name in ("build", "add") else "queries"


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("wrong", ["one text", "", b"bytes"])
def test_one_text_instead_of_a_list(name, wrong):
    message = f"^{argument_of(name)} must be a list of str, not one {type(wrong).__name__}; for one text pass"
    with pytest.raises(InvalidTypeError, match=message):
        CALLS[name](wrong)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("wrong", [None, 3, 2.5, object()])
def test_no_iterable(name, wrong):
    with pytest.raises(InvalidTypeError, match=f"^{argument_of(name)} must be an iterable of str; got"):
        CALLS[name](wrong)


@pytest.mark.parametrize(
    ("k", "error"),
    [
        (0, InvalidInputError),
        (-1, InvalidInputError),
        (2**31, InvalidInputError),
        (10**30, InvalidInputError),
        (True, InvalidTypeError),
        (np.True_, InvalidTypeError),
        (2.5, InvalidTypeError),
        (2.0, InvalidTypeError),
        ("3", InvalidTypeError),
        (None, InvalidTypeError),
        (np.array([3]), InvalidTypeError),
    ],
)
def test_k(k, error):
    with pytest.raises(error, match=r"^k must be "):
        BM25Index.build(["a"]).search(["a"], k=k)


def test_k_of_other_integer_types():
    assert BM25Index.build(["a"]).search(["a"], k=np.int8(3)).ids.tolist() == [[0, -1, -1]]


@pytest.mark.parametrize("threads", [0, -1, 1025, True, 1.0, "2"])
def test_threads(threads, tmp_path):
    index = BM25Index.build(["a"])
    index.save(tmp_path / "index")
    for call in (
        lambda: BM25Index.build(["a"], threads=threads),
        lambda: index.search(["a"], threads=threads),
        lambda: index.score_rows(["a"], threads=threads),
        lambda: index.add(["a"], threads=threads),
        lambda: index.delete([0], threads=threads),
        lambda: BM25Index.load(tmp_path / "index", threads=threads),
    ):
        with pytest.raises(SqeFastError, match=r"^threads must be "):
            call()
    assert len(index) == 1


@pytest.mark.parametrize("tokenizer", ["english", "Whitespace", "", "<callable>", "<tokens>"])
def test_unknown_tokenizer(tokenizer):
    with pytest.raises(InvalidInputError, match=r"^tokenizer must be one of whitespace, code, word; got"):
        BM25Index.build(["a"], tokenizer)


@pytest.mark.parametrize("tokenizer", [3, b"code", ["code"], False])
def test_tokenizer_of_another_type(tokenizer):
    with pytest.raises(InvalidTypeError, match=r"^tokenizer must be one of"):
        BM25Index.build(["a"], tokenizer)


@pytest.mark.parametrize("method", ["idf", "document_frequencies"])
def test_tokens_of_the_statistics(method):
    call = getattr(BM25Index.build(["a b", "b"]), method)
    assert call([]).shape == (0,)
    assert call(("a", "b")).shape == (2,)
    for wrong in ("ab", b"ab", None, 3, ["a", 3], [None]):
        with pytest.raises(InvalidTypeError, match=r"^tokens must "):
            call(wrong)


def test_no_documents_no_queries_no_tokens():
    for texts in ([], [""], ["", " \n", ""], ["a"]):
        for variant in corpora.VARIANTS:
            index = BM25Index.build(texts, variant=variant)
            assert index.score_rows([]).shape == (0, len(texts))
            assert index.search([], k=3).ids.shape == (0, 3)
            hits = index.search(["", "zzz", " "], k=3)
            assert hits.ids.tolist() == [[-1] * 3] * 3
            assert np.isneginf(hits.scores).all()
            assert not index.score_rows(["", "zzz"]).any()
            assert f"BM25Index({len(texts)} documents" in repr(index)


def test_results_have_their_documented_types():
    index = BM25Index.build(["a b", "b c"])
    hits = index.search(["a", "b"], k=5)
    assert (hits.ids.dtype, hits.scores.dtype, hits.ids.shape) == (np.int32, np.float32, (2, 5))
    assert index.score_rows(["a"]).dtype == np.float32
    assert index.idf(["a"]).dtype == np.float32
    assert index.document_frequencies(["a"]).dtype == np.int32
    info = index.info
    assert (info["n_docs"], info["n_tokens"], info["n_terms"], info["n_postings"]) == (2, 4, 3, 4)
    assert info["nbytes"] > 0


def test_a_query_of_one_word_thousands_of_times():
    index = BM25Index.build(["a b", "b c", "c"], variant="lucene")
    once, often = index.score_rows(["a", "a " * 70_000])
    np.testing.assert_allclose(often, 70_000 * once, rtol=1e-6)


def test_str_subclasses_are_str():
    class Text(str):
        __slots__ = ()

    index = BM25Index.build([Text("a b"), "b"])
    assert index.search([Text("a")], k=1).ids.tolist() == [[0]]
