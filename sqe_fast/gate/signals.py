"""What a question's own lists tell before anything is generated: one number a question and signal.

Every signal is a function of whole batches. To add one, write the function and put it into SIGNALS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from sqe_fast._checks import check_choice
from sqe_fast.errors import InvalidInputError
from sqe_fast.hits import Hits

__all__ = ["DENSE_SIGNALS", "SIGNALS", "Signal", "compute_signals"]

Floats = NDArray[np.float32]

SPREAD_DEPTH = 10
CONCENTRATION_DEPTH = 5
AGREEMENT_DEPTH = 10


@dataclass(frozen=True)
class Signal:
    """One signal.

    Attributes
    ----------
    name : str
        What gates and results call it.
    compute : callable
        From the dense hits and, where `needs_bm25`, the BM25 hits of n questions to float32[n].
    depth : int
        How many hits of each list it looks at; the lists must be that deep, or as deep as the store.
    needs_bm25 : bool
        Whether it looks at BM25.
    """

    name: str
    compute: Callable[[Hits, Hits], Floats]
    depth: int
    needs_bm25: bool = False


def _top1(dense: Hits, _: Hits) -> Floats:
    """Return the score of the best hit; -inf without one."""
    return _scores(dense, 1)[:, 0]


def _margin(dense: Hits, _: Hits) -> Floats:
    """Return the best score less the second; inf where there is no second, so nothing to be confused with."""
    best = _scores(dense, 2)
    with np.errstate(invalid="ignore"):
        margin: Floats = np.where(np.isneginf(best[:, 1]), np.float32(np.inf), best[:, 0] - best[:, 1])
    return margin


def _spread(dense: Hits, _: Hits) -> Floats:
    """Return the standard deviation (of the population) of the best 10 scores; 0 for fewer than two."""
    best = _scores(dense, SPREAD_DEPTH).astype(np.float64)
    real = np.isfinite(best)
    count = np.maximum(real.sum(1), 1)
    mean = np.where(real, best, 0.0).sum(1) / count
    squares = np.where(real, (np.where(real, best, 0.0) - mean[:, None]) ** 2, 0.0)
    deviation: Floats = np.sqrt(squares.sum(1) / count).astype(np.float32)
    return deviation


def _concentration(dense: Hits, _: Hits) -> Floats:
    """Return one less the normalised entropy of the softmax of the best 5 scores; 1 for fewer than two."""
    best = _scores(dense, CONCENTRATION_DEPTH).astype(np.float64)
    real = np.isfinite(best)
    top = np.where(real.any(1), np.where(real, best, -np.inf).max(1), 0.0)
    weights = np.where(real, np.exp(np.where(real, best, 0.0) - top[:, None]), 0.0)
    shares = weights / np.maximum(weights.sum(1), 1e-300)[:, None]
    entropy = -np.sum(shares * np.log(np.where(shares > 0, shares, 1.0)), axis=1)
    most = np.log(np.maximum(real.sum(1), 2))
    concentration: Floats = (1.0 - entropy / most).astype(np.float32)
    return concentration


def _agreement(dense: Hits, bm25: Hits) -> Floats:
    """Return 1 where the best dense hit is among the best 10 of BM25, else 0."""
    first = dense.ids[:, :1]
    agree: Floats = ((bm25.ids[:, :AGREEMENT_DEPTH] == first) & (first >= 0)).any(1).astype(np.float32)
    return agree


SIGNALS: Mapping[str, Signal] = MappingProxyType(
    {
        signal.name: signal
        for signal in (
            Signal("top1", _top1, 1),
            Signal("margin", _margin, 2),
            Signal("spread", _spread, SPREAD_DEPTH),
            Signal("concentration", _concentration, CONCENTRATION_DEPTH),
            Signal("agreement", _agreement, AGREEMENT_DEPTH, needs_bm25=True),
        )
    }
)
DENSE_SIGNALS = tuple(name for name, signal in SIGNALS.items() if not signal.needs_bm25)


def compute_signals(names: Iterable[str], dense: Hits, bm25: Hits | None = None) -> dict[str, Floats]:
    """Return each named signal of n questions.

    Parameters
    ----------
    names : iterable of str
        Of `SIGNALS`.
    dense, bm25 : Hits
        The lists of the questions themselves, of one length; `bm25` only where a signal needs it.

    Returns
    -------
    dict of float32[n]
        In the order of `names`. A question without hits gets the value that the signal states for it, never
        NaN.

    Examples
    --------
    >>> hits = Hits(np.array([[4, 1, 7]], np.int32), np.array([[0.75, 0.5, 0.25]], np.float32))
    >>> found = compute_signals(["top1", "margin"], hits)
    >>> {name: values.tolist() for name, values in found.items()}
    {'top1': [0.75], 'margin': [0.25]}
    """
    found: dict[str, Floats] = {}
    for name in names:
        signal = SIGNALS[check_choice("signal", name, tuple(SIGNALS))]
        if signal.needs_bm25 and bm25 is None:
            raise InvalidInputError(f"signal {name!r} needs the BM25 hits of the questions")
        if bm25 is not None and len(bm25) != len(dense):
            raise InvalidInputError(
                f"dense and bm25 must be of one length; got {len(dense)} and {len(bm25)} questions"
            )
        found[name] = signal.compute(dense, dense if bm25 is None else bm25)
    return found


def _scores(hits: Hits, depth: int) -> Floats:
    """Return float32[n, depth]: the best scores, padded with -inf."""
    scores = hits.scores[:, :depth]
    missing = depth - scores.shape[1]
    return np.pad(scores, ((0, 0), (0, missing)), constant_values=-np.inf) if missing else scores
