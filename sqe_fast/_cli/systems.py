"""Options of search agents that several commands take, and the preset that they make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sqe_fast.errors import InvalidInputError

if TYPE_CHECKING:
    from sqe_fast.agent.presets import Preset

__all__ = ["budget_options", "given_budgets", "k", "limit", "make_preset", "system", "turns"]

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _number(name: str, help: str) -> Callable[[_Command], _Command]:
    option: Callable[[_Command], _Command] = click.option(
        name, type=click.IntRange(1), metavar="N", help=help
    )
    return option


# Name to what it limits, and what holds where it is not given.
_BUDGETS = {
    "prompt": "Budget of a prompt.  [default: 4096]",
    "response": "Budget of the policy.  [default: 3000]",
    "observation": "Budget of an observation.  [default: 4096]",
    "answer": "Kept for a forced answer.  [default: 128]",
    "turn": "Budget of one turn.  [default: what is left]",
}

system = click.option(
    "--system", required=True, metavar="SYSTEM", help="Which search agent, by its name or alias."
)
limit = _number("--limit", "The first so many questions of each set.")
k = _number("--k", "Passages a query.  [default: the system's]")
turns = _number("--turns", "Search turns at most.  [default: the system's]")


def budget_options(command: _Command) -> _Command:
    """Add an option for each budget."""
    for name, help in reversed(_BUDGETS.items()):
        command = _number(f"--{name}-tokens", help)(command)
    return command


def given_budgets(options: dict[str, Any]) -> dict[str, int]:
    """Return the budgets that were given, by their names in `Budgets`."""
    given = {name: options.get(f"{name}_tokens") for name in (*_BUDGETS, "context")}
    return {name: limit for name, limit in given.items() if limit is not None}


def make_preset(name: str, options: dict[str, Any], **changes: Any) -> Preset:
    """Return the preset with what was given of its fields and budgets; `changes` that are None are none.

    Raises
    ------
    click.UsageError
        What was given does not go together; the message names the options.
    """
    from sqe_fast.agent.presets import get_preset

    try:
        preset = get_preset(name)
    except InvalidInputError as error:
        raise click.UsageError(f"--system: {error}") from None
    numbers = {one: options[one] for one in ("k", "queries", "turns") if options.get(one) is not None}
    if numbers and not preset.searches:
        raise click.UsageError(f"{preset.name} does not search: leave out --{min(numbers)}")
    changes = numbers | {one: value for one, value in changes.items() if value is not None}
    budgets = {"response": preset.budgets.response, "answer": preset.budgets.answer} | given_budgets(options)
    if budgets["answer"] > budgets["response"]:
        raise click.UsageError(
            f"--answer-tokens, {budgets['answer']}, are a part of --response-tokens, {budgets['response']}"
        )
    return get_preset(preset, budgets=replace(preset.budgets, **budgets), **changes)
