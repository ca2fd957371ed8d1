"""bm25q, the fork of bm25s: its exact mode, and its 8-bit mode with a 16-bit accumulator (approximate)."""

from __future__ import annotations

from typing import Any

from bench.peers.base import EngineUnavailableError
from bench.peers.bm25s_numba import Bm25sNumba

try:
    import bm25q
except ImportError as error:
    raise EngineUnavailableError(f"bm25q: {error}") from error


class Bm25qExact(Bm25sNumba):
    name = "bm25q exact"

    def make(self) -> Any:
        return bm25q.BM25(method="lucene", k1=self.k1, b=self.b, backend="numba")


class Bm25qU8(Bm25sNumba):
    name = "bm25q u8"
    exact = False
    comparable = False

    def make(self) -> Any:
        return bm25q.BM25(method="lucene", k1=self.k1, b=self.b, backend="numba", quantize=True)
