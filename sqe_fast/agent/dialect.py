"""The two tag dialects in which a policy thinks, searches and answers: read tolerantly, judged strictly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["TAGS", "TOOLS", "Block", "Dialect", "Turn"]


@dataclass(frozen=True)
class Block:
    """A stretch of a response: what stands between two tags, or between blocks ("text").

    `text` is without its tags; `queries` are those of a "search". `closed` is False where the closing tag
    is missing.
    """

    kind: Literal["think", "search", "observation", "answer", "text"]
    text: str = ""
    queries: tuple[str, ...] = ()
    closed: bool = True


@dataclass(frozen=True)
class Turn:
    """What one turn of the policy says: it searches (`queries`), answers, or does neither.

    `text` is the turn up to the end of its action, closed.
    """

    text: str
    queries: tuple[str, ...] = ()
    answer: str | None = None


@dataclass(frozen=True)
class Dialect:
    """How searches and observations are written; `<think>` and `<answer>` are common to both."""

    name: str
    search: str
    observation: str
    form: Literal["separated", "single", "json"]

    @property
    def stops(self) -> tuple[str, ...]:
        """The closing tags at which a turn's generation stops."""
        return (f"</{self.search}>", "</answer>")

    def blocks(self, text: str) -> tuple[Block, ...]:
        """Read a response; never raises."""
        raise NotImplementedError

    def turn(self, text: str) -> Turn:
        """Read one turn of the policy; never raises."""
        raise NotImplementedError

    def valid(self, text: str) -> bool:
        """Judge a whole response: (think, search, observation)* think, answer, white space between."""
        raise NotImplementedError

    def render(self, blocks: Sequence[Block]) -> str:
        """Write blocks; `blocks` reads them back as they were."""
        raise NotImplementedError


TAGS = Dialect("tags", "search", "information", "separated")
TOOLS = Dialect("tools", "tool_call", "tool_response", "json")
