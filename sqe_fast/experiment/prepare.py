"""From trajectories to a store with questions, one folder a seed; what was interrupted is continued.

Same choices, same bytes: ``manifest.json`` and ``questions.jsonl`` hold no time and no place, and the files
of the index follow from the episodes. ``prepare.log.jsonl`` tells one run from another, and ``memory/LOCK``
the process; SQLite files may differ in how they hold the same content, of which the manifest has a checksum.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from sqe_fast._checks import check_int
from sqe_fast._store.files import sha256_of
from sqe_fast._store.generation import META
from sqe_fast._store.settings import Encoder
from sqe_fast.episode import Episode
from sqe_fast.errors import InvalidInputError
from sqe_fast.expansion.cache import ExpansionCache
from sqe_fast.experiment.clock import Clock
from sqe_fast.experiment.layout import SeedFolder
from sqe_fast.experiment.machine import machine_facts
from sqe_fast.experiment.manifest import changes, episodes_sha256, read_manifest, write_manifest
from sqe_fast.experiment.protocol import Given, Protocol, choices_of
from sqe_fast.experiment.questions import Question, Writer, load_questions, save_questions
from sqe_fast.experiment.trajectories import Pool, Source, draw
from sqe_fast.generate.base import Generator
from sqe_fast.store import MemoryStore

__all__ = ["Given", "Prepared", "Protocol", "prepare"]

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Prepared:
    """One seed that is ready to be run.

    Attributes
    ----------
    folder : SeedFolder
    memory, questions, failed : int
        Episodes of the store, targets with a question, and targets without.
    new : bool
        False: all was there already.
    notes : tuple of str
        What differs from the protocol.
    """

    folder: SeedFolder
    memory: int
    questions: int
    failed: int
    new: bool
    notes: tuple[str, ...]


def prepare(
    root: str | PathLike[str],
    seeds: Sequence[int],
    source: Source,
    encoder: Encoder | None,
    generator: Generator | None = None,
    *,
    protocol: Protocol | None = None,
    given: Given | None = None,
    chunk: int = 64,
    tell: Tell = lambda _: None,
) -> list[Prepared]:
    """Prepare the seeds of an experiment; see `sqe_fast.experiment.layout` for what lies where.

    Parameters
    ----------
    root
        The folder of the experiment, made if it is not there.
    seeds
        Of the draws, a folder each. The source is read once for all.
    source
        Where episodes come from.
    encoder
        What makes the vectors of the stores; None: they get none, and only BM25-Only can be run.
    generator
        What writes the questions; not needed with `given`.
    protocol
        Sizes and settings; by default those of the SQE protocol.
    given
        Questions, and perhaps a store, that are there already.
    chunk
        Targets that the generator is asked for at once; an interruption loses at most so many answers.
    tell
        Called with a line of text at each step.

    Raises
    ------
    InvalidInputError
        The source holds fewer episodes than the store needs, a folder is there that was prepared with other
        choices (the message says which), or an argument is not allowed.
    RecordError
        A record of the source or of the questions is broken.

    Notes
    -----
    A source with fewer episodes than the protocol collects, but enough for a store, is used as it is; the
    manifest says so in its notes. A target for which no question could be written keeps its line, with the
    reason, and `run` leaves it out.
    """
    protocol = protocol or Protocol()
    root = Path(root)
    wanted = [check_int("seeds", seed, 0, 2**63 - 1) for seed in seeds]
    if not wanted or len(set(wanted)) < len(wanted):
        raise InvalidInputError(f"seeds must be at least one, each once; got {wanted}")
    if (generator is None) == (given is None):
        raise InvalidInputError(
            "give either what writes the questions (generator) or questions that are there (given)"
        )
    choices = choices_of(source, encoder, generator, protocol, given)
    limit = None if given is not None and given.store_ids is not None else protocol.collected
    work = _Work(Pool(source, limit), encoder, generator, protocol, given, chunk, tell)
    return [work.seed(SeedFolder.of(root, seed), choices) for seed in wanted]


class _Work:
    """What all seeds share."""

    def __init__(
        self,
        pool: Pool,
        encoder: Encoder | None,
        generator: Generator | None,
        protocol: Protocol,
        given: Given | None,
        chunk: int,
        tell: Tell,
    ) -> None:
        self._pool = pool
        self._encoder = encoder
        self._generator = generator
        self._protocol = protocol
        self._given = given
        self._chunk = chunk
        self._tell = tell

    def seed(self, folder: SeedFolder, choices: Mapping[str, Any]) -> Prepared:
        """Prepare one seed, or find that it is."""
        begun = {"seed": folder.seed, "complete": False, "choices": dict(choices)}
        if folder.manifest.is_file():
            had = read_manifest(folder.manifest)
            if found := changes({"seed": had["seed"], **had["choices"]}, {"seed": folder.seed, **choices}):
                raise InvalidInputError(
                    f"{str(folder.path)!r} was prepared with other choices: {'; '.join(found)}. Name another "
                    "folder, or remove this one"
                )
            if had["complete"]:
                return _prepared(folder, had, new=False)
            begun = had
        elif folder.path.is_dir() and any(folder.path.iterdir()):
            raise InvalidInputError(
                f"{str(folder.path)!r} is not empty, and holds no manifest of an experiment; name another "
                "folder"
            )
        folder.path.mkdir(parents=True, exist_ok=True)
        write_manifest(folder.manifest, begun)
        clock = Clock()
        with ExitStack() as stack:
            store = stack.enter_context(self._store(folder))
            with clock.lap("store"):
                targets, counts, notes = self._fill(folder, store, begun)
            with clock.lap("questions"):
                questions, usage = self._questions(folder, store, targets)
            failed = sum(one.problem is not None for one in questions)
            begun |= {
                "complete": True,
                "counts": counts | {"questions": len(questions) - failed, "failed": failed},
                "notes": notes,
                "checksums": _checksums(folder, store),
            }
        _log(folder, clock, usage)
        write_manifest(folder.manifest, begun)
        return _prepared(folder, begun, new=True)

    def _store(self, folder: SeedFolder) -> MemoryStore:
        try:
            there = MemoryStore.settings_of(folder.memory) is not None
        except OSError:
            there = False
        make = MemoryStore.open if there else MemoryStore.create
        return make(folder.memory, encoder=self._encoder, **self._protocol.bm25)

    def _fill(
        self, folder: SeedFolder, store: MemoryStore, begun: dict[str, Any]
    ) -> tuple[list[str], dict[str, int], list[str]]:
        """Bring the drawn episodes into the store; return the ids of the targets, counts, and notes.

        The count of the pool is written down once it is known: with the store whole, it alone gives the draw
        again, and an interrupted writing of questions goes on without reading the source.
        """
        given, protocol = self._given, self._protocol
        if "counts" not in begun or len(store) == 0:
            episodes = self._read(folder)
            chosen = self._chosen(folder.seed, episodes)
            store.add(chosen)
            begun["counts"] = {
                "pool": len(episodes),
                "skipped": self._pool.skipped,
                "memory": len(chosen),
            }
            write_manifest(folder.manifest, begun)
        counts: dict[str, int] = begun["counts"]
        if len(store) != len(store.snapshot):
            self._tell(f"seed {folder.seed}: indexing {len(store):,} episodes")
        store.commit()
        ids = [one.id for one in store]
        if len(ids) != counts["memory"]:
            raise InvalidInputError(
                f"{str(folder.memory)!r} holds {len(ids):,} episodes where {counts['memory']:,} were drawn; "
                "it was changed since"
            )
        notes = []
        if given is None:
            drawn = draw(counts["pool"], protocol.n_memory, protocol.n_targets, folder.seed)
            targets = [ids[position] for position in drawn.targets]
        else:
            targets = [one.target for one in load_questions(given.questions, set(ids))]
        if (given is None or given.store_ids is None) and counts["pool"] < protocol.collected:
            notes.append(
                f"the source holds {counts['pool']:,} of the {protocol.collected:,} episodes that the "
                "protocol collects; the store was drawn from those"
            )
        return targets, {**counts, "targets": len(targets)}, notes

    def _read(self, folder: SeedFolder) -> Sequence[Episode]:
        self._tell(f"seed {folder.seed}: reading the source")
        return self._pool.episodes()

    def _chosen(self, seed: int, episodes: Sequence[Episode]) -> list[Episode]:
        """Return the episodes of the store, in its order."""
        if self._given is not None and self._given.store_ids is not None:
            return self._pool.by_id(self._given.ids())
        protocol = self._protocol
        drawn = draw(len(episodes), protocol.n_memory, protocol.n_targets, seed)
        return [episodes[position] for position in drawn.memory]

    def _questions(
        self, folder: SeedFolder, store: MemoryStore, targets: Sequence[str]
    ) -> tuple[list[Question], dict[str, int]]:
        usage: dict[str, int] = {}
        if self._given is not None:
            questions = load_questions(self._given.questions)
        elif self._generator is not None:
            cache = ExpansionCache(folder.question_cache)
            try:
                writer = Writer(
                    self._generator,
                    cache,
                    seed=folder.seed,
                    temperature=self._protocol.temperature,
                    max_new_tokens=self._protocol.max_new_tokens,
                    attempts=self._protocol.attempts,
                    chunk=self._chunk,
                )
                episodes = store.snapshot.episodes(store.rows(targets))
                questions = writer.write(
                    episodes,
                    lambda n: self._tell(f"seed {folder.seed}: {n} of {len(targets)} questions written"),
                )
            finally:
                cache.close()
            usage = writer.usage
        save_questions(folder.questions, questions)
        return questions, usage


def _checksums(folder: SeedFolder, store: MemoryStore) -> dict[str, Any]:
    """Return the checksums of what was prepared: contents of the truth, bytes of what follows from it."""
    index = store.snapshot.folder
    files = sorted(file.name for file in index.iterdir() if file.is_file() and file.name != META)
    return {
        "episodes": episodes_sha256(store),
        "index": {name: sha256_of(index / name) for name in files},
        "questions.jsonl": sha256_of(folder.questions),
    }


def _log(folder: SeedFolder, clock: Clock, usage: Mapping[str, int]) -> None:
    told = {**clock.told(), "usage": dict(usage), "machine": machine_facts()}
    with folder.log.open("a", encoding="utf-8") as file:
        file.write(json.dumps(told) + "\n")


def _prepared(folder: SeedFolder, manifest: Mapping[str, Any], *, new: bool) -> Prepared:
    counts = manifest["counts"]
    return Prepared(
        folder, counts["memory"], counts["questions"], counts["failed"], new, tuple(manifest["notes"])
    )
