"""Tables for a terminal, as CSV, Markdown and LaTeX.

All but CSV show what `sqe_fast.experiment.table.cell_text` makes of a cell; CSV holds full precision, so a
table can be read back as it was.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import Any

from sqe_fast.experiment.table import Column, Table, cell_text, is_empty

__all__ = ["csv_text", "latex_text", "markdown_text", "show"]

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "#": r"\#",
    "$": r"\$",
    "%": r"\%",
    "&": r"\&",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "±": r"$\pm$",
    "[": "{[}",  # else an option of \\ where it begins a row
    "]": "{]}",
}
NAME = 32  # the longest cell that is never broken over lines
_NUMBERS = re.compile(r"^[+-]?[\d,]+(\.\d+)?$")


def csv_text(table: Table) -> str:
    r"""Return a table as CSV (RFC 4180): a head of column keys, cells at full precision, lines end in \n.

    Floats are written so that reading gives the same bits; an interval takes two columns, ``KEY_low`` and
    ``KEY_high``; an empty cell is empty. A table that is missing has a head alone.

    Examples
    --------
    >>> table = Table("x", "X", (Column("a", "A"), Column("b", "B", "interval")), (("m", (0.1, 0.25)),))
    >>> print(csv_text(table), end="")
    a,b_low,b_high
    m,0.1,0.25
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(csv_head(table))
    for row in table.rows:
        cells: list[str] = []
        for column, value in zip(table.columns, row, strict=True):
            cells += _csv_cells(column, value)
        writer.writerow(cells)
    return stream.getvalue()


def csv_head(table: Table) -> list[str]:
    """Return the names of a table's columns in CSV."""
    names: list[str] = []
    for column in table.columns:
        interval = column.form == "interval"
        names += [f"{column.key}_low", f"{column.key}_high"] if interval else [column.key]
    return names


def _csv_cells(column: Column, value: Any) -> list[str]:
    if column.form == "interval":
        return ["", ""] if is_empty(value) else [repr(float(end)) for end in value]
    if is_empty(value):
        return [""]
    if column.form == "text":
        return [str(value)]
    return [str(int(value)) if column.form == "int" else repr(float(value))]


def markdown_text(table: Table) -> str:
    """Return a table as Markdown, its title as a heading and its notes below."""
    lines = [f"## {_markdown_cell(table.title)}", ""]
    if table.missing is not None:
        lines += [f"Cannot be computed: {_markdown_cell(table.missing)}.", ""]
        return "\n".join(lines)
    lines += [_markdown_row([column.title for column in table.columns])]
    lines += ["|" + "|".join("---" if column.form == "text" else "---:" for column in table.columns) + "|"]
    lines += [_markdown_row(texts) for texts in _texts(table)]
    lines += [""]
    for note in table.notes:
        lines += [_markdown_cell(note), ""]
    return "\n".join(lines)


def _markdown_row(texts: Sequence[str]) -> str:
    return "| " + " | ".join(map(_markdown_cell, texts)) + " |"


def _markdown_cell(text: str) -> str:
    """Return `text` on one line, with what Markdown would read escaped."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", " ".join(text.split()))


def latex_text(table: Table) -> str:
    r"""Return a table as LaTeX for ``\input``: a float with booktabs rules, a caption and ``tab:NAME``."""
    if table.missing is not None:
        return f"% {table.name}: cannot be computed: {' '.join(table.missing.split())}\n"
    marks = "".join("l" if column.form == "text" else "r" for column in table.columns)
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_latex(table.title)}.{''.join(f' {_latex(note)}' for note in table.notes)}}}",
        rf"\label{{tab:{table.name}}}",
        rf"\begin{{tabular}}{{{marks}}}",
        r"\toprule",
        _latex_row([column.title for column in table.columns]),
        r"\midrule",
        *map(_latex_row, _texts(table)),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
        "",
    ]
    return "\n".join(lines)


def _latex_row(texts: Sequence[str]) -> str:
    return " & ".join(map(_latex, texts)) + r" \\"


def _latex(text: str) -> str:
    """Return `text` with what LaTeX would read escaped; a number's hyphen becomes a minus."""
    if _NUMBERS.match(text) and text.startswith("-"):
        return f"$-${text[1:]}"
    flat = " ".join(text.split())
    return "".join(_LATEX.get(letter, letter) for letter in flat if letter.isprintable())


def _texts(table: Table) -> list[list[str]]:
    return [
        [cell_text(column, value) for column, value in zip(table.columns, row, strict=True)]
        for row in table.rows
    ]


def show(table: Table, console: Any = None) -> None:
    """Print a table on the terminal, by rich; as wide as the terminal is.

    Parameters
    ----------
    table : Table
    console : rich.console.Console, optional
    """
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console(highlight=False) if console is None else console
    console.print(Text(table.title, "bold"))
    if table.missing is not None:
        console.print(Text(f"cannot be computed: {table.missing}\n", "yellow"))
        return
    shown = RichTable(box=None, pad_edge=False)
    for column in table.columns:
        right = column.form != "text"
        shown.add_column(Text(column.title), justify="right" if right else "left", overflow="fold")
    texts_of = _texts(table)
    for at, column in enumerate(shown.columns):
        column.no_wrap = all(len(texts[at]) <= NAME for texts in texts_of)  # only sentences may be folded
    for texts in texts_of:
        shown.add_row(*(Text(_plain(text)) for text in texts))
    console.print(shown)
    for note in table.notes:
        console.print(Text(note, "dim"))
    console.print()


def _plain(text: str) -> str:
    """Return `text` on one line, without what would steer a terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in " ".join(text.split()))
