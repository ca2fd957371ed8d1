"""Questions from a file, one a line: plain text, or JSON objects."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import IO, Any

from sqe_fast._checks import describe
from sqe_fast.errors import InvalidInputError, RecordError

__all__ = ["Query", "read_queries"]

TEXT_KEYS = ("query", "question", "text")
ID_KEYS = ("query_id", "question_id", "id", "_id")
TARGET_KEYS = ("target_episode_id", "target_id", "target", "targets")


@dataclass(frozen=True)
class Query:
    """A question, the id it is reported under, and the ids that answer it where they are known."""

    id: str
    text: str
    targets: tuple[str, ...] | None = None


def read_queries(path: str | PathLike[str]) -> Iterator[Query]:
    """Yield the questions of a file, or of standard input for "-", as they are read.

    A file whose first line begins with "{" holds JSON objects: the question under query, question or text;
    if there, its id under query_id, question_id, id or _id, and its targets under target_episode_id,
    target_id, target or targets. Any other file holds one question a line. Blank lines are passed over. A
    question without an id gets its line number.

    Raises
    ------
    InvalidInputError
        There is no such file.
    RecordError
        While iterating: a line is not as it should be, with file and line.
    """
    if path == "-":
        return _lines("standard input", sys.stdin.buffer)
    try:
        file = Path(path).open("rb")  # noqa: SIM115 (closed by the iterator that reads it)
    except OSError as error:
        raise InvalidInputError(f"cannot read the questions {os.fspath(path)!r}: {error.strerror}") from error
    return _lines(os.fspath(path), file)


def _lines(name: str, file: IO[bytes]) -> Iterator[Query]:
    as_json: bool | None = None
    with file:
        for number, raw in enumerate(file, 1):
            where = f"{name}:{number}"
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
            except UnicodeDecodeError as error:
                raise RecordError(f"{where}: not UTF-8: {error}") from None
            if not line:
                continue
            if as_json is None:
                as_json = line.startswith("{")
            yield _record(line, where, number) if as_json else Query(str(number), line)


def _record(line: str, where: str, number: int) -> Query:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise RecordError(f"{where}: not JSON: {error}") from None
    if not isinstance(record, dict):
        raise RecordError(f"{where}: must be an object; got {describe(record)}")
    text = _first(record, TEXT_KEYS)
    if not isinstance(text, str):
        raise RecordError(f"{where}: needs the question as a str under one of {', '.join(TEXT_KEYS)}")
    own = _first(record, ID_KEYS)
    targets = _first(record, TARGET_KEYS)
    if isinstance(targets, str):
        targets = [targets]
    if targets is not None and not (
        isinstance(targets, list) and all(isinstance(one, str) for one in targets)
    ):
        raise RecordError(f"{where}: targets must be an id or a list of ids; got {describe(targets)}")
    return Query(str(number if own is None else own), text, None if targets is None else tuple(targets))


def _first(record: dict[str, Any], keys: tuple[str, ...]) -> Any:
    return next((record[key] for key in keys if record.get(key) is not None), None)
