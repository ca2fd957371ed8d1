"""Rows as columns: of one method, of one seed, of an experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqe_fast._checks import check_int
from sqe_fast.errors import InvalidInputError, RecordError
from sqe_fast.experiment._rows.names import method_of
from sqe_fast.experiment._rows.parse import Parsed

__all__ = ["Experiment", "MethodRows", "SeedRows", "aligned", "columns"]


@dataclass(frozen=True, eq=False)
class MethodRows:
    """The rows of one method over n queries, as columns.

    Attributes
    ----------
    method : str
        The method's name in the release, such as "Selective-QE".
    path : Path
        The file.
    query_ids, queries, targets : tuple of str
        Of each row.
    lines : tuple of int
        The line of the file that each row stands on, from 1.
    retrieved : tuple of tuple of str
        The ids of the hits, best first, at most 10 in the protocol.
    rank : int32[n]
        1-based rank of the target among them; 0: not retrieved.
    expanded : bool[n]
        Whether lists of an expansion took part.
    top1 : float64[n]
        Dense score of the question's own best hit; nan where the row has none.
    calls, prompt_tokens, completion_tokens, cached_tokens : int64[n]
        What the generation of the row's expansion cost when it was made; 0 where the row does not say.
    seconds : float64[n]
        Seconds of the query; nan where not measured. The run's manifest says how.
    signals : mapping of str to float64[n]
        What the gate could see; nan for a value that is absent or infinite.
    raw : tuple of mapping
        The rows as read.
    """

    method: str
    path: Path
    query_ids: tuple[str, ...]
    queries: tuple[str, ...]
    targets: tuple[str, ...]
    lines: tuple[int, ...]
    retrieved: tuple[tuple[str, ...], ...]
    rank: NDArray[np.int32]
    expanded: NDArray[np.bool_]
    top1: NDArray[np.float64]
    calls: NDArray[np.int64]
    prompt_tokens: NDArray[np.int64]
    completion_tokens: NDArray[np.int64]
    cached_tokens: NDArray[np.int64]
    seconds: NDArray[np.float64]
    signals: Mapping[str, NDArray[np.float64]]
    raw: tuple[Mapping[str, Any], ...]

    def __len__(self) -> int:
        return len(self.query_ids)

    def hit(self, k: int) -> NDArray[np.bool_]:
        """bool[n]: the target is among the first k hits."""
        found: NDArray[np.bool_] = (self.rank > 0) & (self.rank <= check_int("k", k, 1))
        return found

    def taken(self, order: Sequence[int]) -> MethodRows:
        """Return the rows at these positions, in this order."""
        changed: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                changed[field.name] = value[list(order)]
            elif isinstance(value, tuple):
                changed[field.name] = tuple(value[i] for i in order)
        signals = {name: values[list(order)] for name, values in self.signals.items()}
        return replace(self, **changed, signals=signals)


@dataclass(frozen=True, eq=False)
class SeedRows:
    """The rows of all methods of one seed, aligned: row i of each method is of the same query.

    Attributes
    ----------
    seed : int
    folder : Path
        The folder of the row files.
    query_ids, queries, targets : tuple of str
        n of each.
    methods : mapping of str to MethodRows
        By name, in the order of `METHOD_FILES`, further ones behind.
    """

    seed: int
    folder: Path
    query_ids: tuple[str, ...]
    queries: tuple[str, ...]
    targets: tuple[str, ...]
    methods: Mapping[str, MethodRows]

    def __len__(self) -> int:
        return len(self.query_ids)


@dataclass(frozen=True, eq=False)
class Experiment:
    """The seeds of an experiment, in rising order."""

    root: Path
    seeds: tuple[SeedRows, ...]


def columns(path: Path, parsed: Parsed) -> MethodRows:
    """Return the rows of a file as columns."""
    rows = parsed.rows
    names = dict.fromkeys(name for row in rows for name in row.get("signals") or ())
    retrieved = tuple(tuple(row["retrieved_ids"]) for row in rows)
    targets = tuple(row["target_id"] for row in rows)
    pairs = zip(retrieved, targets, strict=True)
    ranks = [ids.index(target) + 1 if target in ids else 0 for ids, target in pairs]
    return MethodRows(
        method=method_of(path.name, rows[0].get("method")),
        path=path,
        query_ids=tuple(row["query_id"] for row in rows),
        queries=tuple(row["query"] for row in rows),
        targets=targets,
        lines=parsed.lines,
        retrieved=retrieved,
        rank=np.array(ranks, np.int32),
        expanded=np.array([bool(meta.get("expanded")) for meta in parsed.metas], np.bool_),
        top1=parsed.floats("top1_score_before_expansion"),
        calls=parsed.ints("llm_calls"),
        prompt_tokens=parsed.ints("prompt_tokens"),
        completion_tokens=parsed.ints("completion_tokens"),
        cached_tokens=np.array([row.get("cached_tokens") or 0 for row in rows], np.int64),
        seconds=parsed.floats("elapsed_seconds"),
        signals={
            name: np.array([_number((row.get("signals") or {}).get(name)) for row in rows], np.float64)
            for name in names
        },
        raw=tuple(rows),
    )


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


def aligned(seed: int, folder: Path, parts: Sequence[MethodRows]) -> SeedRows:
    """Return the rows of all methods in the order of the first, or name the row that does not fit."""
    first = parts[0]
    line_of = {name: place for place, name in enumerate(first.query_ids)}
    methods: dict[str, MethodRows] = {}
    for part in parts:
        if part.method in methods:
            raise InvalidInputError(
                f"{part.path} and {methods[part.method].path.name} both hold rows of {part.method}"
            )
        place_of = {name: place for place, name in enumerate(part.query_ids)}
        for name, place in place_of.items():
            where = f"{part.path}:{part.lines[place]}: query_id {name!r}"
            at = line_of.get(name)
            if at is None:
                raise RecordError(f"{where} is not in {first.path.name}")
            other = f"{first.path.name}:{first.lines[at]}"
            if part.targets[place] != first.targets[at]:
                raise RecordError(
                    f"{where} has the target {part.targets[place]!r}; {other} has {first.targets[at]!r}"
                )
            if part.queries[place] != first.queries[at]:
                raise RecordError(f"{where} has another query than {other}")
        for name, at in line_of.items():
            if name not in place_of:
                raise RecordError(
                    f"{part.path}: no row of query_id {name!r}, which {first.path.name}:{first.lines[at]} has"
                )
        order = [place_of[name] for name in first.query_ids]
        methods[part.method] = part if order == list(range(len(order))) else part.taken(order)
    return SeedRows(seed, folder, first.query_ids, first.queries, first.targets, methods)
