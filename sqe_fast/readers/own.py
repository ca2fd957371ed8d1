"""Our own form: an id (or `episode_id`), a text, a `task_id`, and any other keys as fields."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqe_fast.episode import ID_KEYS, Episode
from sqe_fast.readers.names import Names

__all__ = ["episodes", "matches"]


def matches(record: Any) -> bool:
    """Return whether `record` has an id and a text."""
    return isinstance(record, dict) and "text" in record and any(key in record for key in ID_KEYS)


def episodes(record: Any, source: str, names: Names) -> Iterable[Episode]:
    """Return the one episode of a record; an id that is an int becomes its digits."""
    if isinstance(record, dict):
        record = {key: str(value) if _is_int_id(key, value) else value for key, value in record.items()}
    return (Episode.from_record(record),)


def _is_int_id(key: str, value: object) -> bool:
    return key in (*ID_KEYS, "task_id") and isinstance(value, int) and not isinstance(value, bool)
