"""bm25s with its numba backend: exact scores computed ahead, all postings of a query added up.

Given token ids instead of words (prepared untimed), one call a batch, progress bars off. Its "lucene" method
leaves out the constant factor k1 + 1, which changes no rank.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from bench.peers.base import Arrays, Engine, EngineUnavailableError

try:
    import bm25s
    import numba  # noqa: F401  (without it bm25s falls back to numpy)
except ImportError as error:
    raise EngineUnavailableError(f"bm25s with numba: {error}") from error


class Bm25sNumba(Engine):
    name = "bm25s numba"

    def make(self) -> Any:
        return bm25s.BM25(method="lucene", k1=self.k1, b=self.b, backend="numba")

    def build(self, texts: Iterable[str], threads: int = 1) -> None:
        # All of it is timed where a build is timed: words to ids is part of indexing strings.
        vocabulary: dict[str, int] = {}
        ids = [
            [vocabulary.setdefault(word, len(vocabulary)) for word in text.lower().split()] for text in texts
        ]
        self.index = self.make()
        self.index.index((ids, vocabulary), show_progress=False)

    def prepare(self, queries: Sequence[str]) -> list[list[int]]:
        vocabulary = self.index.vocab_dict
        return [[vocabulary[w] for w in query.lower().split() if w in vocabulary] for query in queries]

    def search(self, prepared: list[list[int]], k: int, threads: int = 1) -> Any:
        return self.index.retrieve(prepared, k=k, show_progress=False, n_threads=threads)

    def arrays(self, result: Any, k: int) -> Arrays:
        return result.documents.astype("int32"), result.scores.astype("float32")
