"""Where an agent's queries go: our own indices, a Search-R1 server, a simulated engine, a pool of models."""

from __future__ import annotations

from sqe_fast.agent.retrievers.index import EngineRetriever, IndexRetriever
from sqe_fast.agent.retrievers.pool import PoolRetriever
from sqe_fast.agent.retrievers.server import ServerRetriever
from sqe_fast.agent.retrievers.simulated import SimulatedRetriever

__all__ = ["EngineRetriever", "IndexRetriever", "PoolRetriever", "ServerRetriever", "SimulatedRetriever"]
