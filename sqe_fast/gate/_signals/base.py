"""What a signal is, and arithmetic that signals share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqe_fast.errors import InvalidInputError
from sqe_fast.gate.evidence import Evidence
from sqe_fast.hits import Hits

__all__ = ["Doubles", "Floats", "Signal", "deviation", "mean_of", "missing", "rounded", "top"]

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Signal:
    """One signal.

    Attributes
    ----------
    name : str
        What gates and results call it.
    compute : callable
        From the evidence on n questions to float32[n].
    depth : int
        How many hits of each list it looks at; the lists must be that deep, or as deep as the store.
    needs : frozenset of str
        Of what `Evidence.held` names: dense, bm25 (lists), questions, queries (their vectors), documents (the
        store's vectors), words (the BM25 index), again (a further search).
    """

    name: str
    compute: Callable[[Evidence], Floats]
    depth: int = 1
    needs: frozenset[str] = frozenset({"dense"})

    @property
    def needs_bm25(self) -> bool:
        """Whether it looks at BM25 lists."""
        return "bm25" in self.needs

    @property
    def indexes(self) -> frozenset[str]:
        """In which indexes questions must be looked up for it: of "dense" and "bm25"."""
        found = self.needs & {"dense", "bm25"}
        # Vectors of questions and of the store come with the dense list.
        return found | {"dense"} if self.needs & {"queries", "documents", "again"} else found


def missing(what: str) -> InvalidInputError:
    """Return the error of a signal that was computed without what it needs."""
    return InvalidInputError(f"the evidence holds no {what}")


def top(hits: Hits | None, depth: int) -> tuple[Doubles, NDArray[np.bool_]]:
    """Return float64[n, depth], the best scores, padded with 0; and bool[n, depth], which are real."""
    if hits is None:
        raise missing("ranked lists")
    scores = hits.scores[:, :depth].astype(np.float64)
    lack = depth - scores.shape[1]
    if lack > 0:
        scores = np.pad(scores, ((0, 0), (0, lack)), constant_values=-np.inf)
    real = np.isfinite(scores)
    return np.where(real, scores, 0.0), real


def mean_of(scores: Doubles, real: NDArray[np.bool_]) -> Doubles:
    """Return float64[n], the mean of the real scores; 0 without any."""
    mean: Doubles = scores.sum(1) / np.maximum(real.sum(1), 1)
    return mean


def deviation(scores: Doubles, real: NDArray[np.bool_]) -> Doubles:
    """Return float64[n], the standard deviation (of the population) of real scores; 0 for fewer than two."""
    squares = np.where(real, (scores - mean_of(scores, real)[:, None]) ** 2, 0.0)
    found: Doubles = np.sqrt(mean_of(squares, real))
    return found


def rounded(values: Doubles | NDArray[np.bool_]) -> Floats:
    """Return float32; what is finite and too large becomes the largest float32."""
    doubles = np.asarray(values, np.float64)
    within = np.where(np.isinf(doubles), doubles, np.clip(doubles, -LARGEST, LARGEST))
    result: Floats = within.astype(np.float32)
    return result
