"""The last stage of a chunk: for each method, its lists fused and its costs told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqe_fast._engine.ask import Asked
from sqe_fast._engine.fuse import Job, fuse
from sqe_fast._engine.lists import ABSENT, Lists
from sqe_fast._engine.searcher import Searcher
from sqe_fast.expand import KINDS, Expansion
from sqe_fast.gate.gates import OracleGate
from sqe_fast.gate.list_signals import LIST_SIGNALS
from sqe_fast.hits import Hits
from sqe_fast.methods import Method
from sqe_fast.usage import Usage

__all__ = ["Answer", "answer"]

_NOTHING = Usage.zeros(1)


@dataclass(frozen=True, eq=False)
class Answer:
    """What one method makes of a chunk; the fields are those of `SearchBatch`."""

    hits: Hits
    gated: NDArray[np.bool_]
    lengths: NDArray[np.int32]
    problems: tuple[str | None, ...]
    usage: Usage


def answer(
    methods: Sequence[Method],
    gates: Sequence[NDArray[np.bool_]],
    asked: Asked,
    expansions: Mapping[int, Expansion],
    lists: Lists,
    targets: NDArray[np.int32] | None,
    searcher: Searcher,
    threads: int | None,
) -> list[Answer]:
    """Fuse the lists of each method over a chunk.

    Parameters
    ----------
    methods, gates
        Methods, and for each bool[n]: the questions that its gate expands.
    targets : int32[n, most] or None
        Rows that answer each question, padded with -2; for the oracle.
    """
    gates = list(gates)
    for number, method in enumerate(methods):
        if isinstance(method.gate, OracleGate) and targets is not None:
            jobs = [_job(method, gated, asked, lists) for gated in (gates[number], gates[number] & False)]
            with_added, without = fuse(jobs, lists, searcher, threads)
            at = method.gate.at
            gates[number] = gates[number] & _has(with_added, targets, at) & ~_has(without, targets, at)
    jobs = [_job(method, gated, asked, lists) for method, gated in zip(methods, gates, strict=True)]
    return [
        Answer(
            hits,
            gated,
            _lengths(job, lists, len(searcher.snapshot)),
            _problems(method, gated, asked, expansions),
            _usage(method, gated, asked, expansions),
        )
        for method, gated, job, hits in zip(
            methods, gates, jobs, fuse(jobs, lists, searcher, threads), strict=True
        )
    ]


def _job(method: Method, gated: NDArray[np.bool_], asked: Asked, lists: Lists) -> Job:
    """Return what a method fuses, and with which weights; a list that weighs nothing takes no part."""
    taken = _taken(method, gated, asked.which, lists)
    if method.weights is None and method.weigh_by is None:
        return Job(method, taken, None)
    weights = np.where(taken >= 0, np.array(method.list_weights), 0.0)
    if method.weigh_by is not None:
        weights = _weighed(weights, LIST_SIGNALS[method.weigh_by](_cut(lists.hits, method))[taken])
    return Job(method, np.where(weights > 0, taken, np.int32(ABSENT)), weights)


def _weighed(weights: NDArray[np.float64], signal: NDArray[np.float64]) -> NDArray[np.float64]:
    """Multiply weights by a signal relative to its largest; leave them where no list has any."""
    signal = np.where(weights > 0, np.maximum(signal, 0.0), 0.0)
    most = signal.max(1, keepdims=True)
    weighed: NDArray[np.float64] = weights * np.where(most > 0, signal / np.where(most > 0, most, 1.0), 1.0)
    return weighed


def _cut(hits: Hits, method: Method) -> Hits:
    """Return the part of each list that a method sees, whatever other methods wanted."""
    return Hits(hits.ids[:, : method.list_depth], hits.scores[:, : method.list_depth])


def _lengths(job: Job, lists: Lists, documents: int) -> NDArray[np.int32]:
    """Return int32[n, lists]: how many documents each list gave to the fusion, -1 where it took no part."""
    if job.method.fusion == "rrf":
        given = np.minimum(lists.counts[job.taken], job.method.list_depth)
    else:
        several = (job.taken >= 0).sum(1, keepdims=True) > 1
        given = np.where(several, documents, lists.counts[job.taken])
    return np.where(job.taken >= 0, given, ABSENT).astype(np.int32)


def _taken(
    method: Method, gated: NDArray[np.bool_], which: NDArray[np.int64], lists: Lists
) -> NDArray[np.int32]:
    """Return int32[n, lists]: the row of each list that takes part, in the order of fusion, else -1."""
    columns = []
    for source in method.lists + method.added:
        count = method.count(source)
        if not count:
            continue
        # For each probe one list of each index: the indexes vary fastest.
        of_probe = [_wide(lists.rows[source.probe, index], count) for index in source.indexes]
        columns.append(np.stack(of_probe, axis=2).reshape(len(of_probe[0]), -1))
    taken = np.concatenate(columns, axis=1)[which]
    own = sum(len(source.indexes) for source in method.lists)
    taken[~gated, own:] = ABSENT
    return taken


def _wide(rows: NDArray[np.int32], width: int) -> NDArray[np.int32]:
    """Return the first `width` columns, made up with -1 where there are fewer."""
    missing = width - rows.shape[1]
    return np.pad(rows, ((0, 0), (0, missing)), constant_values=ABSENT) if missing > 0 else rows[:, :width]


def _has(hits: Hits, targets: NDArray[np.int32], at: int) -> NDArray[np.bool_]:
    """Return bool[n]: a target is among the first `at` hits."""
    found: NDArray[np.bool_] = (hits.ids[:, :at, None] == targets[:, None, :]).any((1, 2))
    return found


def _problems(
    method: Method, gated: NDArray[np.bool_], asked: Asked, expansions: Mapping[int, Expansion]
) -> tuple[str | None, ...]:
    problems: list[str | None] = [None] * len(asked.questions)
    for at in np.flatnonzero(asked.which < 0).tolist():
        problems[at] = asked.blank
    if any(method.wants):
        for at in np.flatnonzero(gated).tolist():
            made = expansions[int(asked.which[at])]
            if made.problems:
                problems[at] = _problem(method, made)
    return tuple(problems)


def _problem(method: Method, made: Expansion) -> str | None:
    """Return why lists that the method wants are missing; None if it has them all."""
    texts: Sequence[Sequence[str]] = (made.traces, made.paraphrases)
    found = [
        f"{kind}: {made.problems[kind]}"
        for kind, have, wish in zip(KINDS, texts, method.wants, strict=True)
        if len(have) < wish and kind in made.problems
    ]
    return "; ".join(found) or None


def _usage(
    method: Method, gated: NDArray[np.bool_], asked: Asked, expansions: Mapping[int, Expansion]
) -> Usage:
    """Return the cost of each question; one that repeats costs where it is expanded first."""
    kinds = [kind for kind, wish in zip(KINDS, method.wants, strict=True) if wish]
    at = np.flatnonzero(gated)
    if not len(at) or not kinds:
        return Usage.zeros(len(gated))
    _, first = np.unique(asked.which[at], return_index=True)
    parts = [_NOTHING] * (len(gated) * len(kinds))
    for row in at[first].tolist():
        costs = expansions[int(asked.which[row])].costs
        for number, kind in enumerate(kinds):
            parts[number * len(gated) + row] = costs.get(kind, _NOTHING)
    total = Usage.concat(parts)
    n = len(gated)
    columns = [
        column.reshape(len(kinds), n).sum(0)
        for column in (total.calls, total.prompt_tokens, total.cached_tokens, total.completion_tokens)
    ]
    return Usage(columns[0], columns[1], columns[2], columns[3], total.estimated)
