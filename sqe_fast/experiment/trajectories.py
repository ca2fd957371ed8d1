"""Episodes of a source, and the draw of a store and its targets from them, as the SQE protocol has it."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Literal

from sqe_fast._checks import check_choice, check_int
from sqe_fast.episode import Episode, shown
from sqe_fast.errors import InvalidInputError
from sqe_fast.experiment.manifest import source_sha256
from sqe_fast.readers import read

__all__ = ["IDS", "Draw", "Pool", "Source", "draw"]

IDS = ("own", "counted")


@dataclass(frozen=True)
class Draw:
    """Which episodes of a pool make the store, and which of those are the targets.

    Attributes
    ----------
    memory : tuple of int
        Positions in the pool, in the order of the store.
    targets : tuple of int
        Positions in the store, in the order of the questions.
    """

    memory: tuple[int, ...]
    targets: tuple[int, ...]


def draw(pool: int, n_memory: int, n_targets: int, seed: int) -> Draw:
    """Draw a store and its targets from a pool of episodes.

    Parameters
    ----------
    pool
        How many episodes there are.
    n_memory, n_targets
        How many make the store, and how many of those are targets.
    seed
        Of the draw.

    Raises
    ------
    InvalidInputError
        The pool is smaller than the store, or the store than its targets.

    Notes
    -----
    The draws are those of a program that calls ``random.seed(seed)``, ``random.shuffle(episodes)``, keeps the
    first `n_memory`, and then calls ``random.sample(store, n_targets)`` on the same generator; what either
    draws depends on the length of its list alone.

    Examples
    --------
    >>> draw(6, 4, 2, seed=42)
    Draw(memory=(3, 1, 2, 4), targets=(1, 0))
    """
    check_int("n_memory", n_memory, 1)
    if pool < n_memory:
        raise InvalidInputError(
            f"a store of {n_memory:,} episodes was asked for, and the source holds {pool:,}; "
            "ask for a smaller one (n_memory)"
        )
    check_int("n_targets", n_targets, 1)
    if n_targets > n_memory:
        raise InvalidInputError(f"n_targets must be from 1 to n_memory, {n_memory}; got {n_targets}")
    rng = random.Random(check_int("seed", seed, 0, 2**63 - 1))
    order = list(range(pool))
    rng.shuffle(order)
    return Draw(tuple(order[:n_memory]), tuple(rng.sample(range(n_memory), n_targets)))


@dataclass(frozen=True)
class Source:
    """Where episodes come from.

    Attributes
    ----------
    names : tuple of str
        Files, folders or data sets on the hub, as `sqe_fast.readers.read` takes them, read one after another.
    split : str
        Of a data set on the hub.
    skip_bad : bool
        Pass over broken records, counting them.
    ids : str
        "own": each episode keeps its id; "counted": ``ep_000000`` and on, in the order in which they are
        read, as the protocol names the steps of trajectories (the own id becomes the field ``source_id``).
    """

    names: tuple[str, ...]
    split: str = "tool"
    skip_bad: bool = False
    ids: Literal["own", "counted"] = "own"

    def __post_init__(self) -> None:
        if not self.names:
            raise InvalidInputError("a source needs at least one file, folder or data set")
        check_choice("ids", self.ids, IDS)

    def told(self) -> dict[str, object]:
        """Return what a manifest says of it: files by name and content, so that they may be moved."""
        return {
            "from": [self._told(name) for name in self.names],
            "skip_bad": self.skip_bad,
            "ids": self.ids,
        }

    def _told(self, name: str) -> dict[str, str]:
        path = Path(name)
        if path.exists():
            return {"name": path.resolve().name, "sha256": source_sha256(path)}
        return {"name": name, "split": self.split}


class Pool:
    """The first episodes of a source, read when first asked for, and once for all seeds."""

    def __init__(self, source: Source, limit: int | None) -> None:
        """Take at most `limit` episodes of `source`; None: all. A name that leads nowhere is refused here."""
        self._source = source
        self._limit = limit
        self._episodes: list[Episode] | None = None
        self._readings = [read(name, skip_bad=source.skip_bad, split=source.split) for name in source.names]

    @property
    def skipped(self) -> int:
        """How many broken records were passed over so far."""
        return sum(reading.skipped for reading in self._readings)

    def episodes(self) -> Sequence[Episode]:
        """Return the episodes, in order.

        Raises
        ------
        InvalidInputError
            Two have the same id.
        RecordError
            A record is broken, and `skip_bad` is false.
        """
        if self._episodes is None:
            found = list(islice(chain.from_iterable(self._readings), self._limit))
            if self._source.ids == "counted":
                found = [
                    replace(one, id=f"ep_{number:06d}", fields={**one.fields, "source_id": one.id})
                    for number, one in enumerate(found)
                ]
            _check_distinct(found)
            self._episodes = found
        return self._episodes

    def by_id(self, ids: Iterable[str]) -> list[Episode]:
        """Return the episodes of these ids, in their order; every id must be there."""
        known = {one.id: one for one in self.episodes()}
        found = []
        for name in ids:
            if name not in known:
                raise InvalidInputError(f"the source holds no episode {shown(name)}")
            found.append(known[name])
        return found


def _check_distinct(episodes: Sequence[Episode]) -> None:
    seen: set[str] = set()
    for one in episodes:
        if one.id in seen:
            raise InvalidInputError(
                f"two episodes of the source have the id {shown(one.id)}; with ids='counted' (--ids counted) "
                "they are numbered instead"
            )
        seen.add(one.id)
