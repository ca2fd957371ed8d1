"""An episode, the unit of agent memory, and the text that a step of an agent becomes.

Knows nothing of files or stores: readers make episodes, the store keeps them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqe_fast._checks import describe
from sqe_fast.errors import InvalidInputError, InvalidTypeError

__all__ = ["MIN_TEXT", "Episode", "Step", "check_id", "shown"]

THOUGHT_CUT = 300  # characters of a thought that are kept
OBSERVATION_LIMIT = 700  # a longer observation is cut to its two ends
OBSERVATION_END = 300  # characters kept of each end
TRUNCATION_LINE = "... [truncated] ..."
MIN_TEXT = 100  # a step whose text has this many characters or fewer is dropped

ID_KEYS = ("id", "episode_id")


def _check_str(name: str, value: object) -> str:
    """Return `value` if it is a str that UTF-8 can hold."""
    if not isinstance(value, str):
        raise InvalidTypeError(f"{name} must be a str; got {describe(value)}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"{name} holds a lone surrogate (U+{ord(value[error.start]):04X} at character {error.start}), "
            "which UTF-8 cannot hold; mend it, for example with "
            "text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')"
        ) from None
    return value


def shown(id: object) -> str:
    """Return an id as an error message shows it."""
    text = repr(id)
    return text if len(text) <= 80 else f"{text[:80]}..."


def check_id(name: str, value: object) -> str:
    """Return `value` if it may name an episode: a str, not empty, without lone surrogates."""
    if not _check_str(name, value):
        raise InvalidInputError(f"{name} must not be empty")
    return str(value)


@dataclass(frozen=True, slots=True)
class Episode:
    r"""One step of an agent (or any passage) as a memory keeps it.

    Attributes
    ----------
    id : str
        Unique within a store, not empty.
    text : str
        What is indexed; may be empty and may hold NUL, but no lone surrogates.
    task_id : str or None
        The task the step belongs to.
    fields : Mapping[str, Any]
        Anything else that JSON can hold. A store gives it back as JSON does: tuples as lists, keys as str.

    Raises
    ------
    InvalidTypeError, InvalidInputError
        A value of another type, an empty id, or a str that UTF-8 cannot hold.

    Examples
    --------
    >>> Episode("run1/0", "[ACTION] bash: ls\n[OBSERVATION] setup.py", task_id="run1").fields
    {}
    """

    id: str
    text: str
    task_id: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        check_id("id", self.id)
        where = shown(self.id)
        _check_str(f"text of episode {where}", self.text)
        if self.task_id is not None:
            _check_str(f"task_id of episode {where}", self.task_id)
        if not isinstance(self.fields, Mapping):
            raise InvalidTypeError(
                f"fields of episode {where} must be a mapping with str keys; got {describe(self.fields)}"
            )
        for key in self.fields:
            if not isinstance(key, str):
                raise InvalidTypeError(f"fields of episode {where} must have str keys; got {describe(key)}")

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Episode:
        """Return the episode of a plain record.

        Parameters
        ----------
        record : Mapping[str, Any]
            `id` (or `episode_id`) and `text`; `task_id` and a mapping `fields` if there; every other key
            becomes a field too.

        Raises
        ------
        InvalidTypeError, InvalidInputError
            `record` is no mapping, lacks id or text, or one of them is not as `Episode` wants it.

        Examples
        --------
        >>> Episode.from_record({"id": "a", "text": "pip install failed", "step": 3}).fields
        {'step': 3}
        """
        if not isinstance(record, Mapping):
            raise InvalidTypeError(f"an episode must be an Episode or a mapping; got {describe(record)}")
        rest = dict(record)
        key = next((key for key in ID_KEYS if key in rest), None)
        if key is None or "text" not in rest:
            missing = "id" if key is None else "text"
            names = ", ".join(sorted(map(repr, rest))[:8]) or "none"
            raise InvalidInputError(
                f"an episode needs the keys id and text; {missing} is missing (it has {names})"
            )
        own = rest.pop("fields", None)
        if own is not None and not isinstance(own, Mapping):
            raise InvalidTypeError(
                f"fields of episode {shown(rest[key])} must be a mapping; got {describe(own)}"
            )
        return cls(rest.pop(key), rest.pop("text"), rest.pop("task_id", None), {**(own or {}), **rest})


@dataclass(frozen=True, slots=True)
class Step:
    """One turn of an agent before formatting; an empty part is a missing part.

    Attributes
    ----------
    thought, tool, command, observation : str
        What the agent thought, the tool it called and with what, and what came back.

    Examples
    --------
    >>> print(Step("List the files first.", "bash", "ls", "setup.py").text())
    [THOUGHT] List the files first.
    [ACTION] bash: ls
    [OBSERVATION] setup.py
    """

    thought: str = ""
    tool: str = ""
    command: str = ""
    observation: str = ""

    def text(self) -> str:
        """Return the text of the step in the form of the SQE protocol.

        A missing part is left out; the thought is cut to 300 characters; an observation over 700
        becomes its first 300, a line that says so, and its last 300.
        """
        parts = []
        if self.thought:
            parts.append(f"[THOUGHT] {self.thought[:THOUGHT_CUT]}")
        if self.tool:
            parts.append(f"[ACTION] {self.tool}: {self.command}")
        elif self.command:
            parts.append(f"[ACTION] {self.command}")
        if self.observation:
            parts.append(f"[OBSERVATION] {_ends(self.observation)}")
        return "\n".join(parts)

    def worth_keeping(self) -> bool:
        """Return whether the text is longer than 100 characters; shorter steps are dropped."""
        return len(self.text()) > MIN_TEXT


def _ends(observation: str) -> str:
    if len(observation) <= OBSERVATION_LIMIT:
        return observation
    return f"{observation[:OBSERVATION_END]}\n{TRUNCATION_LINE}\n{observation[-OBSERVATION_END:]}"
