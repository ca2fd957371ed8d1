"""rank_bm25's BM25Okapi: a full score row a query; the top k by partition instead of its own full sort."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from bench.peers.base import Arrays, Engine, EngineUnavailableError, pad_rows

try:
    from rank_bm25 import BM25Okapi
except ImportError as error:
    raise EngineUnavailableError(f"rank_bm25: {error}") from error


class RankBm25(Engine):
    name = "rank_bm25"
    formula = "okapi"
    threads = False

    def build(self, texts: Iterable[str], threads: int = 1) -> None:
        self.index = BM25Okapi([text.lower().split() for text in texts], k1=self.k1, b=self.b)

    def search(self, prepared: list[list[str]], k: int, threads: int = 1) -> Any:
        rows = []
        for words in prepared:
            scores = self.index.get_scores(words)
            best = np.argpartition(-scores, min(k, len(scores) - 1))[:k]
            best = best[np.argsort(-scores[best], kind="stable")]
            rows.append((best, scores[best]))
        return rows

    def arrays(self, result: Any, k: int) -> Arrays:
        return pad_rows(result, k)

    def query_limit(self, documents: int) -> int:
        # It does the same work for every query: a few of them time it well enough.
        return max(3, 200_000 // documents)
