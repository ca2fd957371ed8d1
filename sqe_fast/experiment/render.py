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
GAP = 2  # spaces between columns


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
    lines = [_csv_line(csv_head(table))]
    for row in table.rows:
        cells: list[str] = []
        for column, value in zip(table.columns, row, strict=True):
            cells += _csv_cells(column, value)
        lines.append(_csv_line(cells))
    return "".join(lines)


def _csv_line(cells: Sequence[str]) -> str:
    """Return one line; the writer quotes a carriage return only where its own lines end in one."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\r\n").writerow(cells)
    return stream.getvalue().removesuffix("\r\n") + "\n"


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
        *(_latex_cells(table.columns, texts) for texts in _texts(table)),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
        "",
    ]
    return "\n".join(lines)


def _latex_row(texts: Sequence[str]) -> str:
    return " & ".join(map(_latex, texts)) + r" \\"


def _latex_cells(columns: Sequence[Column], texts: Sequence[str]) -> str:
    """Return a row of cells; the hyphen of a negative number becomes a minus."""
    cells = [
        _latex(text) if column.form == "text" else _latex(text).replace("-", "$-$")
        for column, text in zip(columns, texts, strict=True)
    ]
    return " & ".join(cells) + r" \\"


def _latex(text: str) -> str:
    """Return `text` with what LaTeX would read escaped."""
    flat = " ".join(text.split())
    return "".join(_LATEX.get(letter, letter) for letter in flat if letter.isprintable())


def _texts(table: Table) -> list[list[str]]:
    return [
        [cell_text(column, value) for column, value in zip(table.columns, row, strict=True)]
        for row in table.rows
    ]


def show(table: Table, console: Any = None) -> None:
    """Print a table on the terminal, by rich; wider than the terminal where its numbers need it.

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
    texts = [[_plain(text) for text in row] for row in _texts(table)]
    widths = _widths([column.title for column in table.columns], texts, console.width)
    shown = RichTable(box=None, pad_edge=False, padding=(0, GAP, 0, 0))
    for column, width in zip(table.columns, widths, strict=True):
        justify: Any = "left" if column.form == "text" else "right"
        shown.add_column(Text(column.title), justify=justify, width=width, overflow="fold")
    for row in texts:
        shown.add_row(*map(Text, row))
    # Wider than the terminal, if need be: a number that is cut is another number.
    room, console.width = console.width, max(console.width, sum(widths) + GAP * len(widths))
    console.print(shown, crop=False)
    console.width = room
    for note in table.notes:
        console.print(Text(note, "dim"))
    console.print()


def _widths(titles: Sequence[str], texts: Sequence[Sequence[str]], room: int) -> list[int]:
    """Return the width of each column: to save room, titles are folded between words, sentences anywhere."""
    cells = [max((len(row[at]) for row in texts), default=0) for at in range(len(titles))]
    words = [max(map(len, title.split())) for title in titles]
    full = [max(cell, len(title)) for cell, title in zip(cells, titles, strict=True)]
    if sum(full) + GAP * len(full) <= room:
        return full
    least = [max(min(cell, NAME), word) for cell, word in zip(cells, words, strict=True)]
    spare = max(0, room - sum(least) - GAP * len(least))
    for at, (width, wish) in enumerate(zip(least, full, strict=True)):
        more = min(spare, wish - width)
        least[at], spare = width + more, spare - more
    return least


def _plain(text: str) -> str:
    """Return `text` on one line, without what would steer a terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in " ".join(text.split()))
