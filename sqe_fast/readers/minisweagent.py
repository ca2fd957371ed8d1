"""Trajectories of mini-swe-agent (`.traj.json`): a list of messages, alone or under `messages`.

The command stands in a fenced block of the assistant's message; later versions record it as actions beside
the message, or as tool calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sqe_fast.episode import Episode, Step
from sqe_fast.errors import InvalidInputError
from sqe_fast.readers.names import Names
from sqe_fast.readers.turns import clean, content_text, messages_of, parsed, step_episodes, tool_calls

__all__ = ["episodes", "matches"]

SHELL = "bash"
BLOCK = re.compile(r"```(?:mswea_bash_command|bash|sh)[^\S\n]*\n(.*?)\n?```", re.DOTALL)


def matches(record: Any) -> bool:
    """Return whether `record` is a list of messages, or an object that the agent's `save` wrote."""
    if isinstance(record, list):
        return bool(record) and all(isinstance(turn, dict) and "role" in turn for turn in record)
    if not isinstance(record, dict) or not isinstance(record.get("messages"), list):
        return False
    return "info" in record or str(record.get("trajectory_format", "")).startswith("mini-swe-agent")


def episodes(record: Any, source: str, names: Names) -> Iterable[Episode]:
    """Return the episodes of one trajectory."""
    if not matches(record):
        raise InvalidInputError(
            "a mini-swe-agent trajectory needs a list of messages, with info where it is an object"
        )
    task = record.get("instance_id") if isinstance(record, dict) else None
    task_id = task if isinstance(task, str) and task else source.rpartition("/")[2]
    turns = messages_of(record["messages"] if isinstance(record, dict) else record)
    return step_episodes(_steps(turns), names.unique(source), task_id, {"source": "mini-swe-agent"})


def _steps(turns: list[Mapping[str, Any]]) -> Iterator[tuple[int, Step]]:
    number = 0
    for position, turn in enumerate(turns):
        if turn.get("role") != "assistant":
            continue
        content = content_text(turn.get("content"))
        command = _recorded(turn)
        thought = content
        if not command and (block := BLOCK.search(content)):
            command = block[1]
            thought = content[: block.start()] + content[block.end() :]
        elif command:
            thought = BLOCK.sub("", content)
        observation = "\n".join(_answers(turns[position + 1 :]))
        yield number, Step(clean(thought), SHELL if command else "", clean(command), clean(observation))
        number += 1


def _recorded(turn: Mapping[str, Any]) -> str:
    """Return the commands that a message records beside its text, one a line."""
    extra = turn.get("extra")
    actions = extra.get("actions") if isinstance(extra, Mapping) else None
    found = [item.get("command") for item in actions or () if isinstance(item, Mapping)]
    if not found:
        arguments = (parsed(value) if isinstance(value, str) else value for _, value in tool_calls(turn))
        found = [value.get("command") for value in arguments if isinstance(value, Mapping)]
    return "\n".join(command for command in found if isinstance(command, str))


def _answers(turns: list[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what came back: all tool messages that follow, or the one user message."""
    for turn in turns:
        if turn.get("role") not in ("tool", "user"):
            return
        yield content_text(turn.get("content"))
        if turn.get("role") == "user":
            return
