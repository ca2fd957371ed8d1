"""What every engine of the race looks like: build once, prepare the queries untimed, search timed."""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["Engine", "EngineUnavailableError", "in_threads", "pad_rows", "quiet"]

Arrays = tuple[NDArray[np.int32], NDArray[np.float32]]


class EngineUnavailableError(Exception):
    """A library is missing or does not work here; the message is the reason to skip."""


class Engine(ABC):
    """One BM25 engine in its fastest batched form.

    Attributes
    ----------
    name : str
        How tables call it.
    formula : str
        The idf it uses ("lucene", "okapi" or "robertson"), with its k1 and b.
    exact : bool
        False where it scores with quantized impacts.
    comparable : bool
        True where its scores must equal the formula's, up to the constant factor k1 + 1 that some leave out;
        False where it rounds impacts or lengths.
    threads : bool
        Whether it can use more than one thread for a batch of queries.
    """

    name: ClassVar[str]
    formula: str = "lucene"
    exact: ClassVar[bool] = True
    comparable: ClassVar[bool] = True
    threads: ClassVar[bool] = True
    k1: float = 1.5
    b: float = 0.75

    @abstractmethod
    def build(self, texts: Iterable[str], threads: int = 1) -> None:
        """Index `texts` (lower-cased words between white space)."""

    def prepare(self, queries: Sequence[str]) -> Any:
        """Turn queries into what `search` takes; never timed, a present to the engine."""
        return [query.lower().split() for query in queries]

    @abstractmethod
    def search(self, prepared: Any, k: int, threads: int = 1) -> Any:
        """Search the whole batch and return the result in the engine's own form; this is what is timed."""

    @abstractmethod
    def arrays(self, result: Any, k: int) -> Arrays:
        """Turn a result into (ids, scores) of shape [n, k], padded with -1 / -inf; never timed."""

    def query_limit(self, documents: int) -> int | None:
        """How many queries are enough for a timing at this corpus size (None: all of them)."""
        return None

    def close(self) -> None:  # noqa: B027 (most engines have nothing to do here)
        """Drop what lives outside this process's memory."""


def pad_rows(rows: Sequence[tuple[Sequence[int], Sequence[float]]], k: int) -> Arrays:
    """Lay ragged (ids, scores) rows out as arrays."""
    ids = np.full((len(rows), k), -1, np.int32)
    scores = np.full((len(rows), k), -np.inf, np.float32)
    for row, (row_ids, row_scores) in enumerate(rows):
        ids[row, : len(row_ids)] = row_ids
        scores[row, : len(row_scores)] = row_scores
    return ids, scores


def in_threads(search_one: Callable[[Any], Any], items: Sequence[Any], threads: int) -> list[Any]:
    """Call `search_one` on every item, in chunks on a thread pool where more than one thread is wanted.

    For libraries that take one query a call and release the GIL; the pool is part of the measured work.
    """
    if threads == 1:
        return [search_one(item) for item in items]
    size = -(-len(items) // threads)
    chunks = [items[start : start + size] for start in range(0, len(items), size)]
    with ThreadPoolExecutor(threads) as pool:
        parts = pool.map(lambda chunk: [search_one(item) for item in chunk], chunks)
        return [result for part in parts for result in part]


@contextmanager
def quiet() -> Iterator[None]:
    """Send what native code prints (file descriptors 1 and 2) to nowhere."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        yield
    finally:
        for target, saved in zip((1, 2), kept, strict=True):
            os.dup2(saved, target)
            os.close(saved)
        os.close(nowhere)
