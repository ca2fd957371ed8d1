"""The containers on disk: JSON Lines, one JSON document, Parquet; each yields records and their places."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from sqe_fast.errors import InvalidInputError, SqeFastError
from sqe_fast.readers import parquet
from sqe_fast.readers.forms import form_of

__all__ = ["Row", "Rows", "file_rows"]

PEEK = 20  # lines looked at to tell JSON Lines from one document
BOM = b"\xef\xbb\xbf"
GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Row:
    """A record and where it stands; an error in its place says why it could not be had."""

    where: str
    record: Any


Rows = Iterator[Row]


def file_rows(path: Path) -> Rows:
    """Yield the records of a file; the container is told from its first bytes."""
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except OSError as error:
        yield Row(str(path), InvalidInputError(f"cannot be read: {error.strerror}"))
        return
    if start == parquet.MAGIC:
        for number, record in parquet.records(path):
            yield Row(f"{path}, row {number}", record)
        return
    with gzip.open(path) if start.startswith(GZIP) else path.open("rb") as file:
        yield from _text_rows(path, file)


def _text_rows(path: Path, file: Iterable[bytes]) -> Rows:
    lines = _lines(path, file)
    first: list[tuple[int, bytes | SqeFastError]] = []
    for number, line in lines:
        if isinstance(line, SqeFastError) or line.strip():
            first.append((number, line))
        if len(first) == PEEK:
            break
    if not first:
        yield Row(str(path), InvalidInputError("the file is empty"))
    elif _is_document(first):
        yield from _document_rows(path, chain(first, lines))
    else:
        yield from _line_rows(path, chain(first, lines))


def _lines(path: Path, file: Iterable[bytes]) -> Iterator[tuple[int, bytes | SqeFastError]]:
    """Yield (number from 1, line); a file that cannot be read to its end ends with an error as its line."""
    number = 0
    try:
        for number, line in enumerate(file, 1):
            yield number, line.removeprefix(BOM) if number == 1 else line
    except (OSError, EOFError, zlib.error) as error:
        yield number + 1, InvalidInputError(f"cannot be read further: {error}")


def _is_document(first: list[tuple[int, bytes | SqeFastError]]) -> bool:
    """Return whether the lines begin one JSON document rather than JSON Lines.

    What opens with a bracket is a document. A line that is a whole object of a known form settles it for JSON
    Lines, also behind a broken first line; so does a first line that is any whole object. Otherwise what
    opens with a brace is a document.
    """
    texts = [line for _, line in first if not isinstance(line, SqeFastError)]
    if not texts or not texts[0].lstrip().startswith(b"{"):
        return bool(texts) and texts[0].lstrip().startswith(b"[")
    for position, text in enumerate(texts):
        try:
            record = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and (position == 0 or form_of(record) is not None):
            return False
    return True


def _document_rows(path: Path, lines: Iterator[tuple[int, bytes | SqeFastError]]) -> Rows:
    """Yield the one record of a document, or the records of a list of records."""
    parts: list[bytes] = []
    for number, line in lines:
        if isinstance(line, SqeFastError):
            yield Row(f"{path}, line {number}", line)
            return
        # Blank lines ahead were dropped: put them back, so that an error names the right line.
        parts.append(b"\n" * (number - 1 - len(parts)) + line if not parts else line)
    document = _parse(b"".join(parts))
    if isinstance(document, list) and form_of(document) is None:
        for number, record in enumerate(document, 1):
            yield Row(f"{path}, record {number}", record)
    else:
        yield Row(str(path), document)


def _line_rows(path: Path, lines: Iterator[tuple[int, bytes | SqeFastError]]) -> Rows:
    for number, line in lines:
        if isinstance(line, SqeFastError):
            yield Row(f"{path}, line {number}", line)
        elif line.strip():
            yield Row(f"{path}, line {number}", _parse(line.rstrip()))


def _parse(data: bytes) -> Any:
    """Return the value of a JSON text, or the error to show in its place."""
    try:
        return json.loads(data.decode())
    except UnicodeDecodeError as error:
        return InvalidInputError(f"not UTF-8 text (byte {error.start})")
    except json.JSONDecodeError as error:
        at = f"line {error.lineno}, column {error.colno}" if error.lineno > 1 else f"column {error.colno}"
        return InvalidInputError(f"not JSON: {error.msg} ({at})")
    except (ValueError, RecursionError) as error:
        return InvalidInputError(f"not JSON that can be read: {error}")
