"""Rows of SWE-smith-trajectories, as the SQE protocol reads them: `messages`, `instance_id`, `traj_id`.

The texts are the protocol's to the letter, so nothing is cleaned here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sqe_fast.episode import Episode, Step
from sqe_fast.errors import InvalidInputError
from sqe_fast.readers.names import Names
from sqe_fast.readers.turns import content_text, messages_of, parsed, step_episodes, tool_calls

__all__ = ["episodes", "matches"]

KEPT = ("resolved", "model")


def matches(record: Any) -> bool:
    """Return whether `record` is an object with messages and without the `info` of mini-swe-agent."""
    return isinstance(record, dict) and "messages" in record and "info" not in record


def episodes(record: Any, source: str, names: Names) -> Iterable[Episode]:
    """Return the episodes of one row."""
    if not matches(record):
        raise InvalidInputError("a row of SWE-smith-trajectories needs messages")
    task = record.get("instance_id")
    task_id = task if isinstance(task, str) and task else None
    name = record.get("traj_id")
    trajectory = names.unique(name if isinstance(name, str) and name else task_id or source)
    fields = {key: record[key] for key in KEPT if record.get(key) is not None}
    steps = _steps(messages_of(record["messages"]))
    return step_episodes(steps, trajectory, task_id, {"source": "swe-smith", **fields})


def _steps(turns: list[Mapping[str, Any]]) -> Iterator[tuple[int, Step]]:
    number = 0
    for position, turn in enumerate(turns):
        if turn.get("role") != "assistant":
            continue
        tool, command = _action(turn)
        thought = content_text(turn.get("thought") or turn.get("content"))
        after = turns[position + 1] if position + 1 < len(turns) else {}
        observation = content_text(after.get("content")) if after.get("role") in ("tool", "user") else ""
        yield number, Step(thought, tool, command, observation)
        number += 1


def _action(turn: Mapping[str, Any]) -> tuple[str, str]:
    """Return tool and command of the first tool call: its `command`, else `path`, else all its arguments."""
    call = next(tool_calls(turn), None)
    if call is None:
        return "", content_text(turn.get("action"))
    tool, given = call
    arguments = parsed(given) if isinstance(given, str) else given
    if isinstance(arguments, Mapping):
        for key in ("command", "path"):
            if arguments.get(key):
                return tool, _text(arguments[key])
    return tool, _text(given)


def _text(value: Any) -> str:
    """Return a value as it reads in a command: text as it is, anything else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
