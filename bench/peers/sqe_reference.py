"""The reference's way to answer: one question at a time, faiss, rank_bm25 and a dict loop on string ids.

Equal BM25 scores stand in store order, and a list holds only documents with a word of the query, so that the
answers can be compared; both cost next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.peers.base import EngineUnavailableError
from bench.peers.fusion import dict_loop

__all__ = ["SqeReference"]

Encode = Callable[[str], NDArray[np.float32]]
Expansion = Mapping[str, Sequence[str]]
Expand = Callable[[str], Expansion]


class SqeReference:
    """Selective query expansion over a store; indexing is not timed."""

    def __init__(
        self, ids: Sequence[str], texts: Sequence[str], vectors: NDArray[np.float32], threshold: float = 0.65
    ) -> None:
        try:
            import faiss
            from rank_bm25 import BM25Okapi
        except ImportError as error:
            raise EngineUnavailableError(f"the reference's way: {error}") from error
        self.ids = ids
        self.threshold = threshold
        self.dense = faiss.IndexFlatIP(vectors.shape[1])
        self.dense.add(vectors)
        self.bm25 = BM25Okapi([text.lower().split() for text in texts])

    def dense_list(self, vector: NDArray[np.float32], depth: int) -> list[tuple[str, float]]:
        """Look one vector up."""
        scores, rows = self.dense.search(vector[None], depth)
        return [(self.ids[row], float(score)) for row, score in zip(rows[0], scores[0], strict=True)]

    def bm25_list(self, text: str, depth: int) -> list[tuple[str, float]]:
        """Look one text up."""
        scores = self.bm25.get_scores(text.lower().split())
        rows = np.argsort(-scores, kind="stable")[:depth]
        return [(self.ids[row], float(scores[row])) for row in rows if scores[row] > 0]

    def answer(self, question: str, encode: Encode, expand: Expand, k: int = 5) -> list[str]:
        """Return the ids of the k best steps for one question."""
        depth = 2 * k
        lists: list[Any] = [self.dense_list(encode(question), depth)]
        if lists[0][0][1] >= self.threshold:
            return [name for name, _ in lists[0][:k]]
        made = expand(question)
        for trace in made["traces"]:
            lists += [self.dense_list(encode(trace), depth), self.bm25_list(trace, depth)]
        for paraphrase in made["paraphrases"]:
            lists.append(self.dense_list(encode(paraphrase), depth))
        return [name for name, _ in dict_loop(lists, k)]
