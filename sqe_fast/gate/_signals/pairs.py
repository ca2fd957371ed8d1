"""Signals of two ranked lists of one question: how far dense search and BM25 agree.

Systems that disagree on a question tell of a hard one: Aslam and Pavlu 2007, "Query Hardness Estimation Using
Jensen-Shannon Divergence Among Multiple Scoring Functions".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sqe_fast.gate._signals.base import Doubles, Floats, missing, rounded
from sqe_fast.gate.evidence import Evidence

__all__ = ["agreement", "overlap", "overlap_of", "rank_biased_overlap", "rbo", "top1_agreement"]

AGREEMENT_DEPTH = 10
OVERLAP_DEPTH = 10
RBO_DEPTH = 20
PERSISTENCE = 0.9
"""p of rank-biased overlap: 86 % of the weight lies on the first 10 ranks."""

Ids = NDArray[np.int32]


def agreement(evidence: Evidence) -> Floats:
    """Return 1 where the best dense hit is among the best 10 of BM25, else 0 (without hits too).

    The agreement of the gate variants of SQE (2026).
    """
    dense, bm25 = _ids(evidence, AGREEMENT_DEPTH)
    return rounded(((bm25 == dense[:, :1]) & (bm25 >= 0)).any(1))


def top1_agreement(evidence: Evidence) -> Floats:
    """Return 1 where the best dense hit is the best of BM25 too, else 0 (without hits too)."""
    dense, bm25 = _ids(evidence, 1)
    return rounded(((bm25 == dense) & (bm25 >= 0)).any(1))


def overlap(evidence: Evidence) -> Floats:
    """Return the share of the best 10 dense hits that are among the best 10 of BM25.

    Where both lists are shorter, of as many as the longer one holds; 0 where either is empty.
    """
    return rounded(overlap_of(*_ids(evidence, OVERLAP_DEPTH)))


def rbo(evidence: Evidence) -> Floats:
    """Return the extrapolated rank-biased overlap of both lists to depth 20, p = 0.9; 0 where one is empty.

    Webber, Moffat and Zobel 2010, "A Similarity Measure for Indefinite Rankings", equation 32 (lists of
    uneven length included).
    """
    return rounded(rank_biased_overlap(*_ids(evidence, RBO_DEPTH)))


def overlap_of(first: Ids, second: Ids) -> Doubles:
    """Return float64[n]: common ids over the length of the longer list; ids are padded with -1."""
    common = _same(first, second).any(2).sum(1)
    longer = np.maximum((first >= 0).sum(1), (second >= 0).sum(1))
    share: Doubles = common / np.maximum(longer, 1)
    return share


def rank_biased_overlap(first: Ids, second: Ids, p: float = PERSISTENCE) -> Doubles:
    """Return float64[n]: RBO_EXT of two batches of lists, each padded with -1 behind its hits.

    X_d is the number of ids that both lists hold within rank d, s and l the lengths of the shorter and of
    the longer list:

    ``(1-p)/p * (sum_{d=1..l} X_d/d p^d + sum_{d=s+1..l} X_s (d-s)/(s d) p^d) + ((X_l-X_s)/l + X_s/s) p^l``
    """
    depth = max(first.shape[1], second.shape[1])
    if not depth:
        return np.zeros(len(first))
    wide = [np.pad(ids, ((0, 0), (0, depth - ids.shape[1])), constant_values=-1) for ids in (first, second)]
    # The pairs within ranks (i, j), of which the diagonal is X_1 to X_depth.
    pairs = _same(*wide).cumsum(1, dtype=np.int32).cumsum(2, dtype=np.int32)
    common = np.diagonal(pairs, axis1=1, axis2=2).astype(np.float64)
    lengths = np.stack([(first >= 0).sum(1), (second >= 0).sum(1)])
    short, long = lengths.min(0), lengths.max(0)
    some = short > 0
    at_short = np.where(some, np.take_along_axis(common, np.maximum(short - 1, 0)[:, None], 1)[:, 0], 0.0)
    at_long = np.where(some, np.take_along_axis(common, np.maximum(long - 1, 0)[:, None], 1)[:, 0], 0.0)
    d = np.arange(1, depth + 1, dtype=np.float64)
    powers = p**d
    s, l = np.maximum(short, 1)[:, None], np.maximum(long, 1)[:, None]  # noqa: E741
    within = d <= l
    seen = np.where(within, common / d, 0.0)
    beyond = np.where(within & (d > s), at_short[:, None] * (d - s) / (s * d), 0.0)
    sums = ((seen + beyond) * powers).sum(1) * (1 - p) / p
    rest = ((at_long - at_short) / l[:, 0] + at_short / s[:, 0]) * p ** l[:, 0].astype(np.float64)
    return np.where(some, sums + rest, 0.0)


def _same(first: Ids, second: Ids) -> NDArray[np.bool_]:
    same: NDArray[np.bool_] = (first[:, :, None] == second[:, None, :]) & (first >= 0)[:, :, None]
    return same


def _ids(evidence: Evidence, depth: int) -> tuple[Ids, Ids]:
    if evidence.dense is None or evidence.bm25 is None:
        raise missing("ranked lists of both indexes")
    return evidence.dense.ids[:, :depth], evidence.bm25.ids[:, :depth]
