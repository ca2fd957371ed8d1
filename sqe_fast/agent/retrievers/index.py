"""Our own search as a retriever: an engine over a store, or one index over passages."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sqe_fast._checks import check_choice, check_int, describe
from sqe_fast._store.settings import Encoder
from sqe_fast.agent.values import Passage
from sqe_fast.bm25 import BM25Index
from sqe_fast.dense import DenseIndex
from sqe_fast.engine import Engine
from sqe_fast.episode import Episode
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.fusion import rrf
from sqe_fast.hits import Hits
from sqe_fast.methods import Method, get_method
from sqe_fast.readers import read

__all__ = ["EngineRetriever", "IndexRetriever"]

KINDS = ("bm25", "dense", "hybrid")


class EngineRetriever:
    """Searches a memory store with any method of the engine.

    Parameters
    ----------
    engine : Engine
    method : str or Method
        Such as "hybrid", "dense" or "sqe" (which expands queries with the engine's generator).
    numbers
        Of the method.
    """

    def __init__(self, engine: Engine, method: str | Method = "hybrid", **numbers: Any) -> None:
        if not isinstance(engine, Engine):
            raise InvalidTypeError(f"engine must be an Engine; got {describe(engine)}")
        self._engine = engine
        self._method = get_method(method, **numbers)

    def search(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        """Return at most k passages for each query; one batched pass of the engine."""
        snapshot = self._engine.snapshot
        batch = self._engine.search(queries, self._method, k)
        rows = sorted({int(row) for ids, _ in batch.hits for row in ids})
        episodes = dict(zip(rows, snapshot.episodes(rows), strict=True)) if rows else {}
        return [
            [_passage(episodes[int(row)], float(score)) for row, score in zip(ids, scores, strict=True)]
            for ids, scores in batch.hits
        ]


class IndexRetriever:
    """Searches passages held in memory by BM25, by vectors, or by both fused.

    Parameters
    ----------
    passages : iterable of Passage
        Ids must differ.
    encoder : Encoder, optional
        For vectors; its profile knows the prefixes (E5's "query: " and "passage: "). Search-R1's is
        ``Encoder.load("intfloat/e5-base-v2", max_length=256)``.
    kind : "bm25", "dense" or "hybrid", optional
        By default "dense" where there is an encoder, else "bm25".
    threads : int, optional
        CPU threads of BM25.
    bm25
        Arguments of `BM25Index.build`.

    Examples
    --------
    >>> index = IndexRetriever([Passage("a", "Emma", "A novel by Jane Austen.", 0.0)])
    >>> index.search(["who wrote the novel Emma"], k=3)[0][0].title
    'Emma'
    """

    def __init__(
        self,
        passages: Iterable[Passage],
        encoder: Encoder | None = None,
        kind: str | None = None,
        *,
        threads: int | None = None,
        **bm25: Any,
    ) -> None:
        self._passages = list(passages)
        for position, passage in enumerate(self._passages):
            if not isinstance(passage, Passage):
                raise InvalidTypeError(f"passages[{position}] must be a Passage; got {describe(passage)}")
        if len({passage.id for passage in self._passages}) < len(self._passages):
            raise InvalidInputError("passages must differ in id")
        self.kind = check_choice("kind", kind or ("bm25" if encoder is None else "dense"), KINDS)
        if self.kind != "bm25" and encoder is None:
            raise InvalidInputError(f"kind={self.kind!r} needs an encoder")
        self._encoder = encoder
        self._threads = threads
        texts = [f"{passage.title} {passage.text}".strip() for passage in self._passages]
        settings: dict[str, Any] = {"tokenizer": "word", "variant": "lucene", "k1": 1.2} | bm25
        self._bm25 = BM25Index.build(texts, threads=threads, **settings) if self.kind != "dense" else None
        self._dense: DenseIndex | None = None
        if self.kind != "bm25" and encoder is not None:
            self._dense = DenseIndex.build(encoder.encode(texts, "document"), dim=encoder.dim)

    @classmethod
    def from_beir(
        cls,
        folder: str | os.PathLike[str],
        encoder: Encoder | None = None,
        kind: str | None = None,
        **more: Any,
    ) -> IndexRetriever:
        """Index the corpus of a BEIR folder (or one of its files): `_id`, `title`, `text`.

        Raises
        ------
        InvalidInputError, RecordError
            There is none, or a record is broken.
        """
        path = Path(folder)
        corpus = path / "corpus.jsonl" if path.is_dir() else path
        return cls((_passage(episode, 0.0) for episode in read(corpus)), encoder, kind, **more)

    def __len__(self) -> int:
        return len(self._passages)

    def __getitem__(self, row: int) -> Passage:
        """Return the passage of a row."""
        return self._passages[row]

    def search(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        """Return at most k passages for each query, best first; ties by the order of the passages."""
        asked = list(queries)
        k = check_int("k", k, 1)
        if not asked or not self._passages:
            return [[] for _ in asked]
        hits = self._hits(asked, min(k, len(self._passages)))
        return [
            [self._scored(int(row), float(score)) for row, score in zip(ids, scores, strict=True)]
            for ids, scores in hits
        ]

    def _hits(self, queries: list[str], k: int) -> Hits:
        depth = min(2 * k, len(self._passages)) if self.kind == "hybrid" else k
        lists = []
        if self._dense is not None and self._encoder is not None:
            lists.append(self._dense.search(self._encoder.encode(queries, "query"), depth, self._threads))
        if self._bm25 is not None:
            lists.append(self._bm25.search(queries, depth, self._threads))
        if len(lists) == 1:
            return lists[0]
        return rrf(np.stack([hits.ids for hits in lists], axis=1), k=k)

    def _scored(self, row: int, score: float) -> Passage:
        passage = self._passages[row]
        return Passage(passage.id, passage.title, passage.text, score)


def _passage(episode: Episode, score: float) -> Passage:
    """Return an episode as a passage; a title that stands before its text too is taken off there."""
    title = episode.fields.get("title", "")
    title = title if isinstance(title, str) else ""
    text = episode.text.removeprefix(f"{title} ") if title else episode.text
    return Passage(episode.id, title, text, score)
