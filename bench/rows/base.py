"""What a row of the table is, and the bars and goals that rows are held against."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bench import corpora, peers
from bench.oracle import Oracle, check_result
from bench.ours import SqeFast
from bench.peers.base import Engine

__all__ = ["GOALS", "Case", "Context", "Goal", "Row", "Settings", "need_two_cores"]


@dataclass(frozen=True)
class Goal:
    """Thresholds of the performance page; `higher` tells which side of them is good."""

    bar: float | None = None
    goal: float | None = None
    higher: bool = True

    def reached(self, value: float) -> str:
        """Return "goal", "bar" or "below"; nothing where there is no threshold."""
        if self.bar is None or self.goal is None:
            return ""
        sign = 1 if self.higher else -1
        if value * sign >= self.goal * sign:
            return "goal"
        return "bar" if value * sign >= self.bar * sign else "below"


# In the order they are printed. Ratios are ours / theirs as each row says; without numbers: for information.
GOALS = {
    "BM25, 5k documents, against bm25s numba": Goal(3, 4),
    "BM25, 200k documents, against bm25s numba": Goal(4, 8),
    "BM25, 200k documents, against the best peer": Goal(2, 4),
    "BM25, 80-term queries, against bm25s numba": Goal(3, 5),
    "BM25, 80-term queries, against the best peer": Goal(),
    "BM25 okapi, against rank_bm25": Goal(),
    "two threads against one": Goal(1.7, 1.9),
    "index build, time against tantivy": Goal(0.5, 0.25, higher=False),
    "index build, memory over the corpus, MB": Goal(200, 120, higher=False),
    "2,000,000 documents streamed, peak of the process, MB": Goal(4_000, 2_400, higher=False),
    "RRF on id arrays, against the dict loop": Goal(14, 40),
    "RRF on lists of (id, score), against the dict loop": Goal(3, 6),
    "RRF on id arrays, against numpy and ranx": Goal(),
    "paired bootstrap, against numpy": Goal(5, 20),
    "paired bootstrap, against the multinomial shortcut": Goal(),
    "threshold sweep, against plain Python": Goal(),
    "leaving one seed out, against plain Python": Goal(),
    "the whole report of an experiment, seconds": Goal(10, 3, higher=False),
    "encoding, against sentence-transformers": Goal(1.3, 2),
    "one batched SQE pass, against one question at a time": Goal(200, 1_000),
    "one batched SQE pass with live generation, against one call at a time": Goal(3, 10),
    "all methods in one pass, against one by one": Goal(4, 6),
    "rollouts of search agents in step, against one question at a time": Goal(),
    "instruction set level, against baseline": Goal(),
}


@dataclass(frozen=True)
class Row:
    """One measured line; `value` is what the goal is about (a ratio unless the goal names a unit)."""

    goal: str
    case: str
    ours: float
    theirs: float | None
    unit: str
    value: float
    note: str = ""

    @property
    def reached(self) -> str:
        """Which threshold the value reaches."""
        return GOALS[self.goal].reached(self.value)


@dataclass(frozen=True)
class Settings:
    """How much is measured."""

    repeats: int
    short_queries: int
    long_queries: int
    ks: tuple[int, ...]
    quick: bool


FULL = Settings(repeats=7, short_queries=1_000, long_queries=200, ks=(10, 100), quick=False)
QUICK = Settings(repeats=3, short_queries=300, long_queries=60, ks=(10,), quick=True)


@dataclass(eq=False)
class Context:
    """The corpus in use and the engines built on it; a change of corpus drops both."""

    settings: Settings
    corpus_: corpora.Corpus | None = None
    oracle_: Oracle | None = None
    engines: dict[str, Engine] = field(default_factory=dict)
    checked: set[tuple[str, int, int, int]] = field(default_factory=set)
    checksums: dict[str, str] = field(default_factory=dict)

    def corpus(self, name: str) -> corpora.Corpus:
        """Return the corpus `name`."""
        if self.corpus_ is None or self.corpus_.name != name:
            self.drop()
            self.corpus_ = corpora.load(name)
            self.checksums[name] = self.corpus_.checksum
        return self.corpus_

    def drop(self) -> None:
        """Forget the corpus and close its engines."""
        for engine in self.engines.values():
            engine.close()
        self.corpus_, self.oracle_ = None, None
        self.engines.clear()
        self.checked.clear()

    def engine(self, corpus: str, name: str) -> Engine:
        """Return the engine `name` with the corpus indexed; "sqe_fast" or "sqe_fast okapi" is ours."""
        texts = self.corpus(corpus).texts
        if name not in self.engines:
            engine = self.make(name)
            engine.build(texts)
            self.engines[name] = engine
        return self.engines[name]

    def make(self, name: str) -> Engine:
        """Return a fresh engine."""
        if name.startswith("sqe_fast"):
            return SqeFast(name.partition(" ")[2] or "lucene")
        return peers.make(name)

    def queries(self, corpus: str, terms: int, count: int | None = None) -> list[str]:
        """Return the queries of `terms` words."""
        wanted = self.settings.short_queries if terms <= 8 else self.settings.long_queries
        return corpora.queries(self.corpus(corpus), count or wanted, terms)

    def search(
        self, corpus: str, name: str, terms: int, k: int, threads: int = 1, count: int | None = None
    ) -> tuple[Callable[[], Any], int]:
        """Return a call that searches the batch once, after its result was checked, and the batch's size."""
        engine = self.engine(corpus, name)
        queries = self.queries(corpus, terms, count)
        queries = queries[: engine.query_limit(len(self.corpus(corpus).texts))]
        if (name, terms, k, threads) not in self.checked:
            if self.oracle_ is None:
                self.oracle_ = Oracle(self.corpus(corpus).texts)
            check_result(self.oracle_, engine, queries[: 20 if terms <= 8 else 5], k, threads)
            self.checked.add((name, terms, k, threads))
        prepared = engine.prepare(queries)
        return lambda: engine.search(prepared, k, threads), len(queries)


def need_two_cores() -> None:
    """Skip a row that compares two threads with one where there is one core."""
    if len(os.sched_getaffinity(0)) < 2:
        raise peers.EngineUnavailableError("this process may use one core only")


@dataclass(frozen=True)
class Case:
    """A row still to be measured."""

    goal: str
    case: str
    run: Callable[[Context], Row]

    @property
    def title(self) -> str:
        """What `--only` is matched against."""
        return f"{self.goal}: {self.case}"
