"""`sqe-fast stats`: what a store holds."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from sqe_fast._cli.options import debug, examples, json_output, store_argument

__all__ = ["stats"]


EXAMPLES = """\
Examples:
  sqe-fast stats memory/
  sqe-fast stats memory/ --json | jq .episodes"""


@click.command(epilog=examples(EXAMPLES), short_help="Show what a store holds.")
@store_argument
@json_output
@debug
def stats(store: Path, as_json: bool) -> None:
    """Show the counts, sizes and settings of STORE."""
    from sqe_fast.store import MemoryStore

    with MemoryStore.open(store, read_only=True) as opened:
        found = opened.stats()
    if as_json:
        click.echo(json.dumps(asdict(found)))
        return
    bm25, encoder = found.settings["bm25"], found.settings["encoder"]
    rows = {
        "episodes": f"{found.episodes:,}",
        "generation": str(found.generation),
        "bm25": ", ".join(f"{name} {value}" for name, value in bm25.items()),
        "encoder": f"{encoder['name']}, {encoder['dim']} dimensions" if encoder else "none",
        "on disk": f"{sum(found.size.values()) / 1e6:,.1f} MB",
        **{f"  {name}": f"{size / 1e6:,.1f} MB" for name, size in found.size.items()},
    }
    width = max(map(len, rows))
    for name, value in rows.items():
        click.echo(f"{name:<{width}}  {value}")
