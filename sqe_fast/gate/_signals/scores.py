"""Signals of the scores of one ranked list; s1 >= s2 >= ... are its scores."""

from __future__ import annotations

import numpy as np

from sqe_fast.gate._signals.base import Doubles, Floats, deviation, mean_of, rounded, top
from sqe_fast.gate.evidence import Evidence

__all__ = [
    "bm25_spread",
    "bm25_top1",
    "concentration",
    "fused_spread",
    "gap",
    "margin",
    "nqc",
    "smv",
    "spread",
    "top1",
    "wig",
]

SPREAD_DEPTH = 10
CONCENTRATION_DEPTH = 5
NQC_DEPTH = 10
WIG_DEPTH = 5
SMV_DEPTH = 10

FLOOR = 0.01
"""Least normaliser of NQC and SMV: below it, the mean score of the store says nothing of a cosine's scale."""


def top1(evidence: Evidence) -> Floats:
    """Return s1, the score of the best dense hit; -inf without one.

    The gate of SQE (2026) expands where it is below 0.65.
    """
    scores, real = top(evidence.dense, 1)
    return rounded(np.where(real[:, 0], scores[:, 0], -np.inf))


def margin(evidence: Evidence) -> Floats:
    """Return s1 - s2; inf where there is no second hit, so nothing to be confused with."""
    scores, real = top(evidence.dense, 2)
    return rounded(np.where(real[:, 1], scores[:, 0] - scores[:, 1], np.inf))


def spread(evidence: Evidence) -> Floats:
    """Return the standard deviation (of the population) of s1 to s10; 0 for fewer than two hits.

    Pérez-Iglesias and Araujo 2010, "Standard Deviation as a Query Hardness Estimator": scores that lie close
    together tell no document apart from the rest.
    """
    return rounded(deviation(*top(evidence.dense, SPREAD_DEPTH)))


def fused_spread(evidence: Evidence) -> Floats:
    """Return the standard deviation of the best 10 sums of dense and BM25 z-scores; 0 for fewer than two.

    `spread` of the fused list: each index's scores are standardised over every document of the store, so it
    has no unit, and neither an encoder's scale nor the length of a question moves it. It is large where a few
    documents stand out in both indexes. (Ours; measured in docs/quality.md.)
    """
    return rounded(deviation(*top(evidence.fused(SPREAD_DEPTH), SPREAD_DEPTH)))


def gap(evidence: Evidence) -> Floats:
    """Return s1 - sk for k = 10, or for the last hit where there are fewer; 0 without hits."""
    scores, real = top(evidence.dense, SPREAD_DEPTH)
    last = np.maximum(real.sum(1) - 1, 0)
    return rounded(scores[:, 0] - np.take_along_axis(scores, last[:, None], 1)[:, 0])


def concentration(evidence: Evidence) -> Floats:
    """Return 1 - H / log k, with H the entropy of the softmax of s1 to s5; 1 for fewer than two hits.

    The gate feature of SQE (2026). k is the number of hits where there are fewer than five.
    """
    scores, real = top(evidence.dense, CONCENTRATION_DEPTH)
    weights = np.where(real, np.exp(scores - scores[:, :1]), 0.0)
    shares = weights / np.maximum(weights.sum(1), 1e-300)[:, None]
    entropy = -np.sum(shares * np.log(np.where(shares > 0, shares, 1.0)), axis=1)
    return rounded(1.0 - entropy / np.log(np.maximum(real.sum(1), 2)))


def nqc(evidence: Evidence) -> Floats:
    """Return the standard deviation of s1 to s10 over |the mean score of the store|; 0 for fewer than two.

    Shtok, Kurland, Carmel, Raiber and Markovits 2012, "Predicting Query Performance by Query-Drift
    Estimation": normalised query commitment. Their normaliser is the score of the collection taken as one
    document; for vectors that is the inner product of the question with the mean vector of the store, which
    is the mean score over all documents. It is taken as at least 0.01, since a cosine may be 0.
    """
    return rounded(deviation(*top(evidence.dense, NQC_DEPTH)) / _normaliser(evidence))


def wig(evidence: Evidence) -> Floats:
    """Return the mean of s1 to s5 less the mean score of the store; 0 without hits.

    Zhou and Croft 2007, "Query Performance Prediction in Web Search Environments": weighted information
    gain. Their 1 / sqrt(query length) is left out: it undoes that lexical scores are sums over the terms of
    a query, which inner products are not.
    """
    scores, real = top(evidence.dense, WIG_DEPTH)
    return rounded(np.where(real[:, 0], mean_of(scores, real) - evidence.background, 0.0))


def smv(evidence: Evidence) -> Floats:
    """Return the mean over s1 to s10 of s |ln(s / m)|, m their mean, over |the mean score of the store|.

    Tao and Wu 2014, "Query Performance Prediction by Considering Score Magnitude and Variance Together". The
    normaliser is that of `nqc`. A score of 0 or below adds nothing (s ln s goes to 0), nor does any where m
    is not above 0. 0 for fewer than two hits.
    """
    scores, real = top(evidence.dense, SMV_DEPTH)
    mean = mean_of(scores, real)[:, None]
    counts = real & (scores > 0) & (mean > 0)
    ratio = np.divide(scores, mean, out=np.ones_like(scores), where=counts)
    # A positive double may be so small beside the mean that the ratio is 0.
    terms = scores * np.abs(np.log(np.maximum(ratio, 1e-300)))
    return rounded(mean_of(np.where(counts, terms, 0.0), real) / _normaliser(evidence))


def bm25_top1(evidence: Evidence) -> Floats:
    """Return the score of the best BM25 hit; 0 without one, as BM25 scores what matches nothing."""
    scores, _ = top(evidence.bm25, 1)
    return rounded(scores[:, 0])


def bm25_spread(evidence: Evidence) -> Floats:
    """Return the standard deviation of the best 10 BM25 scores; 0 for fewer than two hits. See `spread`."""
    return rounded(deviation(*top(evidence.bm25, SPREAD_DEPTH)))


def _normaliser(evidence: Evidence) -> Doubles:
    normaliser: Doubles = np.maximum(np.abs(evidence.background), FLOOR)
    return normaliser
