"""All ranked lists of a chunk in one table, and for each question which rows of it are its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqe_fast.hits import Hits

__all__ = ["Lists", "Looked", "Places", "empty_hits", "wide", "with_blank"]

ABSENT = -1


def empty_hits(n: int, depth: int) -> Hits:
    """Return n rows without hits."""
    return Hits(np.full((n, depth), -1, np.int32), np.full((n, depth), -np.inf, np.float32))


def with_blank(hits: Hits) -> Hits:
    """Return `hits` with a row without hits behind: what the place -1, no text, leads to."""
    blank = empty_hits(1, hits.ids.shape[1])
    return Hits(np.concatenate([hits.ids, blank.ids]), np.concatenate([hits.scores, blank.scores]))


def wide(rows: NDArray[np.int32], width: int) -> NDArray[np.int32]:
    """Return the first `width` columns, made up with -1 where there are fewer."""
    missing = width - rows.shape[1]
    return np.pad(rows, ((0, 0), (0, missing)), constant_values=ABSENT) if missing > 0 else rows[:, :width]


class Places:
    """Distinct texts, numbered as they come."""

    def __init__(self) -> None:
        self._place: dict[str, int] = {}

    def of(self, text: str) -> int:
        """Return the number of a text, a new one for a new text."""
        return self._place.setdefault(text, len(self._place))

    @property
    def texts(self) -> list[str]:
        """The texts, by number."""
        return list(self._place)

    def __len__(self) -> int:
        return len(self._place)


@dataclass(frozen=True, eq=False)
class Looked:
    """Texts that were looked up in one index: n lists, and what to look up again by.

    Attributes
    ----------
    index : str
        "dense" or "bm25".
    texts : sequence of str
    vectors : float32[n, dim] or None
        Of the texts; None for BM25.
    hits : Hits
    scored : float32[n, documents] or None
        Every document's score, where a signal of the gate has needed them already.
    """

    index: str
    texts: Sequence[str]
    vectors: NDArray[np.float32] | None
    hits: Hits
    scored: NDArray[np.float32] | None = None


@dataclass(frozen=True, eq=False)
class Lists:
    """The ranked lists of a chunk.

    Attributes
    ----------
    hits : Hits
        [rows, depth]: every list once, however many questions and methods take it.
    counts : int32[rows]
        Hits in each.
    rows : mapping of (probe, index) to int32[distinct + 1, width]
        For each distinct question, and behind them for no question, the row of each list; -1: not there.
    """

    hits: Hits
    counts: NDArray[np.int32]
    rows: Mapping[tuple[str, str], NDArray[np.int32]]

    @classmethod
    def join(cls, parts: Sequence[Looked], depth: int) -> Lists:
        """Join searches, in order, and a list without hits behind them: what the row -1 reads."""
        blank = empty_hits(1, depth)
        hits = Hits(
            np.concatenate([*(part.hits.ids for part in parts), blank.ids]),
            np.concatenate([*(part.hits.scores for part in parts), blank.scores]),
        )
        return cls(hits, hits.counts, {})
