"""`sqe-fast qa report`: tables of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sqe_fast._cli.options import debug, examples
from sqe_fast.errors import InvalidInputError

if TYPE_CHECKING:
    from sqe_fast.experiment.table import Table

__all__ = ["report"]

FORMATS = ("terminal", "markdown", "latex", "csv")
SHORT = ("em", "f1", "costs", "paired")  # of the tables, those that a terminal shows unasked

EXAMPLES = """\
Examples:
  sqe-fast qa report runs/r1 runs/search-r1 runs/expandsearch
  sqe-fast qa report runs --out tables/ --html agents.html
  sqe-fast qa report runs --table em --format latex > em.tex"""


@click.command(epilog=examples(EXAMPLES), short_help="Make tables of runs: systems against sets, and costs.")
@click.argument("runs", nargs=-1, required=True, type=click.Path(file_okay=False, path_type=Path))
@click.option("--baseline", metavar="SYSTEM", help="What the others are compared with.  [default: the first]")
@click.option("--table", "names", multiple=True, metavar="NAME", help="Only this table; may be repeated.")
@click.option("--full", is_flag=True, help="Print the tables by set too.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="terminal", show_default=True)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write every table as CSV and LaTeX, and all as Markdown, into this folder.",
)
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a page with the tables and with rollouts to open and filter.",
)
@click.option(
    "--rollouts",
    type=click.IntRange(1),
    metavar="N",
    default=100,
    show_default=True,
    help="Of --html: rollouts shown of each run.",
)
@click.option(
    "--seed", type=click.IntRange(0), metavar="N", default=0, show_default=True, help="Of the intervals."
)
@debug
def report(
    runs: tuple[Path, ...],
    baseline: str | None,
    names: tuple[str, ...],
    full: bool,
    form: str,
    out: Path | None,
    html: Path | None,
    rollouts: int,
    seed: int,
) -> None:
    """Make tables of RUNS in the form of the papers: exact match and F1 of each system on each set.

    A folder that holds runs stands for all of them. Intervals and p-values are of the questions that both
    systems answered.
    """
    from sqe_fast.agent.qa.report import labels, qa_tables
    from sqe_fast.agent.qa.run import read_runs

    found = read_runs(runs)
    place = _place(labels(found), baseline)
    tables = {table.name: table for table in qa_tables(found, seed=seed, baseline=place)}
    if unknown := set(names) - set(tables):
        raise InvalidInputError(f"--table must be one of {', '.join(tables)}; got {min(unknown)!r}")
    if out is not None:
        _write(out, list(tables.values()))
        click.echo(f"wrote {len(tables)} tables of {len(found)} runs to {out}")
    if html is not None:
        from sqe_fast.agent.qa.page import write_qa_page

        page = write_qa_page(html, found, list(tables.values()), limit=rollouts)
        click.echo(f"wrote {page.path}: {page.tables} tables, {page.size / 1e6:,.1f} MB")
    if out is not None or html is not None:
        return
    shown = names or (tuple(tables) if full or form != "terminal" else SHORT)
    _print([tables[name] for name in shown if name in tables], form)


def _place(known: Sequence[str], wanted: str | None) -> int:
    if wanted is None:
        return 0
    if wanted not in known:
        raise InvalidInputError(f"--baseline must be one of {', '.join(known)}; got {wanted!r}")
    return known.index(wanted)


def _print(tables: Sequence[Table], form: str) -> None:
    from sqe_fast.experiment import render

    if form == "terminal":
        for table in tables:
            render.show(table)
        return
    writers: Mapping[str, Any] = {
        "markdown": render.markdown_text,
        "latex": render.latex_text,
        "csv": render.csv_text,
    }
    click.echo("\n".join(writers[form](table) for table in tables), nl=False)


def _write(folder: Path, tables: Sequence[Table]) -> None:
    from sqe_fast._store.files import replace_file
    from sqe_fast.experiment.render import csv_text, latex_text, markdown_text

    folder.mkdir(parents=True, exist_ok=True)
    files = {f"{table.name}.csv": csv_text(table) for table in tables}
    files |= {f"{table.name}.tex": latex_text(table) for table in tables}
    files["tables.md"] = "\n".join(["# Question answering", "", *map(markdown_text, tables)])
    for name, text in files.items():
        replace_file(folder / name, text.encode("utf-8"))
