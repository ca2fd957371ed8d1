"""Exact inner product search, the obvious way."""

from __future__ import annotations

import numpy as np


def top_k(vectors, queries, k):
    """Sort every row of float64 products by (score descending, row ascending); pad with -1 / -inf."""
    ids = np.full((len(queries), k), -1, dtype=np.int32)
    scores = np.full((len(queries), k), -np.inf, dtype=np.float32)
    for i, query in enumerate(np.asarray(queries, dtype=np.float64)):
        row = [float(np.dot(np.asarray(v, dtype=np.float64), query)) for v in vectors]
        best = sorted(range(len(row)), key=lambda j: (-row[j], j))[:k]
        ids[i, : len(best)] = best
        scores[i, : len(best)] = [row[j] for j in best]
    return ids, scores
