"""What is prepared: the numbers of the SQE protocol, or files that stand in for its draws."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqe_fast._checks import check_int
from sqe_fast._store.files import sha256_of
from sqe_fast._store.settings import Encoder, bm25_settings, encoder_settings
from sqe_fast.errors import InvalidInputError
from sqe_fast.experiment.questions import PROMPT_VERSION
from sqe_fast.experiment.trajectories import Source
from sqe_fast.generate.base import Generator

__all__ = ["Given", "Protocol", "choices_of"]


@dataclass(frozen=True)
class Protocol:
    """The numbers of the SQE protocol, each of which may be another.

    Attributes
    ----------
    n_memory, n_targets : int
        Episodes of a store, and how many of them get a question.
    pool : int or None
        How many episodes are collected to be drawn from; None: three times the two together.
    tokenizer, variant, k1, b
        Of the store's BM25, see `sqe_fast.store.MemoryStore.create`.
    temperature, max_new_tokens, attempts
        Of the questions, see `sqe_fast.experiment.questions.Writer`.
    """

    n_memory: int = 5000
    n_targets: int = 500
    pool: int | None = None
    tokenizer: str = "whitespace"
    variant: str = "okapi"
    k1: float = 1.5
    b: float = 0.75
    temperature: float = 0.7
    max_new_tokens: int = 128
    attempts: int = 3

    def __post_init__(self) -> None:
        check_int("n_memory", self.n_memory, 1)
        check_int("n_targets", self.n_targets, 1)
        if self.n_targets > self.n_memory:
            raise InvalidInputError(
                f"n_targets must be from 1 to n_memory, {self.n_memory}; got {self.n_targets}"
            )
        if self.pool is not None and check_int("pool", self.pool, 1) < self.n_memory:
            raise InvalidInputError(f"pool must be at least n_memory, {self.n_memory}; got {self.pool}")

    @property
    def collected(self) -> int:
        """How many episodes are collected."""
        return 3 * (self.n_memory + self.n_targets) if self.pool is None else self.pool

    @property
    def bm25(self) -> dict[str, Any]:
        """The settings of the store's BM25, by name."""
        return bm25_settings(self.tokenizer, self.variant, self.k1, self.b)


@dataclass(frozen=True)
class Given:
    """What is given in files instead of being drawn and written.

    Attributes
    ----------
    questions : Path
        Questions with their targets, one JSON object a line.
    store_ids : Path or None
        The ids of the store's episodes, one a line, in its order; None: the store is drawn, and must hold
        the targets.
    """

    questions: Path
    store_ids: Path | None = None

    def told(self) -> dict[str, str]:
        """Return what a manifest says of it."""
        told = {"questions": sha256_of(self.questions)}
        return told if self.store_ids is None else {**told, "store_ids": sha256_of(self.store_ids)}

    def ids(self) -> list[str]:
        """Return the ids of the store."""
        if self.store_ids is None:
            return []
        ids = [line.strip() for line in self.store_ids.read_text(encoding="utf-8").split("\n")]
        ids = [one for one in ids if one]
        if len(set(ids)) < len(ids) or not ids:
            raise InvalidInputError(f"{str(self.store_ids)!r} must hold ids, one a line, each once")
        return ids


def choices_of(
    source: Source,
    encoder: Encoder | None,
    generator: Generator | None,
    protocol: Protocol,
    given: Given | None,
) -> dict[str, Any]:
    """Return all that decides what is prepared, less the seed, as a manifest tells it."""
    pinned = encoder_settings(encoder)
    if pinned is not None and (dtype := getattr(encoder, "dtype", None)) is not None:
        pinned["dtype"] = dtype
    choices: dict[str, Any] = {"source": source.told()}
    drawn = {"n_memory": protocol.n_memory, "n_targets": protocol.n_targets, "pool": protocol.collected}
    if given is not None:
        choices["given"] = given.told()
        del drawn["n_targets"]
    if given is None or given.store_ids is None:
        choices["draw"] = drawn
    if generator is not None:
        names = ("temperature", "max_new_tokens", "attempts")
        numbers = {name: getattr(protocol, name) for name in names}
        choices["questions"] = {"generator": generator.name, "prompt": PROMPT_VERSION, **numbers}
    return {**choices, "bm25": protocol.bm25, "encoder": pinned}
