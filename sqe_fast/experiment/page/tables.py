"""A `Table` as HTML: in a container of its own that scrolls where the page is narrow."""

from __future__ import annotations

from sqe_fast.experiment.page.html import attribute, slug, text
from sqe_fast.experiment.table import Column, Table, cell_text

__all__ = ["table_html", "table_id"]


def table_id(table: Table) -> str:
    """Return the id of a table's element."""
    return f"table-{slug(table.name)}"


def table_html(table: Table, number: int | None = None) -> str:
    """Return heading, table and notes of `table`; its ids begin with "table-" and its name.

    Numbers stand right-aligned in figures of one width, so that their points are below one another. The first
    column names the row where it is text. A table that is missing says why.
    """
    name = table_id(table)
    label = f"Table {number}. " if number is not None else ""
    parts = [
        f'<section class="table" id="{name}" aria-labelledby="{name}-title">',
        f'<h3 id="{name}-title"><span class="number">{text(label)}</span>{text(table.title)}</h3>',
    ]
    if table.missing is not None:
        parts.append(f'<p class="missing">Not computed: {text(table.missing)}</p>')
    else:
        parts += [
            f'<div class="scroll" role="region" tabindex="0" aria-labelledby="{name}-title">',
            f'<table><caption class="hidden">{text(label)}{text(table.title)}</caption>',
            "<thead><tr>" + "".join(_head(column) for column in table.columns) + "</tr></thead>",
            "<tbody>",
            *(_row(table.columns, row) for row in table.rows),
            "</tbody></table></div>",
        ]
    parts += [f'<p class="note">{text(note)}</p>' for note in table.notes]
    return "\n".join([*parts, "</section>"])


def _head(column: Column) -> str:
    style = "" if column.form == "text" else ' class="n"'
    title = column.title.replace(" %", "\u00a0%").replace("± ", "±\u00a0")  # signs stay with their words
    return f'<th scope="col"{style} data-key="{attribute(column.key)}">{text(title)}</th>'


def _row(columns: tuple[Column, ...], cells: tuple[object, ...]) -> str:
    parts = []
    for place, (column, value) in enumerate(zip(columns, cells, strict=True)):
        shown = text(cell_text(column, value)) or '<span class="hidden">none</span>'
        if place == 0 and column.form in ("text", "int"):
            parts.append(f'<th scope="row"{_kind(column, shown)}>{shown}</th>')
        else:
            parts.append(f"<td{_kind(column, shown)}>{shown}</td>")
    return "<tr>" + "".join(parts) + "</tr>"


def _kind(column: Column, shown: str) -> str:
    if column.form != "text":
        return ' class="n"'
    return ' class="long"' if len(shown) > 40 else ""
