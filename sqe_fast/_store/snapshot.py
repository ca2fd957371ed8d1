"""What a search sees of a store: one generation and its episodes, whatever is written meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sqe_fast._checks import describe
from sqe_fast._store.generation import Generation
from sqe_fast._store.truth import Truth
from sqe_fast.bm25 import BM25Index
from sqe_fast.episode import Episode, check_id
from sqe_fast.errors import InvalidInputError, InvalidTypeError

__all__ = ["Snapshot"]


class Snapshot:
    """A fixed view of a store; rows are positions in it, in store order.

    Attributes
    ----------
    generation : int
        The number of the generation of the index.
    moment, folder
        What the truth held when it was built, and where its files are.
    vectors : float16[n, dim] or None
        Mapped from disk; None in a store without an encoder.
    settings : mapping
        What the store pins: `bm25` and `encoder`.
    bm25
        The BM25 index over the same rows, loaded when first asked for.
    """

    def __init__(self, generation: Generation, truth: Truth) -> None:
        self._generation = generation
        self.moment = generation.moment
        self.folder = generation.folder
        self._truth = truth
        self.generation = generation.number
        self.vectors = generation.vectors
        self.settings: Mapping[str, Any] = generation.settings

    @property
    def bm25(self) -> BM25Index:
        """The BM25 index over the rows; it is shared, treat it as read-only."""
        return self._generation.bm25

    def __len__(self) -> int:
        return self._generation.count

    def ids(self, rows: ArrayLike) -> list[str]:
        """Return the id of each row; `rows` is any one-dimensional list of positions from 0 to n - 1."""
        # A batch of questions hits the same rows again and again: each is fetched once.
        distinct, back = np.unique(self._checked(rows), return_inverse=True)
        found = list(self._truth.ids(self._generation.rows[distinct]))
        return [found[position] for position in back.tolist()]

    def texts(self, rows: ArrayLike) -> list[str]:
        """Return the text of each row."""
        return list(self._truth.texts(self._generation.rows[self._checked(rows)]))

    def episodes(self, rows: ArrayLike) -> list[Episode]:
        """Return the episode of each row."""
        return list(self._truth.episodes(self._generation.rows[self._checked(rows)]))

    def rows(self, ids: Sequence[str]) -> NDArray[np.int32]:
        """Return int32[n]: the row of each id, -1 for one that this snapshot lacks."""
        if isinstance(ids, (str, bytes)):
            raise InvalidTypeError(
                f"ids must be a list of str, not one {type(ids).__name__}; for one id pass [id]"
            )
        wanted = [check_id(f"ids[{position}]", one) for position, one in enumerate(ids)]
        found = self._truth.find(list(dict.fromkeys(wanted)), self._generation.moment)
        seqs = np.array([found.get(one, -1) for one in wanted], np.int64)
        at = np.searchsorted(self._generation.rows, seqs)
        return np.where(seqs >= 0, at, -1).astype(np.int32)

    def _checked(self, rows: ArrayLike) -> NDArray[np.int64]:
        given = np.asarray(rows)
        if given.size == 0 and given.ndim == 1:
            return np.empty(0, np.int64)
        if given.ndim != 1 or given.dtype.kind not in "iu":
            raise InvalidTypeError(f"rows must be a one-dimensional list of ints; got {describe(rows)}")
        if given.min() < 0 or given.max() >= len(self):
            raise InvalidInputError(
                f"rows must be from 0 to {len(self) - 1}; got {given.min()} to {given.max()} (padding is "
                "not a row)"
            )
        return given.astype(np.int64)
