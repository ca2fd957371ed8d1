"""A table as a value: what is computed from rows, before anyone decides how it looks.

Cells hold numbers at full precision; `cell_text` is the one place that rounds them for people, so a terminal,
a Markdown file, LaTeX and the page show the same digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from sqe_fast._checks import check_choice, check_int
from sqe_fast.errors import InvalidInputError

__all__ = ["Column", "Form", "Table", "cell_text", "is_empty"]

Form = Literal["text", "int", "percent", "points", "float", "p", "interval"]
FORMS = get_args(Form)


@dataclass(frozen=True)
class Column:
    """One column of a `Table`.

    Attributes
    ----------
    key : str
        Name of the column in CSV and JSON; unique in its table.
    title : str
        Heading for people.
    form : str
        What its cells hold and how they are shown:
        ``text`` a str; ``int`` a whole number; ``percent`` a share from 0 to 1, shown times 100;
        ``points`` a difference of shares, shown times 100 with its sign; ``float`` a number as it is;
        ``p`` a probability, shown as ``<0.001`` where it would round to 0; ``interval`` a pair
        ``(low, high)`` of differences of shares, shown as points.
    digits : int
        Digits after the point; of no meaning to ``text`` and ``int``.
    """

    key: str
    title: str
    form: Form = "text"
    digits: int = 1

    def __post_init__(self) -> None:
        check_choice("form", self.form, FORMS)
        check_int("digits", self.digits, 0, 17)


@dataclass(frozen=True)
class Table:
    """A table: columns, rows of cells, and what a reader must know about them.

    Attributes
    ----------
    name : str
        Slug, unique in a report; names its files.
    title : str
    columns : tuple of Column
    rows : tuple of tuples
        Cells in the columns' order; None is an empty cell.
    notes : tuple of str
        Sentences below the table: how it was computed, what was left out.
    missing : str or None
        Why the table cannot be computed from the rows at hand; then there are no rows.

    Raises
    ------
    InvalidInputError
        If a row has another number of cells than there are columns, or keys repeat.

    Examples
    --------
    >>> table = Table("main", "Recall", (Column("method", "Method"), Column("r5", "R@5", "percent")),
    ...               (("Dense-Only", 0.685),))
    >>> cell_text(table.columns[1], table.rows[0][1])
    '68.5'
    >>> table.column("r5")
    (0.685,)
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...] = ()
    notes: tuple[str, ...] = ()
    missing: str | None = None

    def __post_init__(self) -> None:
        keys = [column.key for column in self.columns]
        if len(set(keys)) != len(keys):
            raise InvalidInputError(f"columns of table {self.name!r} must have different keys; got {keys}")
        for i, row in enumerate(self.rows):
            if len(row) != len(keys):
                raise InvalidInputError(
                    f"row {i} of table {self.name!r} must have {len(keys)} cells; got {len(row)}"
                )

    def column(self, key: str) -> tuple[Any, ...]:
        """Return the cells of the column named `key`, from top to bottom."""
        keys = [column.key for column in self.columns]
        if key not in keys:
            raise InvalidInputError(f"key must be one of {', '.join(keys)}; got {key!r}")
        at = keys.index(key)
        return tuple(row[at] for row in self.rows)


def is_empty(value: object) -> bool:
    """Whether a cell has nothing to show: None, or a number that is not one."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def cell_text(column: Column, value: Any) -> str:
    """Return `value` as people read it in `column`; an empty cell gives an empty text.

    Rounds half to even of the binary value, as Python's formatting does; a negative number that rounds to 0
    loses its sign.

    Examples
    --------
    >>> cell_text(Column("delta", "Delta", "points"), 0.00875)
    '+0.9'
    >>> cell_text(Column("ci", "95% interval", "interval"), (-0.004, 0.007))
    '[-0.4, +0.7]'
    >>> cell_text(Column("p", "p", "p", 3), 0.0)
    '<0.001'
    """
    return "" if is_empty(value) else _WRITERS[column.form](value, column.digits)


def _fixed(value: float, digits: int, sign: str = "") -> str:
    text = f"{value:{sign},.{digits}f}"
    if text.strip("+-0.,"):  # some digit differs from 0
        return text
    return text.lstrip("+-")


def _points(value: float, digits: int) -> str:
    return _fixed(value * 100, digits, "+")


def _probability(value: float, digits: int) -> str:
    least = 10.0**-digits
    return f"<{least:.{digits}f}" if value < least / 2 else _fixed(value, digits)


def _interval(value: tuple[float, float], digits: int) -> str:
    low, high = value
    return f"[{_points(low, digits)}, {_points(high, digits)}]"


_WRITERS: Mapping[Form, Callable[[Any, int], str]] = {
    "text": lambda value, _: str(value),
    "int": lambda value, _: f"{int(value):,}",
    "percent": lambda value, digits: _fixed(value * 100, digits),
    "points": _points,
    "float": _fixed,
    "p": _probability,
    "interval": _interval,
}
