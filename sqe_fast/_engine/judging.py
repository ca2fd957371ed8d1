"""Probes put to the rules of acceptance: what they retrieved, gathered from the table of a chunk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqe_fast._engine.lists import wide
from sqe_fast._engine.table import Table
from sqe_fast.gate.accept import Accept, judge
from sqe_fast.gate.probe_signals import PROBE_KINDS
from sqe_fast.hits import Hits
from sqe_fast.methods import probe_name

__all__ = ["Judged", "judge_probes"]

Rows = Mapping[tuple[str, str], NDArray[np.int32]]


@dataclass(frozen=True, eq=False)
class Judged:
    """What became of the probes of n questions.

    Attributes
    ----------
    weights : mapping of str to float64[n, count]
        By kind of probe; NaN where there is none.
    values : mapping of str to mapping of str to float32[n, count]
        By the text of the rule, then by kind: what the rule saw; NaN where there is no probe.
    refused : tuple of mapping of str to str
        For each question the refused probes by name, and why.
    """

    weights: Mapping[str, NDArray[np.float64]]
    values: Mapping[str, Mapping[str, NDArray[np.float32]]]
    refused: tuple[Mapping[str, str], ...]


def judge_probes(
    accept: Accept,
    counts: Mapping[str, int],
    which: NDArray[np.int64],
    mask: NDArray[np.bool_],
    rows: Rows,
    table: Table,
) -> Judged:
    """Judge the first `counts` probes of each kind of the questions in `mask`.

    Parameters
    ----------
    which : int64[n]
        The place of each question among the distinct ones.
    rows
        As `Lists.rows`: of the probes in all indexes that the rules look at, and of the questions.
    """
    n = len(which)
    weights = {kind: np.full((n, counts[kind]), np.nan) for kind in PROBE_KINDS}
    values: dict[str, dict[str, NDArray[np.float32]]] = {
        str(rule): {kind: np.full((n, counts[kind]), np.nan, np.float32) for kind in PROBE_KINDS}
        for rule in accept.rules
    }
    refused: list[dict[str, str]] = [{} for _ in range(n)]
    places = []
    for kind in PROBE_KINDS:
        if counts[kind]:
            # Any index will do: a probe that was made has a row in each that it was looked up in.
            index = next(index for probe, index in rows if probe == kind)
            there = (wide(rows[kind, index], counts[kind])[which] >= 0) & mask[:, None]
            if kind in accept.probes:
                question, number = np.nonzero(there)
                places.append((kind, question, number))
            else:
                weights[kind][there] = 1.0
    if any(len(question) for _, question, _ in places):
        evidence = _Evidence(accept, counts, which, places, rows, table)
        verdict = judge(accept, evidence)
        start = 0
        for kind, question, number in places:
            part = slice(start, start + len(question))
            start += len(question)
            weights[kind][question, number] = verdict.weights[part]
            for rule, value in verdict.values.items():
                values[rule][kind][question, number] = value[part]
            for at, no, reason in zip(question.tolist(), number.tolist(), verdict.reasons[part], strict=True):
                if reason is not None:
                    refused[at][probe_name(kind, no)] = reason
    return Judged(weights, values, tuple(refused))


class _Evidence:
    """See `sqe_fast.gate.probe_signals.ProbeEvidence`."""

    def __init__(
        self,
        accept: Accept,
        counts: Mapping[str, int],
        which: NDArray[np.int64],
        places: list[tuple[str, NDArray[Any], NDArray[Any]]],
        rows: Rows,
        table: Table,
    ) -> None:
        self._table = table
        self._hits = table.lists({}).hits
        self.family = np.concatenate(
            [question * len(PROBE_KINDS) + PROBE_KINDS.index(kind) for kind, question, _ in places]
        )
        self._rows: dict[tuple[str, str], NDArray[np.int32]] = {}
        for index in accept.indexes:
            of_probes = [
                wide(rows[kind, index], counts[kind])[which[question], number]
                for kind, question, number in places
            ]
            of_questions = [rows["question", index][which[question], 0] for _, question, _ in places]
            self._rows["probe", index] = np.concatenate(of_probes)
            self._rows["question", index] = np.concatenate(of_questions)

    def hits(self, side: str, index: str) -> Hits:
        rows = self._rows[side, index]
        return Hits(self._hits.ids[rows], self._hits.scores[rows])

    def moments(self, side: str, index: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self._table.moments(self._rows[side, index])

    def idf_share(self, side: str) -> NDArray[np.float64]:
        return self._table.idf_share(self._rows[side, "bm25"])
