"""What signals look at: the lists of a batch of questions, and on demand what lies behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sqe_fast.bm25 import BM25Index
from sqe_fast.errors import InvalidInputError
from sqe_fast.fusion import fuse_rows
from sqe_fast.hits import Hits
from sqe_fast.text import tokenize_batch

__all__ = ["Again", "Corpus", "Evidence", "Rows"]

Again = Callable[[NDArray[np.float32], int], Hits]
"""From vectors float32[m, dim] and a depth to their dense lists."""

Rows = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""From vectors float32[m, dim] to the dense score of every document, float32[m, N]."""

_BLOCK = 65536  # rows of the store averaged at a time
_BLOCK_BYTES = 2**26  # of score rows held at a time: at least those of one question


class Corpus:
    """The side of the evidence that stays the same from batch to batch; each part may be absent.

    Parameters
    ----------
    documents : float16 or float32[N, dim], optional
        The vectors of the store; may be mapped from disk.
    words : BM25Index, or a function that opens one; optional
        For its tokenizer and its document frequencies. Opened when a signal first asks for it.
    again : callable, optional
        Searches the store's vectors, as `DenseIndex.search`.
    rows : callable, optional
        Scores every document, as `DenseIndex.scores`.
    threads : int, optional
        CPU threads of BM25 and fusion; by default all CPUs.
    """

    def __init__(
        self,
        documents: NDArray[np.float16] | NDArray[np.float32] | None = None,
        words: BM25Index | Callable[[], BM25Index] | None = None,
        again: Again | None = None,
        rows: Rows | None = None,
        threads: int | None = None,
    ) -> None:
        self.documents = documents
        self.again = again
        self.rows = rows
        self.threads = threads
        self._words = words

    @property
    def held(self) -> frozenset[str]:
        """Which parts there are."""
        parts = {
            "documents": self.documents,
            "words": self._words,
            "again": self.again,
            "rows": self.rows,
        }
        return frozenset(name for name, value in parts.items() if value is not None)

    @cached_property
    def words(self) -> BM25Index | None:
        """The BM25 index."""
        return self._words() if callable(self._words) else self._words

    @cached_property
    def mean(self) -> NDArray[np.float64]:
        """float64[dim]: the mean vector of the store, zeros for an empty one; read once, in O(N dim)."""
        documents = self.documents
        if documents is None:
            raise InvalidInputError("Corpus: the mean needs documents")
        total = np.zeros(documents.shape[1], np.float64)
        for start in range(0, len(documents), _BLOCK):
            total += documents[start : start + _BLOCK].sum(0, dtype=np.float64)
        return total / max(1, len(documents))


class Evidence:
    """What is known of n questions before anything is generated.

    Lists and vectors are given; tokens, frequencies and the vectors of hits are made when a signal first asks
    for them, once for all signals of the batch.

    Parameters
    ----------
    dense, bm25 : Hits, optional
        The lists of the questions.
    questions : sequence of str, optional
        The questions themselves.
    queries : float32[n, dim], optional
        The vectors of the questions.
    corpus : Corpus, optional
        The store.

    Raises
    ------
    InvalidInputError
        They do not tell of one number of questions.

    Examples
    --------
    >>> hits = Hits(np.array([[1, 0]], np.int32), np.array([[0.75, 0.5]], np.float32))
    >>> evidence = Evidence(hits, corpus=Corpus(np.eye(2, dtype=np.float32)))
    >>> evidence.tops(2).tolist()
    [[[0.0, 1.0], [1.0, 0.0]]]
    """

    def __init__(
        self,
        dense: Hits | None = None,
        bm25: Hits | None = None,
        *,
        questions: Sequence[str] | None = None,
        queries: NDArray[np.float32] | None = None,
        corpus: Corpus | None = None,
    ) -> None:
        self.dense = dense
        self.bm25 = bm25
        self.questions = questions
        self.queries = queries
        self.corpus = Corpus() if corpus is None else corpus
        given = {"dense": dense, "bm25": bm25, "questions": questions, "queries": queries}
        sizes = {name: len(value) for name, value in given.items() if value is not None}
        if len(set(sizes.values())) > 1:
            names, counts = " and ".join(sizes), " and ".join(map(str, sizes.values()))
            raise InvalidInputError(f"{names} must be of one length; got {counts} questions")
        self._size = next(iter(sizes.values()), 0)
        self._tops: dict[int, NDArray[np.float32]] = {}
        self._fused: dict[int, Hits] = {}
        self.scored: NDArray[np.float32] | None = None
        """float32[m, 2, N]: dense and BM25 scores of every document, of the m questions that are not empty.

        Kept where `fused` made them all at a time: of one question, or 64 MB at most; else None.
        """

    def __len__(self) -> int:
        return self._size

    @property
    def held(self) -> frozenset[str]:
        """Which kinds of evidence there are; `Signal.needs` names those that a signal needs."""
        parts = {
            "dense": self.dense,
            "bm25": self.bm25,
            "questions": self.questions,
            "queries": self.queries,
        }
        return self.corpus.held.union(name for name, value in parts.items() if value is not None)

    def tops(self, depth: int) -> NDArray[np.float32]:
        """Return float32[n, depth, dim]: the vectors of the best dense hits, zeros where there are fewer."""
        if depth not in self._tops:
            documents, dense = self.corpus.documents, self.dense
            if documents is None or dense is None:
                raise InvalidInputError("Evidence: vectors of hits need dense hits and corpus documents")
            ids = dense.ids[:, :depth]
            out = np.zeros((len(self), depth, documents.shape[1]), np.float32)
            real = ids >= 0
            # Questions share hits: each row is read, and widened from float16, once.
            rows, back = np.unique(ids[real], return_inverse=True)
            out[:, : ids.shape[1]][real] = np.asarray(documents[rows], np.float32)[back]
            self._tops[depth] = out
        return self._tops[depth]

    def fused(self, depth: int) -> Hits:
        """Return the best documents by the sum of their dense and BM25 z-scores, each over the whole store.

        It scores every document in both indexes, as `Method.fusion` "zscore" does: one pass over the store a
        question, a block of questions at a time. An empty question has no hits.
        """
        if depth not in self._fused:
            rows, words, queries, questions = (
                self.corpus.rows,
                self.corpus.words,
                self.queries,
                self.questions,
            )
            if rows is None or words is None or queries is None or questions is None:
                raise InvalidInputError(
                    "Evidence: fused hits need questions, queries, and corpus rows and words"
                )
            out = Hits(
                np.full((len(self), depth), -1, np.int32), np.full((len(self), depth), -np.inf, np.float32)
            )
            some = np.flatnonzero([len(question) > 0 for question in questions])
            size = max(1, _BLOCK_BYTES // (8 * max(1, len(words))))
            threads = self.corpus.threads
            for start in range(0, len(some) if len(words) else 0, size):
                at = some[start : start + size]
                texts = [questions[place] for place in at.tolist()]
                both = np.stack([rows(queries[at]), words.score_rows(texts, threads)], axis=1)
                found = fuse_rows(both, k=depth, threads=threads)
                out.ids[at], out.scores[at] = found.ids, found.scores
                self.scored = both if size >= len(some) else None
            self._fused[depth] = out
        return self._fused[depth]

    @cached_property
    def background(self) -> NDArray[np.float64]:
        """float64[n]: the mean score of the whole store, the inner product of question and mean vector."""
        if self.queries is None:
            raise InvalidInputError("Evidence: the mean score of the store needs queries")
        # Summed row by row, not by BLAS: the same bits in any batch.
        scores: NDArray[np.float64] = np.einsum("nd,d->n", self.queries.astype(np.float64), self.corpus.mean)
        return scores

    @cached_property
    def tokens(self) -> list[list[str]]:
        """The tokens of each question, by the tokenizer of the BM25 index."""
        words = self.corpus.words
        if words is None or self.questions is None:
            raise InvalidInputError("Evidence: tokens need questions and corpus words")
        if words.tokenizer is None:  # the index holds ready tokens, and so do the questions
            return [list(question) for question in self.questions]
        return tokenize_batch(self.questions, words.tokenizer)

    @cached_property
    def frequencies(self) -> dict[str, int]:
        """How many documents hold each different token of the batch; one look-up for all."""
        words = self.corpus.words
        distinct = list(dict.fromkeys(token for tokens in self.tokens for token in tokens))
        if words is None or not distinct:
            return {}
        return dict(zip(distinct, words.document_frequencies(distinct).tolist(), strict=True))
