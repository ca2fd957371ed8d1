"""What a probe's own retrieval tells of it: signals for the rules of `sqe_fast.gate.accept`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sqe_fast.hits import Hits

__all__ = ["OVERLAP_DEPTH", "PROBE_KINDS", "PROBE_SIGNALS", "ProbeEvidence", "ProbeSignal"]

Floats = NDArray[np.float64]

OVERLAP_DEPTH = 10
PROBE_KINDS = ("traces", "paraphrases")


class ProbeEvidence(Protocol):
    """What is known of m probes and of the questions that they were made for; computed when asked for.

    `side` is "probe" or "question"; a list that is not there has no hits.
    """

    family: NDArray[np.int64]
    """int64[m]: one number for the probes of one kind of one question."""

    def hits(self, side: str, index: str) -> Hits:
        """Return the m lists of one index."""

    def moments(self, side: str, index: str) -> tuple[Floats, Floats]:
        """Return float64[m] twice: mean and deviation of the scores of all documents."""

    def idf_share(self, side: str) -> Floats:
        """Return float64[m]: see the signal of this name."""


@dataclass(frozen=True)
class ProbeSignal:
    """One signal of a probe's own retrieval.

    Attributes
    ----------
    name : str
        What rules and results call it.
    compute : callable
        From the evidence and a side to float64[m]; -inf without hits, NaN where it does not apply.
    indexes : tuple of str
        The indexes that it looks at.
    of_question : bool
        Whether a question has it too, so that a rule can measure against the question's own.
    """

    name: str
    compute: Callable[[ProbeEvidence, str], Floats]
    indexes: tuple[str, ...]
    of_question: bool = True


def _best(hits: Hits) -> Floats:
    return hits.scores[:, 0].astype(np.float64)


def _top1(evidence: ProbeEvidence, side: str) -> Floats:
    """Return the best inner product."""
    return _best(evidence.hits(side, "dense"))


def _top1_z(evidence: ProbeEvidence, side: str) -> Floats:
    """Return the best inner product as a z-score among those of all documents."""
    return _z(evidence, side, "dense")


def _bm25_top1(evidence: ProbeEvidence, side: str) -> Floats:
    """Return the best BM25 score."""
    return _best(evidence.hits(side, "bm25"))


def _bm25_z(evidence: ProbeEvidence, side: str) -> Floats:
    """Return the best BM25 score as a z-score among those of all documents."""
    return _z(evidence, side, "bm25")


def _z(evidence: ProbeEvidence, side: str, index: str) -> Floats:
    mean, deviation = evidence.moments(side, index)
    best = _best(evidence.hits(side, index))
    flat = deviation <= 0
    score: Floats = np.where(flat, 0.0, (best - mean) / np.where(flat, 1.0, deviation))
    return np.where(np.isneginf(best), -np.inf, score)


def _lift(evidence: ProbeEvidence, _: str) -> Floats:
    """Return how far the probe's best hits rise above the question's own, in both indexes.

    The rise of the best inner product, in standard deviations of the question's scores over all documents,
    plus log2 of the best BM25 score over the question's. A trace is longer than a question and worded like
    what is stored: one that is near something stored rises in both, one that is beside the point in neither.
    It has no unit: a linear map of an encoder's scores changes nothing. -inf without hits in either index;
    where the question has no BM25 hit, inf.
    """
    dense, words = _best(evidence.hits("probe", "dense")), _best(evidence.hits("probe", "bm25"))
    own = _best(evidence.hits("question", "dense")), _best(evidence.hits("question", "bm25"))
    deviation = evidence.moments("question", "dense")[1]
    lost = np.isneginf(dense) | ~(words > 0)
    known = ~lost & np.isfinite(own[0]) & (deviation > 0)
    rise = np.where(known, dense - np.where(known, own[0], 0.0), 0.0) / np.where(known, deviation, 1.0)
    beyond = own[1] > 0
    with np.errstate(divide="ignore"):
        ratio = np.log2(np.where(lost, 1.0, words)) - np.log2(np.where(beyond, own[1], 1.0))
    return np.where(lost, -np.inf, np.where(beyond, rise + ratio, np.inf))


def _idf_share(evidence: ProbeEvidence, side: str) -> Floats:
    """Return the share of the text's idf that its best BM25 hit holds.

    Over the distinct tokens of the text, with ``ln(1 + (N - df + 0.5) / (df + 0.5))`` of each, also of one
    that no document holds: a text of invented names shows as such.
    """
    return evidence.idf_share(side)


def _both(evidence: ProbeEvidence, side: str) -> Floats:
    """Return the share of the first 10 dense hits that are among the first 10 of BM25."""
    return _overlap(evidence.hits(side, "dense"), evidence.hits(side, "bm25"))


def _overlap_with_question(evidence: ProbeEvidence, _: str) -> Floats:
    """Return the share of the first 10 dense hits that are among the first 10 of the question."""
    return _overlap(evidence.hits("probe", "dense"), evidence.hits("question", "dense"))


def _agreement(evidence: ProbeEvidence, _: str) -> Floats:
    """Return the largest share of the first 10 dense hits in common with another probe of the same kind.

    NaN for a probe that has no other beside it: nothing can be said.
    """
    hits = evidence.hits("probe", "dense")
    order = np.argsort(evidence.family, kind="stable")
    family = evidence.family[order]
    found = np.full(len(family), np.nan)
    # Pairs at distance 1, 2, ... in the order of families: K - 1 rounds over all probes.
    for step in range(1, len(family)):
        same = np.flatnonzero(family[step:] == family[:-step])
        if not len(same):
            break
        left, right = order[same], order[same + step]
        one = Hits(hits.ids[left], hits.scores[left])
        other = Hits(hits.ids[right], hits.scores[right])
        np.fmax.at(found, left, _overlap(one, other))
        np.fmax.at(found, right, _overlap(other, one))
    return found


def _overlap(hits: Hits, others: Hits) -> Floats:
    """Return the share of each list's first hits that the other list has among its own; 0 without hits."""
    mine, theirs = hits.ids[:, :OVERLAP_DEPTH], others.ids[:, :OVERLAP_DEPTH]
    real = mine >= 0
    common = ((mine[:, :, None] == theirs[:, None, :]) & real[:, :, None]).any(2).sum(1)
    share: Floats = common / np.maximum(real.sum(1), 1)
    return share


PROBE_SIGNALS: Mapping[str, ProbeSignal] = MappingProxyType(
    {
        signal.name: signal
        for signal in (
            ProbeSignal("top1", _top1, ("dense",)),
            ProbeSignal("top1_z", _top1_z, ("dense",)),
            ProbeSignal("bm25_top1", _bm25_top1, ("bm25",)),
            ProbeSignal("bm25_z", _bm25_z, ("bm25",)),
            ProbeSignal("lift", _lift, ("dense", "bm25"), of_question=False),
            ProbeSignal("idf_share", _idf_share, ("bm25",)),
            ProbeSignal("dense_bm25", _both, ("dense", "bm25")),
            ProbeSignal("overlap", _overlap_with_question, ("dense",), of_question=False),
            ProbeSignal("agreement", _agreement, ("dense",), of_question=False),
        )
    }
)
"""By name. Free of the scale of scores: top1_z, bm25_z, lift, idf_share, dense_bm25, overlap, agreement."""
