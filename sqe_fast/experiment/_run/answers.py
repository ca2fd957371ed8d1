"""The answers of one seed: one pass over all methods, each timed alone, rows and probes written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqe_fast._engine.searcher import Searcher
from sqe_fast._store.settings import Encoder
from sqe_fast.batch import SearchBatch
from sqe_fast.engine import Engine
from sqe_fast.expansion.cache import ExpansionCache
from sqe_fast.experiment._run.probes import write_probes
from sqe_fast.experiment._run.watch import KeptExpansions, KeptVectors, Paid
from sqe_fast.experiment.clock import Clock
from sqe_fast.experiment.layout import SeedFolder
from sqe_fast.experiment.questions import Question
from sqe_fast.experiment.rows import file_of, write_rows
from sqe_fast.experiment.settings import RunSettings
from sqe_fast.gate.signals import DENSE_SIGNALS, SIGNALS
from sqe_fast.generate.base import Generator
from sqe_fast.methods import Method
from sqe_fast.store import MemoryStore
from sqe_fast.usage import Usage

__all__ = ["Answers", "Tell"]

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Answers:
    """What answers the questions of any seed; the fields are arguments of `sqe_fast.experiment.run.run`."""

    encoder: Encoder | None
    generator: Generator | None
    settings: RunSettings
    chunk: int
    device: str | None
    threads: int | None
    tell: Tell

    def write(
        self, folder: SeedFolder, cache: Path, questions: Sequence[Question], methods: Sequence[Method]
    ) -> dict[str, Any]:
        """Answer, write rows and probes; return what the manifest says of how that went."""
        texts = [one.text for one in questions]
        targets = [one.target for one in questions]
        clock = Clock()
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
                rooms = batches[0].seconds
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
            # The rooms are those of the one pass over all methods.
            "wall": {**clock.told(), "rooms": {name: round(value, 3) for name, value in rooms.items()}},
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


def _encoder_told(encoder: Encoder | None, settings: Mapping[str, Any]) -> dict[str, Any] | None:
    if encoder is None:
        return None
    told = {name: getattr(encoder, name, None) for name in ("dtype", "device")}
    return {**settings["encoder"], **{name: value for name, value in told.items() if value is not None}}
