"""Slow, obvious BM25 score rows, and the check that an engine's result is right before it is timed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bench.peers.base import Engine

__all__ = ["Oracle", "WrongResultError", "check_result"]

TOLERANCE = 1e-4  # relative, on scores
SHARE_WANTED = 0.9  # of the best documents' true scores, for engines that round their scores


class WrongResultError(Exception):
    """An engine returned something else than the best documents: timing it would mean nothing."""


class Oracle:
    """All postings of a corpus, and the true score of every document for a query."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.words: dict[str, int] = {}
        rows = [[self.words.setdefault(w, len(self.words)) for w in t.lower().split()] for t in texts]
        self.lengths = np.array([len(row) for row in rows], np.int64)
        flat = np.fromiter((word for row in rows for word in row), np.int64, int(self.lengths.sum()))
        documents = np.repeat(np.arange(len(rows)), self.lengths)
        pairs, counts = np.unique(flat * len(rows) + documents, return_counts=True)
        self.documents, self.counts = pairs % len(rows), counts
        self.starts = np.searchsorted(pairs // len(rows), np.arange(len(self.words) + 1))

    def idf(self, formula: str) -> NDArray[np.float64]:
        """Idf of every word: Lucene's, or Robertson's with the floor of rank_bm25 ("okapi") or PISA."""
        df, n = np.diff(self.starts), len(self.lengths)
        if formula == "lucene":
            return np.asarray(np.log(1 + (n - df + 0.5) / (df + 0.5)))
        idf = np.log(n - df + 0.5) - np.log(df + 0.5)
        return np.where(idf < 0, 0.25 * idf.mean(), idf) if formula == "okapi" else np.maximum(idf, 1e-6)

    def rows(self, queries: Sequence[str], formula: str, k1: float, b: float) -> NDArray[np.float64]:
        """Scores [n, documents]; a repeated query word counts each time."""
        idf, scores = self.idf(formula), np.zeros((len(queries), len(self.lengths)))
        norm = k1 * (1 - b + b * self.lengths / self.lengths.mean())
        for row, query in enumerate(queries):
            for word in query.lower().split():
                if word in self.words:
                    term = self.words[word]
                    part = slice(self.starts[term], self.starts[term + 1])
                    documents, tf = self.documents[part], self.counts[part]
                    scores[row, documents] += idf[term] * tf * (k1 + 1) / (tf + norm[documents])
        return scores


def check_result(
    oracle: Oracle, engine: Engine, queries: Sequence[str], k: int, threads: int = 1
) -> dict[str, float]:
    """Search `queries` and compare with the oracle; raise WrongResultError, or return what was seen.

    A comparable engine must return the true top scores, and documents that have them (ties may be broken in
    any way), up to the constant factor k1 + 1. Of the others the documents' true scores must add up to 90% of
    the best possible sum.
    """
    prepared = engine.prepare(queries)
    ids, scores = engine.arrays(engine.search(prepared, k, threads), k)
    rows = oracle.rows(queries, engine.formula, engine.k1, engine.b)
    best = -np.partition(-rows, range(min(k, rows.shape[1])), axis=1)[:, :k]
    found = np.where(ids >= 0, np.take_along_axis(rows, np.maximum(ids, 0).astype(np.int64), axis=1), 0.0)
    share = float(found.sum() / best.sum())
    if not engine.comparable:
        if share < SHARE_WANTED:
            raise WrongResultError(f"{engine.name}: its top {k} reach {share:.1%} of the best score sum")
        return {"share": share}
    real = best > 0  # some engines fill up with documents that score 0, others do not
    for factor in (1.0, engine.k1 + 1):
        claimed = np.where(real, scores * factor, 0.0)
        if np.allclose(claimed, np.where(real, best, 0.0), rtol=TOLERANCE, atol=1e-6):
            break
    else:
        raise WrongResultError(f"{engine.name}: its top {k} scores are not those of {engine.formula}")
    if not np.allclose(found[real], best[real], rtol=TOLERANCE, atol=1e-6):
        raise WrongResultError(f"{engine.name}: its top {k} documents do not have the scores it claims")
    return {"share": share, "factor": factor}
