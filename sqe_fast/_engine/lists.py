"""All ranked lists of a chunk in one table, and for each question which rows of it are its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqe_fast.hits import Hits

__all__ = ["Lists", "Looked", "Places", "empty_hits", "with_blank"]

ABSENT = -1


def empty_hits(n: int, depth: int) -> Hits:
    """Return n rows without hits."""
    return Hits(np.full((n, depth), -1, np.int32), np.full((n, depth), -np.inf, np.float32))


def with_blank(hits: Hits) -> Hits:
    """Return `hits` with a row without hits behind: what the place -1, no text, leads to."""
    blank = empty_hits(1, hits.ids.shape[1])
    return Hits(np.concatenate([hits.ids, blank.ids]), np.concatenate([hits.scores, blank.scores]))


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
    """

    index: str
    texts: Sequence[str]
    vectors: NDArray[np.float32] | None
    hits: Hits


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
    parts : sequence of Looked
        The searches that the table joins, in the order of its rows.
    """

    hits: Hits
    counts: NDArray[np.int32]
    rows: Mapping[tuple[str, str], NDArray[np.int32]]
    parts: Sequence[Looked] = ()

    @classmethod
    def join(
        cls,
        parts: Sequence[Looked],
        places: Sequence[Mapping[tuple[str, str], NDArray[np.int32]]],
        depth: int,
    ) -> Lists:
        """Join searches: the places of each part count from its own first row."""
        rows: dict[tuple[str, str], NDArray[np.int32]] = {}
        start = 0
        for part, of_part in zip(parts, places, strict=True):
            for key, place in of_part.items():
                rows[key] = np.where(place >= 0, place + np.int32(start), np.int32(ABSENT))
            start += len(part.hits)
        blank = empty_hits(1, depth)  # what the place -1 reads, if only to be thrown away
        hits = Hits(
            np.concatenate([*(part.hits.ids for part in parts), blank.ids]),
            np.concatenate([*(part.hits.scores for part in parts), blank.scores]),
        )
        return cls(hits, hits.counts, rows, parts)
