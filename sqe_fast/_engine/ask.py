"""The first stage of a chunk: its questions encoded, looked up, and put before the gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sqe_fast._engine.clock import Clock
from sqe_fast._engine.lists import Looked, Places, empty_hits, with_blank
from sqe_fast._engine.quote import quoter
from sqe_fast._engine.searcher import Searcher
from sqe_fast.gate.gates import Asking, Decide, choose
from sqe_fast.gate.signals import DENSE_SIGNALS, SIGNALS, Evidence, compute_signals
from sqe_fast.hits import Hits
from sqe_fast.methods import Method

__all__ = ["Asked", "Wanted", "ask"]


@dataclass(frozen=True)
class Wanted:
    """What the first stage is to find out.

    Attributes
    ----------
    indexes : frozenset of str
        Where questions are looked up.
    signals : tuple of str
        For the gates and for the caller.
    depth : int
        Of each list: enough for every method and signal, at most the size of the store.
    """

    indexes: frozenset[str]
    signals: tuple[str, ...]
    depth: int

    @classmethod
    def of(cls, methods: Sequence[Method], signals: Sequence[str], stored: int) -> Wanted:
        """Collect what methods need; `signals` are what the caller wants besides."""
        asked = [*(name for method in methods for name in method.gate.signals), *signals]
        indexes = frozenset[str]().union(
            *(method.question_indexes for method in methods), *(SIGNALS[name].indexes for name in asked)
        )
        names = tuple(dict.fromkeys([*(DENSE_SIGNALS if "dense" in indexes else ()), *asked]))
        depths = [method.list_depth for method in methods] + [SIGNALS[name].depth for name in names]
        depths += [accept.depth for method in methods for accept in method.accepts]
        return cls(indexes, names, max(1, min(max(depths), stored)))


@dataclass(frozen=True, eq=False)
class Asked:
    """A chunk after its first stage.

    Attributes
    ----------
    questions : sequence of str
        n questions, in order.
    targets : sequence of sequence of str, or None
        The ids that answer each.
    distinct : list of str
        The different questions that are looked up: all but the blank ones.
    which : int64[n]
        The place of each question in `distinct`; -1 for one that is not looked up.
    blank : str or None
        Why questions with place -1 are not looked up.
    hits : dict of str to Hits
        By index, the lists of `distinct`.
    signals : dict of str to float32[n]
        Of the union of all gates, and those that the caller asked for.
    gated : list of bool[n]
        The decision of each method's gate.
    make : (int64[distinct], int64[distinct])
        How many traces and paraphrases of each distinct question are to be made, for all methods together
        that make them in one step.
    clock : Clock
        Of the whole chunk.
    vectors : float32[distinct, dim] or None
        Of `distinct`, where they were looked up by vector.
    scored : dict of str to float32[distinct, documents]
        By index, every document's score, where a signal needed them and they take little memory.
    """

    questions: Sequence[str]
    targets: Sequence[Sequence[str]] | None
    distinct: list[str]
    which: NDArray[np.int64]
    blank: str | None
    hits: dict[str, Hits]
    signals: dict[str, NDArray[np.float32]]
    gated: list[NDArray[np.bool_]]
    make: tuple[NDArray[np.int64], NDArray[np.int64]]
    clock: Clock
    vectors: NDArray[np.float32] | None = None
    scored: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)

    @property
    def looked(self) -> list[Looked]:
        """The searches of the questions themselves."""
        return [
            Looked(
                index,
                self.distinct,
                self.vectors if index == "dense" else None,
                hits,
                self.scored.get(index),
            )
            for index, hits in self.hits.items()
        ]


def ask(
    questions: Sequence[str],
    targets: Sequence[Sequence[str]] | None,
    methods: Sequence[Method],
    decides: Sequence[Decide],
    wanted: Wanted,
    searcher: Searcher,
    expander: object,
    beside: Executor,
) -> Asked:
    """Run the first stage: one encoding of the distinct questions, while BM25 runs in `beside`."""
    clock = Clock()
    stored = len(searcher.snapshot) > 0
    places = Places()
    which = np.array([places.of(q) if stored and q.strip() else -1 for q in questions], np.int64)
    distinct = places.texts
    hits = {index: empty_hits(0, wanted.depth) for index in wanted.indexes}
    vectors = None
    if distinct:
        hits, vectors = _search(distinct, wanted, searcher, clock, beside)
    with clock.room("gate"):
        signals, scored = _signals(distinct, hits, vectors, which, wanted, searcher)
        gated = [
            choose(decide, Asking(signals, which >= 0, quoter(expander, method, methods, questions)))
            for method, decide in zip(methods, decides, strict=True)
        ]
        make = _to_make(methods, gated, which, len(distinct))
    blank = "the question is empty" if stored else "the store is empty"
    return Asked(
        questions, targets, distinct, which, blank, hits, signals, gated, make, clock, vectors, scored
    )


def _search(
    distinct: list[str],
    wanted: Wanted,
    searcher: Searcher,
    clock: Clock,
    beside: Executor,
) -> tuple[dict[str, Hits], NDArray[np.float32] | None]:
    """Return the lists by index, and the vectors where there is a dense list."""

    def bm25() -> Hits:
        with clock.room("search"):
            return searcher.bm25(distinct, wanted.depth)

    coming = beside.submit(bm25) if "bm25" in wanted.indexes else None
    hits: dict[str, Hits] = {}
    vectors = None
    if "dense" in wanted.indexes:
        with clock.room("encode"):
            vectors = searcher.encode(distinct, ["question"] * len(distinct))
        with clock.room("search"):
            hits["dense"] = searcher.dense(vectors, wanted.depth)
    if coming is not None:
        hits["bm25"] = coming.result()
    return hits, vectors


def _signals(
    distinct: list[str],
    hits: dict[str, Hits],
    vectors: NDArray[np.float32] | None,
    which: NDArray[np.int64],
    wanted: Wanted,
    searcher: Searcher,
) -> tuple[dict[str, NDArray[np.float32]], dict[str, NDArray[np.float32]]]:
    """Return the signals of every question, of a blank one too; and what `Asked.scored` is to be."""
    if not wanted.signals:
        return {}, {}
    known = {index: with_blank(found) for index, found in hits.items()}
    if not distinct and "dense" in known and searcher.snapshot.vectors is not None:
        vectors = np.empty((0, searcher.snapshot.vectors.shape[1]), np.float32)
    evidence = Evidence(
        known.get("dense"),
        known.get("bm25"),
        questions=[*distinct, ""],
        queries=None if vectors is None else np.pad(vectors, ((0, 1), (0, 0))),
        corpus=searcher.corpus,
    )
    signals = {name: values[which] for name, values in compute_signals(wanted.signals, evidence).items()}
    both = evidence.scored
    return signals, {} if both is None else {"dense": both[:, 0], "bm25": both[:, 1]}


def _to_make(
    methods: Sequence[Method], gated: Sequence[NDArray[np.bool_]], which: NDArray[np.int64], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many traces and paraphrases each distinct question needs: the most of any method."""
    traces, paraphrases = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for method, mask in zip(methods, gated, strict=True):
        if method.stages:
            continue
        asked = np.unique(which[mask])
        traces[asked] = np.maximum(traces[asked], method.wants[0])
        paraphrases[asked] = np.maximum(paraphrases[asked], method.wants[1])
    return traces, paraphrases
