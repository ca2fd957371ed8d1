"""What a question's own lists tell before anything is generated: one number a question and signal.

Every signal is a function of whole batches, and of a question alone: neither the order nor the size of the
batch changes it. To add one, write the function in `sqe_fast.gate._signals` and put it into SIGNALS.

========================  =====================================================================
top1, margin, spread,     of the dense scores alone; they cost next to nothing, and the engine
gap, concentration        always tells them (`DENSE_SIGNALS`)
nqc, wig, smv             of the dense scores and the mean score of the store
coherence                 of the vectors of the best dense hits
feedback, stability       search again: one further dense search, and four
agreement,                of the dense list and the BM25 list together
top1_agreement,
overlap, rbo
bm25_top1, bm25_spread    of the BM25 scores
fused_spread              of the dense and the BM25 score of every document of the store
idf_max, idf_mean, oov,   of the question's words; no search at all
length
========================  =====================================================================

Each function's docstring has its formula, its source, and its value where there are too few hits; none is
ever NaN.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from sqe_fast._checks import check_choice
from sqe_fast.errors import InvalidInputError
from sqe_fast.gate._signals import neighbours, pairs, scores, words
from sqe_fast.gate._signals.base import Floats, Signal
from sqe_fast.gate.evidence import Corpus, Evidence
from sqe_fast.hits import Hits

__all__ = ["DENSE_SIGNALS", "SIGNALS", "Corpus", "Evidence", "Signal", "compute_signals"]

_BACKGROUND = frozenset({"dense", "queries", "documents"})
_VECTORS = frozenset({"dense", "documents"})
_AGAIN = frozenset({"dense", "queries", "again"})
_BOTH = frozenset({"dense", "bm25"})
_BM25 = frozenset({"bm25"})
_WORDS = frozenset({"questions", "words"})
_WHOLE = _BOTH | _WORDS | {"queries", "rows"}

_FREE = (
    Signal("top1", scores.top1, 1),
    Signal("margin", scores.margin, 2),
    Signal("spread", scores.spread, scores.SPREAD_DEPTH),
    Signal("gap", scores.gap, scores.SPREAD_DEPTH),
    Signal("concentration", scores.concentration, scores.CONCENTRATION_DEPTH),
)
_DEAR = (
    Signal("nqc", scores.nqc, scores.NQC_DEPTH, _BACKGROUND),
    Signal("wig", scores.wig, scores.WIG_DEPTH, _BACKGROUND),
    Signal("smv", scores.smv, scores.SMV_DEPTH, _BACKGROUND),
    Signal("coherence", neighbours.coherence, neighbours.COHERENCE_DEPTH, _VECTORS),
    Signal("feedback", neighbours.feedback, neighbours.FEEDBACK_DEPTH, _VECTORS | {"again"}),
    Signal("stability", neighbours.stability, neighbours.STABILITY_DEPTH, _AGAIN),
    Signal("agreement", pairs.agreement, pairs.AGREEMENT_DEPTH, _BOTH),
    Signal("top1_agreement", pairs.top1_agreement, 1, _BOTH),
    Signal("overlap", pairs.overlap, pairs.OVERLAP_DEPTH, _BOTH),
    Signal("rbo", pairs.rbo, pairs.RBO_DEPTH, _BOTH),
    Signal("bm25_top1", scores.bm25_top1, 1, _BM25),
    Signal("bm25_spread", scores.bm25_spread, scores.SPREAD_DEPTH, _BM25),
    Signal("fused_spread", scores.fused_spread, 1, _WHOLE),
    Signal("idf_max", words.idf_max, 1, _WORDS),
    Signal("idf_mean", words.idf_mean, 1, _WORDS),
    Signal("oov", words.oov, 1, _WORDS),
    Signal("length", words.length, 1, _WORDS),
)

SIGNALS: Mapping[str, Signal] = MappingProxyType({signal.name: signal for signal in _FREE + _DEAR})
"""All signals by name."""

DENSE_SIGNALS = tuple(signal.name for signal in _FREE)
"""Those that follow from the dense scores alone."""

_WANTED = {
    "dense": "the dense hits",
    "bm25": "the BM25 hits",
    "questions": "the texts",
    "queries": "the vectors",
}


def compute_signals(
    names: Iterable[str], dense: Hits | Evidence | None, bm25: Hits | None = None
) -> dict[str, Floats]:
    """Return each named signal of n questions.

    Parameters
    ----------
    names : iterable of str
        Of `SIGNALS`.
    dense, bm25 : Hits
        The lists of the questions themselves, of one length; `bm25` only where a signal needs it. Or in place
        of `dense` an `Evidence`, for signals that need more than lists.

    Returns
    -------
    dict of float32[n]
        In the order of `names`. A question without hits gets the value that the signal states for it, never
        NaN.

    Raises
    ------
    InvalidInputError
        There is no such signal, or the evidence lacks what it needs.

    Examples
    --------
    >>> import numpy as np
    >>> hits = Hits(np.array([[4, 1, 7]], np.int32), np.array([[0.75, 0.5, 0.25]], np.float32))
    >>> found = compute_signals(["top1", "margin"], hits)
    >>> {name: values.tolist() for name, values in found.items()}
    {'top1': [0.75], 'margin': [0.25]}
    """
    if isinstance(dense, Evidence):
        if bm25 is not None:
            raise InvalidInputError("bm25 goes into the Evidence: Evidence(dense, bm25)")
        evidence = dense
    else:
        evidence = Evidence(dense, bm25)
    held = evidence.held
    found: dict[str, Floats] = {}
    for name in names:
        signal = SIGNALS[check_choice("signal", name, tuple(SIGNALS))]
        if lacking := sorted(signal.needs - held):
            raise InvalidInputError(f"signal {name!r} needs {_wish(lacking[0])}")
        found[name] = signal.compute(evidence)
    return found


def _wish(part: str) -> str:
    return f"{_WANTED[part]} of the questions" if part in _WANTED else f"a Corpus with {part!r}"
