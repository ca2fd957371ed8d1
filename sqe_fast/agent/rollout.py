"""Rollouts in step over a batch: one generation, one search and one squeeze a turn for all live questions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from sqe_fast.agent.presets import Preset
from sqe_fast.agent.squeeze import Squeezer
from sqe_fast.agent.values import Budgets, Passage, Retriever, Rollout, SearchTurn, Segment
from sqe_fast.generate.base import Generator

__all__ = ["Budgets", "Passage", "Retriever", "Roller", "Rollout", "SearchTurn", "Segment"]


class Roller:
    """Runs one preset over batches of questions."""

    def __init__(
        self,
        policy: Generator,
        retriever: Retriever | None,
        preset: Preset,
        *,
        compressor: Squeezer | Generator | None = None,
        budgets: Budgets | None = None,
        temperature: float = 0.0,
        seed: int | None = None,
        continuation: Literal["continue", "chat"] = "continue",
        force_answer: bool = True,
    ) -> None:
        raise NotImplementedError

    def run(self, questions: Iterable[str], ids: Sequence[str] | None = None) -> list[Rollout]:
        """Return one rollout a question, in order."""
        raise NotImplementedError
