"""All methods over the prepared seeds, each seed in one pass; what was interrupted pays for nothing twice."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqe_fast._checks import check_int
from sqe_fast._engine.searcher import Searcher
from sqe_fast._store.files import sha256_of
from sqe_fast._store.settings import Encoder
from sqe_fast.batch import SearchBatch
from sqe_fast.engine import Engine
from sqe_fast.errors import InvalidInputError
from sqe_fast.expansion.cache import ExpansionCache
from sqe_fast.experiment._run.probes import write_probes
from sqe_fast.experiment._run.watch import KeptExpansions, KeptVectors, Paid
from sqe_fast.experiment.layout import SeedFolder, seed_folders
from sqe_fast.experiment.machine import machine_facts
from sqe_fast.experiment.manifest import changes, read_manifest, write_manifest
from sqe_fast.experiment.questions import Question, load_questions
from sqe_fast.experiment.rows import MethodRows, file_of, read_rows, write_rows
from sqe_fast.experiment.settings import RunSettings
from sqe_fast.gate.signals import DENSE_SIGNALS, SIGNALS
from sqe_fast.generate.base import Generator
from sqe_fast.methods import Method
from sqe_fast.store import MemoryStore
from sqe_fast.usage import Usage

__all__ = ["Ran", "RunSettings", "run"]

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Ran:
    """The results of one seed.

    Attributes
    ----------
    folder : SeedFolder
    questions, left_out : int
        How many were asked, and how many targets have no question.
    new : bool
        False: the results were there already.
    """

    folder: SeedFolder
    questions: int
    left_out: int
    new: bool

    def rows(self) -> list[MethodRows]:
        """Return the rows of each method, in the order in which they were asked for."""
        told = read_manifest(self.folder.results.manifest)["choices"]["methods"]
        return [read_rows(self.folder.results.path / one["file"]) for one in told.values()]


def run(
    root: str | PathLike[str],
    encoder: Encoder | None,
    generator: Generator | None = None,
    *,
    seeds: Sequence[int] | None = None,
    settings: RunSettings | None = None,
    cache: str | PathLike[str] | None = None,
    chunk: int = 64,
    device: str | None = None,
    threads: int | None = None,
    again: bool = False,
    tell: Tell = lambda _: None,
) -> list[Ran]:
    """Run all methods over the seeds of a prepared experiment.

    Parameters
    ----------
    root
        The folder of the experiment.
    encoder
        That of the stores; None where they have none.
    generator
        What expands questions; None where no method does. One with a method `load` is told to before it is
        timed.
    seeds
        By default all that are prepared.
    settings
        Methods and numbers.
    cache
        A file of generations to share with other runs; by default each seed has its own among its results.
    chunk
        Questions that flow together: what an interruption loses at most, of what the model was asked.
    device, threads
        Of the dense index, and of BM25 and fusion; see `sqe_fast.engine.Engine`.
    again
        Replace results that are there already; what the model wrote is kept.
    tell
        Called with a line of text at each step.

    Raises
    ------
    InvalidInputError
        A seed is not prepared, what was prepared has changed since, results of other settings are there, or
        an argument is not allowed.

    Notes
    -----
    Rows tell what the expansions of a question cost when they were made, also where a cache had them
    (`cached` says so), and for each question as if it were asked alone.
    """
    root = Path(root)
    there = {folder.seed: folder for folder in seed_folders(root)}
    wanted = sorted(there) if seeds is None else [check_int("seeds", seed, 0, 2**63 - 1) for seed in seeds]
    for seed in wanted:
        if seed not in there:
            has = ", ".join(map(str, sorted(there))) or "none"
            raise InvalidInputError(f"{str(root)!r} holds no prepared seed {seed}; it has {has}")
    if not wanted or len(set(wanted)) < len(wanted):
        raise InvalidInputError(f"{str(root)!r}: seeds must be at least one, each once; got {wanted}")
    work = _Work(encoder, generator, settings or RunSettings(), chunk, device, threads, tell)
    return [work.seed(there[seed], None if cache is None else Path(cache), again) for seed in wanted]


@dataclass(frozen=True)
class _Work:
    """What all seeds share."""

    encoder: Encoder | None
    generator: Generator | None
    settings: RunSettings
    chunk: int
    device: str | None
    threads: int | None
    tell: Tell

    def seed(self, folder: SeedFolder, cache: Path | None, again: bool) -> Ran:
        """Run one seed, or find that it has been."""
        questions, left_out = _questions(folder)
        methods = self.settings.of_seed(folder.seed)
        name = None if self.generator is None else self.generator.name
        choices = {
            "prepared": sha256_of(folder.manifest),
            **self.settings.choices(folder.seed, name),
        }
        results = folder.results
        if results.manifest.is_file():
            had = read_manifest(results.manifest)
            found = changes(had["choices"], choices)
            if had["complete"] and not found and not again:
                _check_files(results.path, had["checksums"])
                return Ran(folder, len(questions), left_out, new=False)
            if had["complete"] and not again:
                raise InvalidInputError(
                    f"{str(results.path)!r} holds results of other settings: {'; '.join(found)}. "
                    "With again=True (--again) they are replaced"
                )
        elif results.rows() and not again:
            raise InvalidInputError(
                f"{str(results.path)!r} holds rows of another program; with again=True (--again) they are "
                "replaced"
            )
        results.path.mkdir(parents=True, exist_ok=True)
        write_manifest(results.manifest, {"seed": folder.seed, "complete": False, "choices": choices})
        for file in [*results.rows(), results.probes]:
            file.unlink(missing_ok=True)
        told = self._answer(folder, cache or results.generations, questions, methods)
        files = [results.path / file_of(method) for method in methods] + [results.probes]
        write_manifest(
            results.manifest,
            {
                "seed": folder.seed,
                "complete": True,
                "choices": choices,
                "questions": {"asked": len(questions), "left_out": left_out},
                **told,
                "machine": machine_facts(),
                "checksums": {file.name: sha256_of(file) for file in files},
            },
        )
        return Ran(folder, len(questions), left_out, new=True)

    def _answer(
        self, folder: SeedFolder, cache: Path, questions: Sequence[Question], methods: Sequence[Method]
    ) -> dict[str, Any]:
        """Answer, write rows and probes; return what the manifest says of how that went."""
        texts = [one.text for one in questions]
        targets = [one.target for one in questions]
        clock = _Clock()
        with ExitStack() as stack:
            store = stack.enter_context(MemoryStore.open(folder.memory, read_only=True, encoder=self.encoder))
            vectors = None if self.encoder is None else KeptVectors(self.encoder)
            paid = None if self.generator is None else Paid(self.generator)
            kept: Any = None if paid is None else self._kept(folder, paid, cache, len(texts), stack)
            engine = Engine(
                store,
                vectors,
                kept,
                chunk=self.chunk,
                device=self.device,
                threads=self.threads,
            )
            load = getattr(self.generator, "load", None)
            if load is not None:  # its time is not that of the first questions
                load()
            with clock.lap("answers"):
                signals = self.settings.signals
                if signals is None:  # of a store without vectors there are none
                    signals = () if self.encoder is None else tuple(SIGNALS)
                found = engine.search_methods(texts, methods, targets=targets, signals=signals)
                batches = [*found.values()]
                batches[1:] = map(_own_signals, batches[1:])
            with clock.lap("probes"):
                searcher = Searcher(store.snapshot, vectors, "Flat", self.device, self.threads)
                made = {} if kept is None else kept.made
                write_probes(folder.results.probes, questions, made, methods, searcher)
            with clock.lap("timing"):
                alone = self._alone(engine, vectors, paid, kept, texts, targets, methods)
            for method, batch, seconds in zip(methods, batches, alone, strict=True):
                _write(folder.results.path / file_of(method), batch, questions, kept, seconds)
        return {
            "encoder": _encoder_told(self.encoder, store.settings),
            "bm25": store.settings["bm25"],
            "chunk": self.chunk,
            "paid": None if paid is None else paid.told(),
            "wall": clock.told(batches[0]),
        }

    def _kept(self, folder: SeedFolder, paid: Paid, cache: Path, n: int, stack: ExitStack) -> KeptExpansions:
        opened = ExpansionCache(cache)
        stack.callback(opened.close)
        expander = self.settings.expander(paid, opened)
        return KeptExpansions(
            expander,
            paid.generator,
            lambda done: self.tell(f"seed {folder.seed}: {done} of {n} questions expanded"),
        )

    def _alone(
        self,
        engine: Engine,
        vectors: KeptVectors | None,
        paid: Paid | None,
        kept: KeptExpansions | None,
        texts: Sequence[str],
        targets: Sequence[str],
        methods: Sequence[Method],
    ) -> list[NDArray[np.float64] | None]:
        """float64[n] for each method, run alone: the seconds of each question; None: not wanted."""
        if not self.settings.timed:
            return [None] * len(methods)
        if vectors is not None:
            vectors.keep = False
        if paid is not None:
            paid.closed = True
        found: list[NDArray[np.float64] | None] = []
        for method in methods:
            if kept is not None:
                kept.start()
            batch = engine.search(texts, method, targets=targets)
            seconds = np.full(len(texts), batch.seconds["total"] / len(texts))
            found.append(seconds if kept is None else seconds + kept.seconds(texts, batch.gated))
        return found


def _check_files(folder: Path, checksums: Mapping[str, str]) -> None:
    for name, checksum in checksums.items():
        path = folder / name
        if not path.is_file() or sha256_of(path) != checksum:
            how = "was changed since it was written" if path.is_file() else "is missing"
            raise InvalidInputError(f"{str(path)!r} {how}; again=True (--again) makes the results anew")


def _questions(folder: SeedFolder) -> tuple[list[Question], int]:
    """Return the questions of a prepared seed that have a text, and how many have none."""
    prepared = read_manifest(folder.manifest)
    if not prepared["complete"]:
        raise InvalidInputError(f"{str(folder.path)!r} is not prepared to the end; prepare it again to go on")
    if sha256_of(folder.questions) != prepared["checksums"]["questions.jsonl"]:
        raise InvalidInputError(f"{str(folder.questions)!r} was changed since it was prepared")
    found = load_questions(folder.questions)
    questions = [one for one in found if one.problem is None]
    if not questions:
        raise InvalidInputError(f"{str(folder.questions)!r} holds no question with a text")
    return questions, len(found) - len(questions)


def _write(
    path: Path,
    batch: SearchBatch,
    questions: Sequence[Question],
    kept: KeptExpansions | None,
    seconds: NDArray[np.float64] | None,
) -> None:
    write_rows(
        path,
        replace(batch, usage=_usage_alone(batch)),
        [one.id for one in questions],
        [one.target for one in questions],
        seconds=None if seconds is None else seconds.tolist(),
        cached=None if kept is None else kept.cached(batch.questions, batch.gated),
    )


def _own_signals(batch: SearchBatch) -> SearchBatch:
    """Return a batch with the signals that its method's gate could see, less those that were asked for."""
    dense = DENSE_SIGNALS if "dense" in batch.method.question_indexes else ()
    own = [*dense, *batch.method.gate.signals]
    return replace(batch, signals={name: batch.signals[name] for name in dict.fromkeys(own)})


def _usage_alone(batch: SearchBatch) -> Usage:
    """Return what each question would cost alone: one that repeats costs what it does at its first place."""
    first: dict[str, int] = {}
    at = np.arange(len(batch))
    for row in np.flatnonzero(batch.gated).tolist():
        at[row] = first.setdefault(batch.questions[row], row)
    usage = batch.usage
    columns = (usage.calls, usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens)
    calls, prompt, cached, completion = (column[at] for column in columns)
    return Usage(calls, prompt, cached, completion, usage.estimated)


class _Clock:
    """Seconds of each part of a run."""

    def __init__(self) -> None:
        self._started = time.time()
        self._begun = time.perf_counter()
        self._laps: dict[str, float] = {}

    @contextmanager
    def lap(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self._laps[name] = round(time.perf_counter() - start, 3)

    def told(self, batch: SearchBatch) -> dict[str, Any]:
        """Return what a manifest says; the rooms are those of the one pass over all methods."""
        return {
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._started)),
            "seconds": {**self._laps, "all": round(time.perf_counter() - self._begun, 3)},
            "rooms": {name: round(value, 3) for name, value in batch.seconds.items()},
        }


def _encoder_told(encoder: Encoder | None, settings: Mapping[str, Any]) -> dict[str, Any] | None:
    if encoder is None:
        return None
    told = {name: getattr(encoder, name, None) for name in ("dtype", "device")}
    return {**settings["encoder"], **{name: value for name, value in told.items() if value is not None}}
