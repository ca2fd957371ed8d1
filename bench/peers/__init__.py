"""Adapters to other libraries, one file a library; each is imported only when it is asked for."""

from __future__ import annotations

import importlib

from bench.peers.base import Engine, EngineUnavailableError

__all__ = ["PEERS", "Engine", "EngineUnavailableError", "make"]

# name on the command line -> module and class
PEERS = {
    "bm25s": ("bench.peers.bm25s_numba", "Bm25sNumba"),
    "bm25q": ("bench.peers.bm25q_numba", "Bm25qExact"),
    "bm25q-u8": ("bench.peers.bm25q_numba", "Bm25qU8"),
    "tantivy": ("bench.peers.tantivy_ram", "Tantivy"),
    "pisa": ("bench.peers.pisa_maxscore", "PisaMaxScore"),
    "bm25-turbo": ("bench.peers.bm25_turbo", "Bm25Turbo"),
    "rank_bm25": ("bench.peers.rank_bm25_okapi", "RankBm25"),
}


def make(name: str) -> Engine:
    """Return a fresh engine, or raise EngineUnavailableError with the reason."""
    module, attribute = PEERS[name]
    engine: Engine = getattr(importlib.import_module(module), attribute)()
    return engine
