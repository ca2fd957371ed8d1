"""bm25-turbo, one query a call. Words are given as ASCII stand-ins, since it stems and drops stop words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from bench.peers.base import Arrays, Engine, EngineUnavailableError, in_threads, pad_rows

try:
    import bm25_turbo_python
except ImportError as error:
    raise EngineUnavailableError(f"bm25-turbo: {error}") from error


class Bm25Turbo(Engine):
    name = "bm25-turbo"

    def build(self, texts: Iterable[str], threads: int = 1) -> None:
        words: dict[str, str] = {}
        plain = [
            " ".join([words.setdefault(w, f"t{len(words)}") for w in text.lower().split()]) for text in texts
        ]
        self.words = words
        self.index = bm25_turbo_python.BM25(method="lucene", k1=self.k1, b=self.b)
        self.index.index(plain)

    def prepare(self, queries: Sequence[str]) -> list[str]:
        return [
            " ".join(self.words[w] for w in query.lower().split() if w in self.words) for query in queries
        ]

    def search(self, prepared: list[str], k: int, threads: int = 1) -> list[Any]:
        search = self.index.search_numpy
        return in_threads(lambda query: search(query, k), prepared, threads)

    def arrays(self, result: list[Any], k: int) -> Arrays:
        return pad_rows(result, k)
