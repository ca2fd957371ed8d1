"""Signals of the words of a question, before anything is retrieved; words are those of the BM25 tokenizer.

idf here is Lucene's, ln(1 + (N - df + 0.5) / (df + 0.5)), whatever the variant of the index: above 0, and on
one scale for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sqe_fast.gate._signals.base import Floats, missing, rounded
from sqe_fast.gate.evidence import Evidence

__all__ = ["idf_max", "idf_mean", "length", "oov"]


def idf_max(evidence: Evidence) -> Floats:
    """Return the largest idf of the words that the store holds; 0 without any.

    Hauff, Hiemstra and de Jong 2008, "A Survey of Pre-retrieval Query Performance Predictors" (MaxIDF).
    """
    return _over_idf(evidence, max)


def idf_mean(evidence: Evidence) -> Floats:
    """Return the mean idf of the different words that the store holds; 0 without any.

    Hauff, Hiemstra and de Jong 2008, as for `idf_max` (AvIDF).
    """
    return _over_idf(evidence, lambda values: math.fsum(values) / len(values))


def oov(evidence: Evidence) -> Floats:
    """Return the share of the different words of the question that no document holds; 1 without words."""
    frequencies = evidence.frequencies
    out = np.ones(len(evidence))
    for row, tokens in enumerate(evidence.tokens):
        if distinct := set(tokens):
            out[row] = sum(not frequencies[token] for token in distinct) / len(distinct)
    return rounded(out)


def length(evidence: Evidence) -> Floats:
    """Return the number of words, repeated ones each time.

    He and Ounis 2004, "Inferring Query Performance Using Pre-retrieval Predictors" (query length).
    """
    return rounded(np.array([len(tokens) for tokens in evidence.tokens], np.float64))


def _over_idf(evidence: Evidence, of: Callable[[list[float]], float]) -> Floats:
    words = evidence.corpus.words
    if words is None:
        raise missing("BM25 index")
    n = len(words)
    idf = {
        token: math.log(1 + (n - df + 0.5) / (df + 0.5)) for token, df in evidence.frequencies.items() if df
    }
    out = np.zeros(len(evidence))
    for row, tokens in enumerate(evidence.tokens):
        if values := [idf[token] for token in set(tokens) if token in idf]:
            out[row] = of(values)
    return rounded(out)
