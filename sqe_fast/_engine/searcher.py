"""Texts to ranked lists: both indices of one snapshot, and the encoder."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqe_fast._store.settings import Encoder, differences
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.gate.evidence import Corpus
from sqe_fast.hits import Hits
from sqe_fast.store import Snapshot

__all__ = ["Searcher"]

KIND = {"question": "query", "traces": "document", "paraphrases": "query"}
"""How an encoder that tells questions from documents takes each probe: a trace stands for a document."""


MOMENT_ROWS = 65536


class Searcher:
    """Encodes texts and looks them up in the indices of one snapshot."""

    def __init__(
        self,
        snapshot: Snapshot,
        encoder: Encoder | None,
        factory: str,
        device: str | None,
        threads: int | None,
    ) -> None:
        if encoder is not None and (found := differences(snapshot.settings, {}, encoder)):
            raise InvalidInputError(f"the store was made with another encoder: {'; '.join(found)}")
        self.snapshot = snapshot
        self._encoder = encoder
        self._factory = factory
        self._device = device
        self._threads = threads
        self._encoding = Lock()  # a cascade encodes probes while the next chunk's questions are encoded

    def need_dense(self, name: str) -> None:
        """Refuse method `name` where there is nothing to find vectors with."""
        if self.snapshot.vectors is None:
            raise InvalidInputError(
                f"{name} needs vectors, and the store has none: it was made without an encoder. Make one "
                "with MemoryStore.create(encoder=...), or use the method bm25"
            )
        if self._encoder is None:
            raise InvalidInputError(
                f"{name} needs the store's encoder, {self.snapshot.settings['encoder']['name']!r}; give it "
                "as Engine(store, encoder)"
            )

    @cached_property
    def _dense(self) -> Any:
        from sqe_fast.dense import DenseIndex

        vectors = self.snapshot.vectors
        if vectors is None:
            raise InvalidInputError("the store has no vectors")
        return DenseIndex.build(vectors, self._factory, self._device, dim=vectors.shape[1])

    def encode(self, texts: Sequence[str], probes: Sequence[str]) -> NDArray[np.float32]:
        """Return float32[n, dim]: the vectors of `texts`, each a probe of that kind, in one call.

        Two calls where the encoder puts different prefixes before questions and documents and there are both.
        """
        with self._encoding:
            return self._encoded(texts, np.array([KIND[probe] for probe in probes]))

    def _encoded(self, texts: Sequence[str], kinds: NDArray[np.str_]) -> NDArray[np.float32]:
        if self._encoder is None:
            raise InvalidInputError("vectors are needed, and there is no encoder")
        settings = self._encoder.settings
        same = settings.get("query_prefix", "") == settings.get("document_prefix", "")
        if same or (kinds == "query").all():
            return self._checked(self._encoder.encode(list(texts), kind="query"), len(texts))
        out = np.empty((len(texts), self._encoder.dim), np.float32)
        for kind in np.unique(kinds).tolist():
            at = np.flatnonzero(kinds == kind)
            out[at] = self._checked(self._encoder.encode([texts[i] for i in at.tolist()], kind=kind), len(at))
        return out

    def dense(self, vectors: NDArray[np.float32], depth: int) -> Hits:
        """Return the `depth` best rows by inner product."""
        hits: Hits = self._dense.search(vectors, depth, self._threads)
        return hits

    def bm25(self, texts: Sequence[str], depth: int) -> Hits:
        """Return the `depth` best rows by BM25."""
        hits: Hits = self.snapshot.bm25.search(list(texts), depth, self._threads)
        return hits

    @cached_property
    def corpus(self) -> Corpus:
        """What signals see of the store."""
        vectors, words = self.snapshot.vectors, lambda: self.snapshot.bm25
        return Corpus(vectors, words, self.dense, self.dense_rows, self._threads)

    def need_rows(self, name: str) -> None:
        """Refuse method `name` where not every document can be scored."""
        if self._factory != "Flat":
            raise InvalidInputError(
                f"{name} fuses the scores of every document, which needs factory 'Flat'; got "
                f"{self._factory!r}"
            )

    def dense_rows(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return float32[n, documents]: the inner product of each vector with every document's."""
        rows: NDArray[np.float32] = self._dense.scores(vectors, self._threads)
        return rows

    def dense_moments(self, vectors: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return float64[n] twice: mean and deviation of the inner products with all documents' vectors.

        With m the mean vector and C the covariance of the documents: ``q m`` and ``sqrt(q C q)``, so O(dim^2)
        a vector whatever the number of documents. m and C are made once; of stores of more than 65,536
        documents from so many, evenly spaced.
        """
        mean, covariance = self._spectrum
        wide = vectors.astype(np.float64)
        variance = np.einsum("qd,qd->q", wide @ covariance, wide)
        return wide @ mean, np.sqrt(np.maximum(variance, 0.0))

    @cached_property
    def _spectrum(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        vectors = self.snapshot.vectors
        if vectors is None or not len(vectors):
            raise InvalidInputError("the store has no vectors")
        rows = np.linspace(0, len(vectors) - 1, min(len(vectors), MOMENT_ROWS)).round().astype(np.int64)
        total, square = np.zeros(vectors.shape[1]), np.zeros((vectors.shape[1],) * 2)
        for start in range(0, len(rows), 4096):
            part = vectors[rows[start : start + 4096]].astype(np.float64)
            total += part.sum(0)
            square += part.T @ part
        mean = total / len(rows)
        return mean, square / len(rows) - np.outer(mean, mean)

    def bm25_rows(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32[n, documents]: the BM25 score of every document."""
        return self.snapshot.bm25.score_rows(list(texts), self._threads)

    def _checked(self, vectors: Any, n: int) -> NDArray[np.float32]:
        if self._encoder is None or not isinstance(vectors, np.ndarray):
            raise InvalidTypeError(f"encode must return an array; got {type(vectors).__name__}")
        if vectors.shape != (n, self._encoder.dim):
            raise InvalidInputError(
                f"encoder {self._encoder.name!r} must return float32[{n}, {self._encoder.dim}]; got "
                f"{vectors.dtype}{list(vectors.shape)}"
            )
        return np.asarray(vectors, np.float32)
