"""What the store's verbs report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["AddResult", "StoreStats", "VerifyReport"]


@dataclass(frozen=True, slots=True)
class AddResult:
    """How many episodes one `add` added, found there already, and replaced."""

    added: int
    unchanged: int
    replaced: int


@dataclass(frozen=True, slots=True)
class StoreStats:
    """The state of a store.

    Attributes
    ----------
    episodes : int
        Episodes in the store.
    indexed : int
        Episodes that searches see.
    to_add, to_remove : int
        What the next `commit` brings into the index and takes out of it (a replaced text counts in both).
    generation : int
        The number of the generation of the index.
    size : dict[str, int]
        Bytes of each file in use.
    settings : dict[str, Any]
        What the store pins: `bm25` (tokenizer, variant, k1, b) and `encoder` (None without vectors).
    """

    episodes: int
    indexed: int
    to_add: int
    to_remove: int
    generation: int
    size: dict[str, int]
    settings: dict[str, Any]


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What `verify` found and did.

    Attributes
    ----------
    ok : bool
        Whether the store is sound now.
    problems : tuple[str, ...]
        What was wrong, one sentence each.
    repaired : tuple[str, ...]
        What was rebuilt or removed for it.
    episodes, generation : int
        What the store holds and which generation is in use now.
    """

    ok: bool
    problems: tuple[str, ...]
    repaired: tuple[str, ...]
    episodes: int
    generation: int
