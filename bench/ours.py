"""sqe_fast as the benches call it: every use of its public functions by the benches is in this file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bench.peers.base import Arrays, Engine

__all__ = ["SqeFast", "bootstrap", "fuse_ids", "fuse_lists", "isa_levels", "isa_name", "tokenizer", "use_isa"]

StringLists = Sequence[Sequence[tuple[str, float]]]


class SqeFast(Engine):
    """BM25Index, given plain strings: reading the words of a query is part of its measured time."""

    name: ClassVar[str] = "sqe_fast"

    def __init__(self, variant: str = "lucene") -> None:
        self.variant = variant
        self.formula = variant

    def build(self, texts: Iterable[str], threads: int = 1) -> None:
        from sqe_fast.bm25 import BM25Index

        self.index = BM25Index.build(
            texts, tokenizer="whitespace", variant=self.variant, k1=self.k1, b=self.b, threads=threads
        )

    def prepare(self, queries: Sequence[str]) -> list[str]:
        return list(queries)

    def search(self, prepared: list[str], k: int, threads: int = 1) -> Any:
        return self.index.search(prepared, k=k, threads=threads)

    def arrays(self, result: Any, k: int) -> Arrays:
        return result.ids, result.scores


def fuse_ids(ids: NDArray[np.int32], k: int, threads: int = 1) -> NDArray[np.int32]:
    """RRF over ids [n, L, depth] -> ids [n, k]."""
    from sqe_fast.fusion import rrf

    fused: NDArray[np.int32] = rrf(ids, k=k, constant=60.0, threads=threads).ids
    return fused


def fuse_lists(batch: Sequence[StringLists], k: int) -> list[list[tuple[str, float]]]:
    """RRF over lists of (id, score), one call a query as in the reference's loop."""
    from sqe_fast.fusion import rrf_lists

    return [rrf_lists(lists, k=k, constant=60.0) for lists in batch]


def bootstrap(deltas: NDArray[np.int8], resamples: int, threads: int = 1) -> tuple[float, ...]:
    """Paired bootstrap -> (mean, low, high, p_one_sided, p_two_sided)."""
    from sqe_fast.stats import paired_bootstrap

    return tuple(paired_bootstrap(deltas, resamples=resamples, seed=0, threads=threads))


def tokenizer(name: str, threads: int = 1) -> Callable[[list[str]], Any]:
    """A function that reads a batch of texts into words."""
    from sqe_fast.text import tokenize_batch

    return lambda texts: tokenize_batch(texts, name, threads=threads)


def isa_levels() -> list[str]:
    """The instruction set levels this machine can run, lowest first."""
    from sqe_fast import _core

    return list(_core.isa_levels())


def isa_name() -> str:
    """The instruction set level in use."""
    from sqe_fast import _core

    return str(_core.isa())


@contextmanager
def use_isa(level: str) -> Iterator[None]:
    """Run the kernels at `level`, then at the level from before."""
    from sqe_fast import _core

    before = _core.isa()
    _core.set_isa(level)
    try:
        yield
    finally:
        _core.set_isa(before)
