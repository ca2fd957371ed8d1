"""Reciprocal rank fusion elsewhere: a plain dict loop, numpy on id arrays, and ranx.

The dict loop is what most projects (and the SQE reference) do per query; written here in our own words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.peers.base import EngineUnavailableError

__all__ = ["dict_loop", "numpy_batch", "ranx_fuse", "ranx_runs"]


def dict_loop(
    lists: Sequence[Sequence[tuple[str, float]]], k: int, constant: float = 60.0
) -> list[tuple[str, float]]:
    """Fuse one query's lists of (id, score) by sums of 1 / (constant + rank); ties in first-seen order."""
    sums: dict[str, float] = {}
    for ranked in lists:
        for rank, (name, _) in enumerate(ranked, start=1):
            sums[name] = sums.get(name, 0.0) + 1.0 / (constant + rank)
    return sorted(sums.items(), key=lambda item: item[1], reverse=True)[:k]


def numpy_batch(ids: NDArray[np.int32], k: int, constant: float = 60.0) -> NDArray[np.int32]:
    """Fuse ids [n, L, depth] without a Python loop -> ids [n, k] (-1 where a query has fewer).

    Equal ids are brought together by a stable sort of each row, summed between boundaries, and the sums are
    sorted with the first-seen position as the tie-break. numpy adds in another order than a loop does, so
    sums that differ by less than their rounding may change places.
    """
    n, count, depth = ids.shape
    width = count * depth
    flat = ids.reshape(n, width)
    weights = np.tile(1.0 / (constant + np.arange(1, depth + 1)), count)
    order = np.argsort(flat, axis=1, kind="stable")
    grouped = np.take_along_axis(flat, order, axis=1)
    first = np.ones((n, width), bool)
    first[:, 1:] = grouped[:, 1:] != grouped[:, :-1]
    starts = np.flatnonzero(first)
    sums = np.full((n, width), -np.inf)
    sums.ravel()[starts] = np.add.reduceat(weights[order].ravel(), starts)
    # Back to first-seen order, so that a stable sort by sum breaks ties as the dict loop does.
    seen = np.full((n, width), -np.inf)
    np.put_along_axis(seen, order, sums, axis=1)
    best = np.argsort(-seen, axis=1, kind="stable")[:, :k]
    real = np.take_along_axis(seen, best, axis=1) > -np.inf
    return np.where(real, np.take_along_axis(flat, best, axis=1), -1)


def ranx_runs(ids: NDArray[np.int32]) -> list[Any]:
    """Build one ranx Run for each list position (never timed)."""
    try:
        from ranx import Run
    except ImportError as error:
        raise EngineUnavailableError(f"ranx: {error}") from error
    names = [str(row) for row in range(int(ids.max()) + 1)]
    n, count, depth = ids.shape
    scores = [1.0 / (60 + rank) for rank in range(1, depth + 1)]
    return [
        Run(
            {
                str(row): {names[i]: s for i, s in zip(ids[row, part].tolist(), scores, strict=True)}
                for row in range(n)
            },
            name=f"list{part}",
        )
        for part in range(count)
    ]


def ranx_fuse(runs: list[Any]) -> Any:
    """Fuse the runs by RRF; it returns every document of every query, sorted."""
    from ranx import fuse

    return fuse(runs=runs, method="rrf", params={"k": 60})
