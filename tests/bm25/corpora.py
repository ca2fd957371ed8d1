"""Corpora, queries and checks that the BM25 tests share."""

from __future__ import annotations

import json

import numpy as np

from sqe_fast import _core
from sqe_fast.bm25 import DEFAULT_DELTA, VARIANTS, BM25Index
from tests.oracles import bm25 as oracle

__all__ = ["VARIANTS"]


def build_in_blocks(texts, block_docs, tokenizer="whitespace", variant="okapi", threads=2, **settings):
    """Build an index whose blocks hold at most `block_docs` documents, so that few make many blocks."""
    wanted = {"k1": 1.5, "b": 0.75, "delta": DEFAULT_DELTA.get(variant, 0.0), "epsilon": 0.25, **settings}
    native = list if tokenizer is None else tokenizer
    name = "<tokens>" if tokenizer is None else tokenizer
    core = _core.Bm25Index.build(
        iter(texts), native, name, variant, *wanted.values(), threads, block_docs=block_docs
    )
    return BM25Index(core, tokenizer)


def zipf_texts(n_docs, seed=0, vocabulary=3000, skew=1.2, mean_length=30):
    """Documents of very different lengths over words of very different frequency; some are empty."""
    rng = np.random.default_rng(seed)
    lengths = np.minimum(rng.lognormal(np.log(mean_length), 0.9, n_docs).astype(int), 60 * mean_length)
    lengths[rng.random(n_docs) < 0.02] = 0
    words = np.array([f"w{word}" for word in range(vocabulary)])
    drawn = words[(rng.zipf(skew, lengths.sum()) - 1) % vocabulary]
    return [" ".join(part) for part in np.split(drawn, np.cumsum(lengths)[:-1])] if n_docs else []


def tied_texts(n_docs, seed=0, kinds=7):
    """A few documents, repeated over and over in random order."""
    rng = np.random.default_rng(seed)
    originals = zipf_texts(kinds, seed, vocabulary=40, mean_length=8)
    return [originals[kind] for kind in rng.integers(0, kinds, n_docs)]


def repeating_texts(n_docs, seed=0):
    """Documents that say one word up to hundreds of times."""
    rng = np.random.default_rng(seed)
    texts = []
    for _ in range(n_docs):
        words = rng.integers(0, 50, rng.integers(1, 6))
        texts.append(" ".join(f"w{word} " * int(rng.choice([1, 2, 15, 16, 17, 300])) for word in words))
    return texts


def queries_of(texts, length, count, seed=0):
    """Queries of `length` words: some of one document's words, some of any words, some unknown."""
    rng = np.random.default_rng(seed)
    words = sorted({word for text in texts[:2000] for word in text.split()}) or ["w1"]
    queries = []
    for number in range(count):
        source = texts[rng.integers(len(texts))].split() if texts and number % 2 else []
        drawn = rng.choice(source or words, length) if length else []
        queries.append(" ".join("unknown" if rng.random() < 0.05 else word for word in drawn))
    return queries


class Presence:
    """Which rows hold a word of a query."""

    def __init__(self, texts):
        self.n_docs = len(texts)
        self.rows = {}
        for row, text in enumerate(texts):
            for word in set(text.split()):
                self.rows.setdefault(word, []).append(row)

    def __call__(self, query):
        holds = np.zeros(self.n_docs, bool)
        for word in set(query.split()):
            holds[self.rows.get(word, [])] = True
        return holds


def expect_top(index, queries, ks, present, threads=1):
    """Search must be the sorted score rows of the rows that hold a word, for every k, bit for bit."""
    rows = index.score_rows(queries, threads=threads)
    holds = np.array([present(query) for query in queries]).reshape(rows.shape)
    assert not rows[~holds].any(), "a row without a word of the query scores"
    orders = np.argsort(-np.where(holds, rows, -np.inf), axis=1, kind="stable")
    for k in ks:
        hits = index.search(queries, k=k, threads=threads)
        assert hits.ids.shape == hits.scores.shape == (len(queries), k)
        real = np.minimum(holds.sum(axis=1), k)
        np.testing.assert_array_equal(hits.counts, real)
        for query in range(len(queries)):
            order = orders[query, : real[query]]
            np.testing.assert_array_equal(hits.ids[query, : real[query]], order)
            np.testing.assert_array_equal(hits.scores[query, : real[query]], rows[query, order])
        np.testing.assert_array_equal(hits.ids[np.isinf(hits.scores)], -1)


def expect_scores(index, documents, queries, variant, **settings):
    """Score rows must be the oracle's."""
    wanted = oracle.Oracle(documents, variant, **settings)
    for query, got in zip(queries, index.score_rows(queries), strict=True):
        score, size, _ = wanted.row(query)
        assert oracle.close(got, score, size), (query, got, score)


def same_results(left, right, queries, k=10):
    """Two indices must answer alike, bit for bit."""
    np.testing.assert_array_equal(left.score_rows(queries), right.score_rows(queries))
    for a, b in zip(left.search(queries, k), right.search(queries, k), strict=True):
        np.testing.assert_array_equal(a[0], b[0])
        np.testing.assert_array_equal(a[1], b[1])


def read_ir_set(folder):
    """Return the texts (title and text) and the queries of a retrieval set."""

    def lines(name):
        with (folder / name).open(encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    texts = [f"{row.get('title', '')} {row['text']}".strip() for row in lines("corpus.jsonl")]
    return texts, [row["text"] for row in lines("queries.jsonl")]
