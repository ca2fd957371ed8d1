"""One chunk through the rooms, for all methods of a run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqe_fast._engine.answer import Answer, answer
from sqe_fast._engine.ask import Asked, Wanted, ask
from sqe_fast._engine.probes import Expanded, Expands, expand
from sqe_fast._engine.searcher import Searcher
from sqe_fast.batch import SearchBatch
from sqe_fast.gate.gates import Payee
from sqe_fast.gate.signals import DENSE_SIGNALS
from sqe_fast.methods import Method
from sqe_fast.store import Snapshot

__all__ = ["Chunk", "Pass"]

NO_TARGET = -2


@dataclass(frozen=True)
class Chunk:
    """Questions that flow together, and the ids that answer each where they are known."""

    questions: tuple[str, ...]
    targets: Sequence[Sequence[str]] | None


class Pass:
    """The stages of one run, in the order in which `overlapped` calls them; gates keep their state here."""

    def __init__(
        self,
        methods: Sequence[Method],
        searcher: Searcher,
        expander: Expands | None,
        threads: int | None,
        signals: Sequence[str] = (),
    ) -> None:
        self._methods = methods
        self._searcher = searcher
        self._expander = expander
        self._threads = threads
        self._decides = [method.gate.start() for method in methods]
        self._signals = tuple(signals)
        self._wanted = Wanted.of(methods, self._signals, len(searcher.snapshot))
        self._last = time.perf_counter()

    def resume(self) -> None:
        """Leave the caller's own time out of the totals: it begins where a chunk is handed over."""
        self._last = time.perf_counter()

    def ask(self, chunk: Chunk, beside: Executor) -> Asked:
        """Encode and look up the questions, and let the gates decide."""
        return ask(
            chunk.questions,
            chunk.targets,
            self._methods,
            self._decides,
            self._wanted,
            self._searcher,
            self._expander,
            beside,
        )

    def expand(self, asked: Asked, beside: Executor) -> Expanded:
        """Have the model expand what the gates let through."""
        return expand(asked, self._methods, self._expander, self._searcher, self._wanted.depth, beside)

    def answer(self, asked: Asked, expanded: Expanded) -> list[SearchBatch]:
        """Look up the probes, fuse for each method, and name the hits."""
        methods = self._methods
        snapshot = self._searcher.snapshot
        targets = None if asked.targets is None else _target_rows(asked.targets, snapshot)
        answers = answer(methods, asked, expanded, targets, self._threads)
        with asked.clock.room("fuse"):
            names = _names(answers, snapshot)
        for decide, found in zip(self._decides, answers, strict=True):
            if isinstance(decide, Payee):
                decide.paid(found.usage)
        now = time.perf_counter()
        seconds = {**asked.clock.seconds, "total": now - self._last}
        self._last = now
        return [
            _batch(method, found, ids, asked, seconds, self._signals)
            for method, found, ids in zip(methods, answers, names, strict=True)
        ]


def _batch(
    method: Method,
    found: Answer,
    ids: tuple[tuple[str, ...], ...],
    asked: Asked,
    seconds: dict[str, float],
    signals: Sequence[str],
) -> SearchBatch:
    seen = [*(DENSE_SIGNALS if "dense" in method.question_indexes else ()), *method.gate.signals, *signals]
    return SearchBatch(
        method=method,
        questions=tuple(asked.questions),
        hits=found.hits,
        ids=ids,
        gated=found.gated,
        signals={name: asked.signals[name] for name in dict.fromkeys(seen)},
        lists=method.list_names,
        lengths=found.lengths,
        weights=found.weights,
        refused=found.refused,
        evidence=found.evidence,
        steps=found.steps,
        problems=found.problems,
        usage=found.usage,
        seconds=dict(seconds),
    )


def _names(answers: Sequence[Answer], snapshot: Snapshot) -> list[tuple[tuple[str, ...], ...]]:
    """Return the ids of the hits of every method; each row is asked of the store once."""
    rows = np.unique(np.concatenate([found.hits.ids.ravel() for found in answers]))
    rows = rows[rows >= 0]
    names = np.array([*snapshot.ids(rows), ""], object)  # the last one stands for padding
    out = []
    for found in answers:
        named = names[np.searchsorted(rows, found.hits.ids)]
        counts = found.hits.counts.tolist()
        out.append(tuple(tuple(line[:n]) for line, n in zip(named.tolist(), counts, strict=True)))
    return out


def _target_rows(targets: Sequence[Sequence[str]], snapshot: Snapshot) -> NDArray[np.int32]:
    """Return int32[n, most]: the rows of the targets of each question, padded with -2."""
    sizes = [len(ids) for ids in targets]
    rows = np.full((len(targets), max([1, *sizes])), NO_TARGET, np.int32)
    found = snapshot.rows([name for ids in targets for name in ids])
    start = 0
    for row, size in zip(rows, sizes, strict=True):
        row[:size] = found[start : start + size]
        start += size
    rows[rows < 0] = NO_TARGET  # a target that the store lacks is never a hit
    return rows
