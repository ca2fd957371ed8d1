"""Lines of a row file, checked one by one; an error names the file and the line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqe_fast._checks import describe
from sqe_fast.errors import InvalidInputError, RecordError

__all__ = ["Parsed", "read_lines"]

_COUNTS = ("llm_calls", "prompt_tokens", "completion_tokens", "total_tokens")
_NUMBERS = ("top1_score_before_expansion", "elapsed_seconds")


@dataclass(frozen=True)
class Parsed:
    """The rows of a file, and the line that each stands on."""

    rows: list[dict[str, Any]]
    lines: tuple[int, ...]

    @cached_property
    def metas(self) -> list[Mapping[str, Any]]:
        """The `meta` of each row; empty where it has none."""
        return [row.get("meta") or {} for row in self.rows]

    def ints(self, name: str) -> NDArray[np.int64]:
        """int64[n]: a count of `meta`; 0 where there is none."""
        return np.array([meta.get(name) or 0 for meta in self.metas], np.int64)

    def floats(self, name: str) -> NDArray[np.float64]:
        """float64[n]: a number of `meta`; nan where there is none."""
        values = (meta.get(name) for meta in self.metas)
        return np.array([float("nan") if value is None else value for value in values], np.float64)


def read_lines(path: Path, *, retrieved: bool = True) -> Parsed:
    """Read a file of rows; with `retrieved`, of a method, with their ids.

    Raises
    ------
    RecordError
        A line is no row, or its query_id stood on an earlier line.
    InvalidInputError
        The file cannot be read, or is empty.
    """
    rows, lines = [], []
    seen: dict[str, int] = {}
    try:
        # Not str.splitlines, nor any end of line but "\n": a text may hold the others.
        for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
            if not line.strip():
                continue
            row = _row(line, f"{path}:{number}", retrieved)
            name = row["query_id"]
            if name in seen:
                raise RecordError(f"{path}:{number}: query_id {name!r} stands on line {seen[name]} already")
            seen[name] = number
            rows.append(row)
            lines.append(number)
    except OSError as error:
        raise InvalidInputError(f"cannot read the rows {path}: {error.strerror}") from error
    if not rows:
        raise InvalidInputError(f"{path} holds no rows")
    return Parsed(rows, tuple(lines))


def _row(line: bytes, where: str, retrieved: bool) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:  # UnicodeDecodeError is one
        raise RecordError(f"{where}: not a line of JSON ({error})") from None
    if not isinstance(row, dict):
        raise RecordError(f"{where}: a row must be an object; got {describe(row)}")
    for name in ("query_id", "query", "target_id"):
        if not isinstance(row.get(name), str) or not row[name]:
            raise RecordError(f"{where}: {name} must be a str that is not empty; got {_given(row, name)}")
    if retrieved:
        _check(row, where)
    return row


def _check(row: Mapping[str, Any], where: str) -> None:
    ids = row.get("retrieved_ids")
    if not isinstance(ids, list) or not all(isinstance(name, str) for name in ids):
        raise RecordError(f"{where}: retrieved_ids must be a list of str; got {_given(row, 'retrieved_ids')}")
    for name in ("hit@1", "hit@10"):
        if name in row and not isinstance(row[name], bool):
            raise RecordError(f"{where}: {name} must be true or false; got {_given(row, name)}")
    for name in ("meta", "signals"):
        if not isinstance(row.get(name), (dict, type(None))):
            raise RecordError(f"{where}: {name} must be an object; got {_given(row, name)}")
    meta, signals = row.get("meta") or {}, row.get("signals") or {}
    if not isinstance(meta.get("expanded"), (bool, type(None))):
        raise RecordError(f"{where}: expanded must be true or false; got {_given(meta, 'expanded')}")
    for holder, names in ((meta, _COUNTS), (row, ("cached_tokens",))):
        for name in names:
            value = holder.get(name)
            if value is not None and (type(value) is not int or not 0 <= value < 2**63):
                raise RecordError(f"{where}: {name} must be a count, 0 or more; got {_given(holder, name)}")
    for holder, names in ((meta, _NUMBERS), (signals, tuple(signals))):
        for name in names:
            if isinstance(holder.get(name), bool) or not isinstance(
                holder.get(name), (int, float, type(None))
            ):
                raise RecordError(f"{where}: {name} must be a number; got {_given(holder, name)}")


def _given(row: Mapping[str, Any], name: str) -> str:
    return describe(row[name]) if name in row else "none"
