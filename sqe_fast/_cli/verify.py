"""`sqe-fast verify`: whether a store is sound."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sqe_fast._cli.options import debug, device, examples, json_output, store_argument

if TYPE_CHECKING:
    from sqe_fast.store import VerifyReport

__all__ = ["verify"]

PROBLEMS = 1

EXAMPLES = """\
Examples:
  sqe-fast verify memory/
  sqe-fast verify memory/ --no-repair --json"""


@click.command(
    epilog=examples(EXAMPLES), short_help="Check every checksum and count of a store, and repair what can be."
)
@store_argument
@click.option("--no-repair", is_flag=True, help="Only look; works beside a writer.")
@json_output
@device
@debug
def verify(store: Path, no_repair: bool, as_json: bool, device: str | None) -> int:
    """Check every checksum and count of STORE, and rebuild from its episodes what does not hold.

    The exit code is 0 for a sound store and 1 where problems were found, repaired or not.
    """
    report = _look(store)
    if report.problems and not no_repair:
        report = _repair(store, report, device)
    if as_json:
        click.echo(json.dumps(asdict(report)))
    else:
        for problem in report.problems:
            click.echo(f"problem: {problem}")
        for repair in report.repaired:
            click.echo(f"repaired: {repair}")
        state = "sound" if report.ok else "damaged"
        click.echo(f"{store}: {state}, {report.episodes:,} episodes, generation {report.generation}")
    return PROBLEMS if report.problems or not report.ok else 0


def _look(path: Path) -> VerifyReport:
    """Check the store as a reader, beside any writer."""
    from sqe_fast.errors import IndexFileError
    from sqe_fast.store import MemoryStore, VerifyReport

    with warnings.catch_warnings(record=True) as torn:
        warnings.simplefilter("always", RuntimeWarning)
        try:
            reader = MemoryStore.open(path, read_only=True)
        except IndexFileError as error:
            return VerifyReport(False, (str(error),), (), 0, 0)
        with reader:
            report = reader.verify(repair=False)
    found = tuple(str(one.message) for one in torn if issubclass(one.category, RuntimeWarning))
    return replace(report, ok=report.ok and not found, problems=found + report.problems)


def _repair(path: Path, seen: VerifyReport, device: str | None) -> VerifyReport:
    """Repair what a reader found; the opening of a writer alone rebuilds an index that is torn."""
    from sqe_fast._cli.encoders import PinnedEncoder
    from sqe_fast.store import MemoryStore

    pinned = MemoryStore.settings_of(path)["encoder"]
    with MemoryStore.open(path, encoder=PinnedEncoder(pinned, device) if pinned else None) as writer:
        report = writer.verify()
    repaired = report.repaired or ("rebuilt the index from the episodes",)
    problems = tuple(dict.fromkeys(seen.problems + report.problems))
    return replace(report, problems=problems, repaired=repaired if report.ok else report.repaired)
