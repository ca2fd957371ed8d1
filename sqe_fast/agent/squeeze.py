"""The compressor: many passages of several queries to one short observation, all questions in one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqe_fast.agent.values import Passage
from sqe_fast.generate.base import Generator
from sqe_fast.usage import Usage

__all__ = ["Squeezed", "Squeezer"]


@dataclass(frozen=True)
class Squeezed:
    """One observation: its text, whether the compressor wrote it, why not, and what it cost."""

    text: str
    squeezed: bool
    problem: str | None
    usage: Usage


class Squeezer:
    """Squeezes with any generator; where it fails, `fallback` says what is shown instead."""

    def __init__(
        self,
        generator: Generator,
        *,
        max_new_tokens: int = 512,
        fallback: Literal["raw", "truncated", "drop"] = "raw",
    ) -> None:
        raise NotImplementedError

    def squeeze(
        self, searches: Sequence[tuple[Sequence[str], Sequence[Sequence[Passage]]]]
    ) -> list[Squeezed]:
        """Return one observation for each (queries, passages of each query), in one call of the generator."""
        raise NotImplementedError
