"""What the forms of trajectories share: texts and tool calls of messages, steps that become episodes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sqe_fast._checks import describe
from sqe_fast.episode import Episode, Step
from sqe_fast.errors import InvalidTypeError

__all__ = ["clean", "content_text", "messages_of", "parsed", "step_episodes", "tool_calls"]


def clean(text: str) -> str:
    """Return `text` with terminal line ends made plain and white space around it removed."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def content_text(content: Any) -> str:
    """Return the text of a message's content: a str, a list of parts (joined with spaces), or nothing."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        content = [content]
    if not isinstance(content, (list, tuple)):
        raise InvalidTypeError(
            f"content of a message must be a str or a list of parts; got {describe(content)}"
        )
    parts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
    return " ".join(part for part in parts if isinstance(part, str))


def messages_of(value: Any) -> list[Mapping[str, Any]]:
    """Return the messages of a record: a list of objects, or the JSON text of one."""
    messages = parsed(value) if isinstance(value, str) else value
    if not isinstance(messages, (list, tuple)) or not all(isinstance(turn, Mapping) for turn in messages):
        raise InvalidTypeError(f"messages must be a list of objects or its JSON text; got {describe(value)}")
    return list(messages)


def parsed(text: str) -> Any:
    """Return the value of a JSON text, or None for what is not one."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def tool_calls(turn: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield (tool, arguments) of each tool call of a turn; arguments are as they were recorded."""
    for call in turn.get("tool_calls") or ():
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            yield str(function.get("name") or ""), function.get("arguments")


def step_episodes(
    steps: Iterable[tuple[int, Step]], trajectory: str, task_id: str | None, fields: Mapping[str, Any]
) -> Iterator[Episode]:
    """Yield the steps worth keeping as episodes named `<trajectory>/<step>`."""
    for number, step in steps:
        if (step.tool or step.command) and step.worth_keeping():
            yield Episode(
                f"{trajectory}/{number}",
                step.text(),
                task_id,
                {"traj_id": trajectory, "step": number, **fields},
            )
