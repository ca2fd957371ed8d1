"""What every search returns: a batch of ranked rows as two arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqe_fast.errors import InvalidInputError

__all__ = ["Hits"]


@dataclass(frozen=True, eq=False)
class Hits:
    """Ranked rows for a batch of queries.

    Attributes
    ----------
    ids : int32[n, k]
        Row positions, best first: score descending, then position ascending. Padded with -1.
    scores : float32[n, k]
        The score of each row, padded with -inf.

    Examples
    --------
    >>> import numpy as np
    >>> hits = Hits(np.array([[3, 1, -1]], np.int32), np.array([[2.0, 1.0, -np.inf]], np.float32))
    >>> hits.counts.tolist()
    [2]
    >>> [ids.tolist() for ids, scores in hits]
    [[3, 1]]
    """

    ids: NDArray[np.int32]
    scores: NDArray[np.float32]

    def __post_init__(self) -> None:
        if self.ids.ndim != 2 or self.ids.shape != self.scores.shape:
            raise InvalidInputError(
                "Hits: ids and scores must be two-dimensional and of one shape; "
                f"got {self.ids.shape} and {self.scores.shape}"
            )
        if self.ids.dtype != np.int32 or self.scores.dtype != np.float32:
            raise InvalidInputError(
                f"Hits: ids must be int32 and scores float32; got {self.ids.dtype} and {self.scores.dtype}"
            )

    @property
    def counts(self) -> NDArray[np.int32]:
        """int32[n]: how many entries of each row are real (the rest is padding)."""
        real: NDArray[np.int32] = np.count_nonzero(self.ids >= 0, axis=1).astype(np.int32)
        return real

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[tuple[NDArray[np.int32], NDArray[np.float32]]]:
        """Yield (ids, scores) of each query without the padding."""
        for ids, scores, count in zip(self.ids, self.scores, self.counts, strict=True):
            yield ids[:count], scores[:count]
