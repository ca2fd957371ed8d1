"""Trajectories of SWE-agent (`.traj`): a `trajectory` of actions with results, or a `history` of messages.

Both dialects, thought-and-action and function calling, write the action as one line of the shell the agent
sees (`find_file "fields.py" src`); the name of the tool is its first word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sqe_fast._checks import describe
from sqe_fast.episode import Episode, Step
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.readers.names import Names
from sqe_fast.readers.turns import clean, content_text, parsed, step_episodes, tool_calls

__all__ = ["episodes", "matches"]

SHELL = "bash"
# Commands of SWE-agent's own interface; any other first word is a shell command. A trajectory of the function
# calling dialect adds the tools that it calls.
COMMANDS = frozenset(
    """
    append connect_exec connect_sendline connect_start connect_stop create debug_add_breakpoint
    debug_continue debug_exec debug_start debug_step debug_stop decompile disassemble edit
    exit_forfeit filemap find_file goto insert open scroll_down scroll_up search_dir search_file
    set_cursors str_replace_editor submit undo_edit view_image
    """.split()  # noqa: SIM905 (a list of 30 quoted words reads worse)
)


def matches(record: Any) -> bool:
    """Return whether `record` is an object with a list of steps or of messages under SWE-agent's names."""
    return isinstance(record, dict) and any(
        isinstance(record.get(key), list) for key in ("trajectory", "history")
    )


def episodes(record: Any, source: str, names: Names) -> Iterable[Episode]:
    """Return the episodes of one trajectory."""
    if not matches(record):
        raise InvalidInputError("a SWE-agent trajectory needs a list trajectory or history")
    history = _objects("history", record.get("history"))
    entries = _objects("trajectory", record.get("trajectory"))
    tools = COMMANDS | {tool for turn in history for tool, _ in tool_calls(turn) if tool}
    steps = _trajectory_steps(entries, tools) if entries else _history_steps(history, tools)
    trajectory = names.unique(source)
    task_id = _problem(record) or source.rpartition("/")[2]
    return step_episodes(steps, trajectory, task_id, {"source": "swe-agent"})


def _objects(name: str, value: Any) -> list[Mapping[str, Any]]:
    items = value or []
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        raise InvalidTypeError(f"{name} must be a list of objects; got {describe(value)}")
    return items


def _trajectory_steps(entries: list[Mapping[str, Any]], tools: Iterable[str]) -> Iterator[tuple[int, Step]]:
    for number, entry in enumerate(entries):
        thought = content_text(entry.get("thought"))
        yield (
            number,
            _step(thought, content_text(entry.get("action")), content_text(entry.get("observation")), tools),
        )


def _history_steps(history: list[Mapping[str, Any]], tools: Iterable[str]) -> Iterator[tuple[int, Step]]:
    number = 0
    for position, turn in enumerate(history):
        if turn.get("role") != "assistant" or turn.get("is_demo"):
            continue
        thought = content_text(turn.get("thought") or turn.get("content"))
        after = history[position + 1] if position + 1 < len(history) else {}
        observation = content_text(after.get("content")) if after.get("role") in ("tool", "user") else ""
        yield number, _step(thought, content_text(turn.get("action")), observation, tools)
        number += 1


def _step(thought: str, action: str, observation: str, tools: Iterable[str]) -> Step:
    action = clean(action)
    first, _, rest = action.partition(" ") if " " in action.split("\n", 1)[0] else action.partition("\n")
    if first in tools and first != SHELL:
        return Step(clean(thought), first, rest.strip(), clean(observation))
    return Step(clean(thought), SHELL if action else "", action, clean(observation))


def _problem(record: Mapping[str, Any]) -> str | None:
    """Return the instance that the run's settings name: an object, or in later versions its JSON text."""
    settings = record.get("replay_config")
    settings = parsed(settings) if isinstance(settings, str) else settings
    problem = settings.get("problem_statement") if isinstance(settings, Mapping) else None
    name = problem.get("id") if isinstance(problem, Mapping) else None
    return name if isinstance(name, str) and name else None
