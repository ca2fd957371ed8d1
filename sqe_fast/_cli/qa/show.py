"""`sqe-fast qa show`: one rollout, or the list of a run's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from sqe_fast._cli.options import debug, examples, json_output
from sqe_fast.errors import InvalidInputError

__all__ = ["show"]

LONGEST = 100  # characters of an answer in a list

EXAMPLES = """\
Examples:
  sqe-fast qa show runs/expandsearch                  every question, one a line
  sqe-fast qa show runs/expandsearch --wrong
  sqe-fast qa show runs/expandsearch bamboogle/test_4
  sqe-fast qa show runs/expandsearch test_4 --prompt | less -R"""


@click.command(epilog=examples(EXAMPLES), short_help="Show one rollout in colour, or list those of a run.")
@click.argument("run", type=click.Path(file_okay=False, path_type=Path))
@click.argument("question_id", metavar="[ID]", required=False)
@click.option("--prompt", is_flag=True, help="Show the prompt too.")
@click.option("--wrong", is_flag=True, help="List only questions without an exact match.")
@click.option("--set", "only", metavar="SET", help="List only questions of this set.")
@click.option(
    "--colour/--no-colour",
    default=None,
    help="In colour or not.  [default: in colour on a terminal, unless NO_COLOR is set]",
)
@json_output
@debug
def show(
    run: Path,
    question_id: str | None,
    prompt: bool,
    wrong: bool,
    only: str | None,
    colour: bool | None,
    as_json: bool,
) -> None:
    """Show how RUN went about the question ID: what the policy wrote, searched and was shown.

    Marks in the margin tell who wrote a line: a bar for the policy, a dashed bar for what it was shown. Lines
    with ? are searches, with the passages each found. Without ID all questions are listed.
    """
    from rich.console import Console

    from sqe_fast._cli.qa.transcript import print_transcript
    from sqe_fast.agent.qa.run import read_run

    if question_id is not None and (wrong or only):
        raise click.UsageError("--wrong and --set list questions; give no ID with them")
    rows = read_run(run).rows
    console = Console(
        highlight=False, force_terminal=colour or None, no_color=None if colour is None else not colour
    )
    if question_id is not None:
        row = _find(rows, question_id)
        if as_json:
            click.echo(json.dumps(row, ensure_ascii=False))
        else:
            print_transcript(console, row, prompt=prompt)
        return
    listed = [row for row in rows if not (wrong and row["em"]) and (not only or row["set"] == only)]
    if as_json:
        for row in listed:
            click.echo(json.dumps(row, ensure_ascii=False))
    else:
        _list(console, listed, len(rows))


def _find(rows: Sequence[dict[str, Any]], wanted: str) -> dict[str, Any]:
    found = [row for row in rows if wanted in (row["id"], f"{row['set']}/{row['id']}")]
    if len(found) > 1:
        names = ", ".join(f"{row['set']}/{row['id']}" for row in found)
        raise InvalidInputError(f"ID: {wanted!r} is in several sets; give one of {names}")
    if not found:
        first = rows[0]
        raise InvalidInputError(
            f"ID: no question {wanted!r} among the {len(rows):,} of this run; the first is "
            f"{first['set']}/{first['id']} (without ID they are listed)"
        )
    return found[0]


def _list(console: Any, rows: Sequence[dict[str, Any]], total: int) -> None:
    from rich.table import Table
    from rich.text import Text

    from sqe_fast._cli.qa.transcript import clean

    table = Table(box=None, pad_edge=False)
    for title, justify in (
        ("", "left"),
        ("id", "left"),
        ("F1", "right"),
        ("turns", "right"),
        ("end", "left"),
    ):
        table.add_column(title, justify=justify, no_wrap=True)
    table.add_column("question, answer", overflow="fold")
    for row in rows:
        mark = Text("✓", "bold green") if row["em"] else Text("✗", "bold red")
        answer = "none" if row["answer"] is None else " ".join(clean(row["answer"]).split())
        answer = answer if len(answer) <= LONGEST else f"{answer[:LONGEST]}…"
        told = Text.assemble(" ".join(clean(row["question"]).split()), " → ", (answer, "magenta"))
        name = clean(f"{row['set']}/{row['id']}")
        table.add_row(mark, Text(name), f"{row['f1']:.2f}", str(len(row["searches"])), row["finish"], told)
    console.print(table)
    right = sum(row["em"] for row in rows)
    console.print(f"{len(rows):,} of {total:,} questions, {right:,} with an exact match")
