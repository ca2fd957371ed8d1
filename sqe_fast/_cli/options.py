"""Options and arguments that several commands take."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["debug", "device", "examples", "json_output", "store_argument"]

store_argument = click.argument("store", type=click.Path(file_okay=False, path_type=Path))
json_output = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
device = click.option(
    "--device", help="Where models run: cpu, cuda or cuda:N.  [default: a GPU if there is one]"
)
# Looked for among the arguments by `main`, since an error may come before the options are read.
debug = click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")


def examples(text: str) -> str:
    """Return an epilog that shows `text` as it is: click would fill its lines without the mark."""
    return f"\b\n{text}"
