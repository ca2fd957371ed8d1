"""The last stage of a chunk: for each method, its lists fused and its costs told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sqe_fast._engine.ask import Asked
from sqe_fast._engine.fuse import Job, fuse
from sqe_fast._engine.judging import Judged, judge_probes
from sqe_fast._engine.lists import ABSENT, Lists, wide
from sqe_fast._engine.probes import Expanded, Group
from sqe_fast._engine.table import Table
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
    weights: NDArray[np.float32]
    refused: tuple[Mapping[str, str], ...]
    evidence: Mapping[str, NDArray[np.float32]]
    steps: NDArray[np.int32]
    problems: tuple[str | None, ...]
    usage: Usage


def answer(
    methods: Sequence[Method],
    asked: Asked,
    expanded: Expanded,
    targets: NDArray[np.int32] | None,
    threads: int | None,
) -> list[Answer]:
    """Look up the probes, judge them, and fuse the lists of each method over a chunk.

    Parameters
    ----------
    targets : int32[n, most] or None
        Rows that answer each question, padded with -2; for the oracle.
    """
    table = expanded.table
    rows = {id(group): group for group in expanded.groups}
    found = {key: group.look_up(table) for key, group in rows.items()}
    with asked.clock.room("fuse"):
        plans = [
            _Plan(method, gated, asked, group, table, found[id(group)])
            for method, gated, group in zip(methods, asked.gated, expanded.groups, strict=True)
        ]
        if targets is not None:
            for plan in plans:
                if isinstance(plan.method.gate, OracleGate):
                    plan.look_at(targets, threads)
        jobs = [plan.job() for plan in plans]
        hits = fuse(jobs, table, threads)
        return [plan.answer(job, own) for plan, job, own in zip(plans, jobs, hits, strict=True)]


class _Plan:
    """One method over a chunk: which lists take part, with which weights."""

    def __init__(
        self,
        method: Method,
        gated: NDArray[np.bool_],
        asked: Asked,
        group: Group,
        table: Table,
        rows: Mapping[tuple[str, str], NDArray[np.int32]],
    ) -> None:
        self.method = method
        self.gated = gated
        self._asked = asked
        self._group = group
        self._table = table
        self._lists = table.lists(rows)
        self._judged: Judged | None = None
        if method.accept is not None and method.expands:
            counts = dict(zip(KINDS, method.wants, strict=True))
            self._judged = judge_probes(method.accept, counts, asked.which, gated, self._lists.rows, table)

    def look_at(self, targets: NDArray[np.int32], threads: int | None) -> None:
        """Let the oracle keep the expansions that help."""
        before = self.gated
        jobs = [self.job()]
        self.gated = np.zeros_like(before)
        jobs.append(self.job())
        with_added, without = fuse(jobs, self._table, threads)
        at = getattr(self.method.gate, "at", self.method.k)
        self.gated = before & _has(with_added, targets, at) & ~_has(without, targets, at)

    def job(self) -> Job:
        """Return what is fused; a list that weighs nothing takes no part."""
        method, lists = self.method, self._lists
        taken = _taken(method, self.gated, self._asked.which, lists)
        if method.weights is None and method.weigh_by is None and self._judged is None:
            return Job(method, taken, None)
        weights = np.where(taken >= 0, np.array(method.list_weights), 0.0)
        if self._judged is not None:
            for column, (kind, number, _) in enumerate(method.list_places):
                if kind != "question":
                    weights[:, column] *= np.nan_to_num(self._judged.weights[kind][:, number])
        if method.weigh_by is not None:
            signal = LIST_SIGNALS[method.weigh_by](_cut(lists.hits, method))
            weights = _weighed(weights, signal[np.where(weights > 0, taken, ABSENT)])
        return Job(method, np.where(weights > 0, taken, np.int32(ABSENT)), weights)

    def answer(self, job: Job, hits: Hits) -> Answer:
        """Return what is told of the method's hits."""
        method, which = self.method, self._asked.which
        weights = (job.taken >= 0).astype(np.float32) if job.weights is None else job.weights
        refused: tuple[Mapping[str, str], ...] = ({},) * len(which)
        evidence: dict[str, NDArray[np.float32]] = {}
        if self._judged is not None:
            pairs = zip(self._judged.refused, self.gated.tolist(), strict=True)
            refused = tuple(reasons if yes else {} for reasons, yes in pairs)
            for rule, of_kind in self._judged.values.items():
                evidence[rule] = np.concatenate([of_kind[kind] for kind in KINDS], axis=1)
                evidence[rule][~self.gated] = np.nan
        steps = np.append(self._group.steps, np.int32(0))[which]  # the place -1 reads the last
        return Answer(
            hits,
            self.gated,
            _lengths(job, self._lists, len(self._table.searcher.snapshot)),
            weights.astype(np.float32),
            refused,
            evidence,
            np.where(self.gated, steps, np.int32(0)) if method.expands else np.zeros_like(steps),
            _problems(method, self.gated, self._asked, self._group.made),
            _usage(method, self.gated, self._asked, self._group),
        )


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
        of_probe = [wide(lists.rows[source.probe, index], count) for index in source.indexes]
        columns.append(np.stack(of_probe, axis=2).reshape(len(of_probe[0]), -1))
    taken = np.concatenate(columns, axis=1)[which]
    own = sum(len(source.indexes) for source in method.lists)
    taken[~gated, own:] = ABSENT
    return taken


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


def _usage(method: Method, gated: NDArray[np.bool_], asked: Asked, group: Group) -> Usage:
    """Return the cost of each question; one that repeats costs where it is expanded first."""
    # What came in one answer for both kinds counts in full for a method that takes either.
    kinds = [kind for kind, wish in zip(KINDS, method.wants, strict=True) if wish] + ["joint"]
    at = np.flatnonzero(gated)
    if not len(at) or not method.expands:
        return Usage.zeros(len(gated))
    _, first = np.unique(asked.which[at], return_index=True)
    parts = [_NOTHING] * (len(gated) * len(kinds))
    for row in at[first].tolist():
        place = int(asked.which[row])
        costs = group.made[place].costs
        for number, kind in enumerate(kinds):
            cost = costs.get(kind, _NOTHING)
            if kind in KINDS:
                which = KINDS.index(kind)
                cost = _share(cost, method.wants[which], int(group.want[which][place]))
            parts[number * len(gated) + row] = cost
    total = Usage.concat(parts)
    n = len(gated)
    columns = [
        column.reshape(len(kinds), n).sum(0)
        for column in (total.calls, total.prompt_tokens, total.cached_tokens, total.completion_tokens)
    ]
    return Usage(columns[0], columns[1], columns[2], columns[3], total.estimated)


def _share(cost: Usage, wish: int, made: int) -> Usage:
    """Return the cost of `wish` of the probes that were `made` in one answer, for another method.

    Samples of one prompt are alike before they are drawn, so each has an equal part of the new tokens.
    """
    if wish >= made or not cost.completion_tokens.any():
        return cost
    part = np.rint(cost.completion_tokens * (wish / made)).astype(np.int64)
    return replace(cost, completion_tokens=part, estimated=True)
