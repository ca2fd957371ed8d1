"""The systems as data: seven published search agents, each a row of settings of the one loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from sqe_fast.agent.dialect import TAGS, Dialect
from sqe_fast.agent.values import Budgets

__all__ = ["Preset"]


@dataclass(frozen=True)
class Preset:
    """One system.

    Attributes
    ----------
    name, alias : str
        As its paper writes it, and short.
    queries : int or None
        Queries a search turn: 0 no search, None as many as the policy likes; of more, the first count.
    k : int
        Passages a query.
    turns : int
        Search turns at most.
    squeeze : bool
        A compressor writes the observation; else it is the passages.
    retriever : "none", "index", "simulated" or "pool"
        What kind it was published with.
    reward : str
        A name of `sqe_fast.agent.rewards.REWARDS`.
    prompt : str
        What the policy is told; ``{question}`` stands where the question goes.
    dialect : Dialect
        How it writes searches and answers.
    budgets : Budgets
    source : str
        Where it was published.
    published : mapping of str to float
        Mean EM over the seven sets as published, by policy ("3B", "7B"). Rows of different papers do not
        compare.
    """

    name: str
    alias: str
    queries: int | None
    k: int
    turns: int
    squeeze: bool
    retriever: Literal["none", "index", "simulated", "pool"]
    reward: str
    prompt: str
    dialect: Dialect = TAGS
    budgets: Budgets = field(default_factory=Budgets)
    source: str = ""
    published: Mapping[str, float] = field(default_factory=dict)
