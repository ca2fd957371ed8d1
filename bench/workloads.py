"""The inputs of the fusion and statistics benches, deterministic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["FUSIONS", "Fusion", "deltas", "fusion_ids", "fusion_lists"]

POOL = 4  # a query's lists draw from POOL x depth documents, so that lists overlap as those of one query do
DOCUMENTS = 200_000


@dataclass(frozen=True)
class Fusion:
    """A batch of `queries`, each with `lists` ranked lists of `depth` ids, fused to `k`."""

    queries: int
    lists: int
    depth: int
    k: int

    @property
    def items(self) -> int:
        """How many list entries are read."""
        return self.queries * self.lists * self.depth


FUSIONS = {"small": Fusion(1_000, 6, 10, 5), "large": Fusion(10_000, 6, 100, 100)}


def fusion_ids(shape: Fusion, seed: int = 3) -> NDArray[np.int32]:
    """Return ids [queries, lists, depth]: no id twice in one list."""
    rng = np.random.default_rng(seed)
    pool = rng.integers(0, DOCUMENTS // (POOL * shape.depth), (shape.queries, 1, 1)) * (POOL * shape.depth)
    keys = rng.random((shape.queries, shape.lists, POOL * shape.depth), dtype=np.float32)
    picks = np.argsort(keys, axis=2)[:, :, : shape.depth]
    return np.ascontiguousarray(pool + picks, dtype=np.int32)


def fusion_lists(ids: NDArray[np.int32]) -> list[list[list[tuple[str, float]]]]:
    """The same lists as [(id, score), ...] with string ids, best score first."""
    names = [f"ep_{row:06d}" for row in range(DOCUMENTS + 1)]
    scores = [1.0 - 0.001 * rank for rank in range(ids.shape[2])]
    return [
        [list(zip([names[i] for i in ranked], scores, strict=True)) for ranked in query]
        for query in ids.tolist()
    ]


def deltas(rows: int = 4_000, seed: int = 4) -> NDArray[np.int8]:
    """Differences of two hit indicators: 12% gains, 9% losses, the rest ties."""
    draw = np.random.default_rng(seed).random(rows)
    return np.where(draw < 0.12, 1, np.where(draw < 0.21, -1, 0)).astype(np.int8)
