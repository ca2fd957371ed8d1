"""The corpus of a BEIR data set: `_id`, `title`, `text`, `metadata`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqe_fast._checks import describe
from sqe_fast.episode import Episode
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.readers.names import Names

__all__ = ["episodes", "matches"]


def matches(record: Any) -> bool:
    """Return whether `record` has an `_id` and a text."""
    return isinstance(record, dict) and "_id" in record and "text" in record


def episodes(record: Any, source: str, names: Names) -> Iterable[Episode]:
    """Return the one episode of a document: title and text joined by a space, as BEIR's own loaders do."""
    if not matches(record):
        raise InvalidInputError("a document of a BEIR corpus needs the keys _id and text")
    name = record["_id"]
    identifier = str(name) if isinstance(name, int) and not isinstance(name, bool) else name
    title, text = (record.get(key) or "" for key in ("title", "text"))
    for key, value in (("title", title), ("text", text)):
        if not isinstance(value, str):
            raise InvalidTypeError(f"{key} must be a str; got {describe(value)}")
    fields = {
        key: value for key, value in record.items() if key not in ("_id", "text") and value not in ("", {})
    }
    return (Episode(identifier, f"{title} {text}".strip(), None, fields),)
