"""Signals of the vectors behind a dense list, two of which search again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sqe_fast.gate._signals.base import Floats, missing, rounded
from sqe_fast.gate._signals.pairs import overlap_of
from sqe_fast.gate.evidence import Evidence

__all__ = ["coherence", "feedback", "stability"]

COHERENCE_DEPTH = 10
FEEDBACK_DOCUMENTS = 5
FEEDBACK_DEPTH = 10
STABILITY_DEPTH = 10
STABILITY_DRAWS = 4
STABILITY_NOISE = 1.0
"""Length of the noise, as a share of the length of the question's vector."""
STABILITY_SEED = 7


def coherence(evidence: Evidence) -> Floats:
    """Return the mean cosine between two different documents of the best 10; 1 for fewer than two.

    Vlachou and Macdonald 2024, "Coherence-based Query Performance Measures for Dense Retrieval"; the idea is
    that of Diaz 2007, "Performance Prediction Using Spatial Autocorrelation". With unit vectors v of m hits
    it is (|sum v|^2 - m) / (m (m - 1)): O(m dim), not O(m^2 dim). A vector of zeros has cosine 0 with all.
    """
    vectors = evidence.tops(COHERENCE_DEPTH).astype(np.float64)
    lengths = np.sqrt(np.einsum("nkd,nkd->nk", vectors, vectors))
    vectors /= np.where(lengths > 0, lengths, 1.0)[:, :, None]
    total = vectors.sum(1)
    itself = (lengths > 0).sum(1)
    count = _count(evidence, COHERENCE_DEPTH)
    pairs = np.maximum(count * (count - 1), 1)
    return rounded(np.where(count > 1, (np.einsum("nd,nd->n", total, total) - itself) / pairs, 1.0))


def feedback(evidence: Evidence) -> Floats:
    """Return the overlap of the best 10 with the best 10 for the mean vector of the best 5; 0 without hits.

    Zhou and Croft 2007, "Query Performance Prediction in Web Search Environments": query feedback, the first
    list taken as a noisy message from which the question is to be read back. The second question there comes
    from a language model of the first list, here from its mean vector (Rocchio 1971, without the question).
    """
    again, dense = evidence.corpus.again, evidence.dense
    if again is None or dense is None:
        raise missing("further search")
    out = np.zeros(len(evidence))
    rows = np.flatnonzero(_count(evidence, 1))
    if len(rows):
        total = evidence.tops(FEEDBACK_DOCUMENTS)[rows].sum(1)
        means = total / _count(evidence, FEEDBACK_DOCUMENTS)[rows, None].astype(np.float32)
        second = again(means, FEEDBACK_DEPTH)
        out[rows] = overlap_of(dense.ids[rows, :FEEDBACK_DEPTH], second.ids)
    return rounded(out)


def stability(evidence: Evidence) -> Floats:
    """Return the mean overlap of the best 10 with the best 10 of the question's vector with noise added.

    After Vinay, Cox, Milic-Frayling and Wood 2006, "On Ranking the Effectiveness of Searches", who look at
    what a small change of the query does to the list. Four draws of Gaussian noise, in expectation as long as
    the vector; they depend on the dimension alone and are the same for every question, so that a
    question's value does not depend on the batch. 0 without hits.
    """
    again, dense, queries = evidence.corpus.again, evidence.dense, evidence.queries
    if again is None or dense is None or queries is None:
        raise missing("further search")
    out = np.zeros(len(evidence))
    rows = np.flatnonzero(_count(evidence, 1))
    if len(rows):
        asked = queries[rows]
        dim = asked.shape[1]
        noise = np.random.default_rng(STABILITY_SEED).standard_normal((STABILITY_DRAWS, dim))
        doubles = asked.astype(np.float64)
        lengths = np.sqrt(np.einsum("nd,nd->n", doubles, doubles))[:, None]
        for draw in noise * (STABILITY_NOISE / np.sqrt(dim)):
            second = again((doubles + lengths * draw).astype(np.float32), STABILITY_DEPTH)
            out[rows] += overlap_of(dense.ids[rows, :STABILITY_DEPTH], second.ids) / STABILITY_DRAWS
    return rounded(out)


def _count(evidence: Evidence, depth: int) -> NDArray[np.int64]:
    """Return int64[n]: how many of the first `depth` dense hits are real."""
    if evidence.dense is None:
        raise missing("dense list")
    count: NDArray[np.int64] = (evidence.dense.ids[:, :depth] >= 0).sum(1)
    return count
