"""The last stage of a chunk: for one method, its lists fused and its costs told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqe_fast._engine.ask import Asked
from sqe_fast._engine.lists import ABSENT, Lists, empty_hits
from sqe_fast.expand import KINDS, Expansion
from sqe_fast.fusion import rrf
from sqe_fast.gate.gates import OracleGate
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
    method: Method,
    gated: NDArray[np.bool_],
    asked: Asked,
    expansions: Mapping[int, Expansion],
    lists: Lists,
    targets: NDArray[np.int32] | None,
    threads: int | None,
) -> Answer:
    """Fuse the lists of a method over a chunk.

    Parameters
    ----------
    method, gated
        A method, and bool[n]: the questions that its gate expands.
    targets : int32[n, most] or None
        Rows that answer each question, padded with -2; for the oracle.
    """
    taken = _taken(method, gated, asked.which, lists)
    if isinstance(method.gate, OracleGate) and targets is not None:
        own = np.zeros_like(gated)
        without = _fused(method, _taken(method, own, asked.which, lists), lists, threads)
        with_added = _fused(method, taken, lists, threads)
        at = method.gate.at
        gated = gated & _has(with_added, targets, at) & ~_has(without, targets, at)
        taken = _taken(method, gated, asked.which, lists)
    lengths = np.where(taken >= 0, np.minimum(lists.counts[taken], method.list_depth), ABSENT)
    return Answer(
        _fused(method, taken, lists, threads),
        gated,
        lengths.astype(np.int32),
        _problems(method, gated, asked, expansions),
        _usage(method, gated, asked, expansions),
    )


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


def _fused(method: Method, taken: NDArray[np.int32], lists: Lists, threads: int | None) -> Hits:
    """Return the answers: one list as it is, several fused in one call."""
    out = empty_hits(len(taken), method.k)
    number = (taken >= 0).sum(1)
    single = np.flatnonzero(number == 1)
    if len(single):
        rows = taken[single].max(1)
        width = min(method.k, lists.hits.ids.shape[1])
        out.ids[single, :width] = lists.hits.ids[rows, :width]
        out.scores[single, :width] = lists.hits.scores[rows, :width]
    several = np.flatnonzero(number > 1)
    if len(several):
        rows = taken[several]
        lengths = np.where(rows >= 0, np.minimum(lists.counts[rows], method.list_depth), 0)
        fused = rrf(lists.hits.ids[rows], lengths, k=method.k, constant=method.constant, threads=threads)
        out.ids[several], out.scores[several] = fused.ids, fused.scores
    return out


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
