"""The forms of a record, tried in a fixed order, and the names that trajectories get."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from sqe_fast._checks import describe
from sqe_fast.episode import Episode
from sqe_fast.errors import InvalidInputError
from sqe_fast.readers import beir, minisweagent, own, sweagent, swesmith
from sqe_fast.readers.names import Names

__all__ = ["Form", "Names", "form_of", "unknown_record"]


class Form(Protocol):
    """A module that knows one form of record."""

    def matches(self, record: Any) -> bool:
        """Return whether `record`, any JSON value, is of this form by its keys."""

    def episodes(self, record: Any, source: str, names: Names) -> Iterable[Episode]:
        """Return the episodes of a record; `source` names where it came from."""


FORMS: tuple[Form, ...] = (own, beir, sweagent, minisweagent, swesmith)


def form_of(record: Any) -> Form | None:
    """Return the form of a record, or None for one that no form knows."""
    return next((form for form in FORMS if form.matches(record)), None)


def unknown_record(record: Any) -> InvalidInputError:
    """Return the error for a record whose form is not known."""
    has = (
        f"an object with the keys {', '.join(map(repr, list(record)[:8]))}"
        if isinstance(record, dict)
        else None
    )
    return InvalidInputError(
        "not a record of a known form: needs id and text (own), _id and text (BEIR), trajectory or history "
        "(SWE-agent), or messages (mini-swe-agent, SWE-smith); "
        f"got {has or describe(record)}"
    )
