"""`sqe-fast experiment verify`: whether an experiment, or the published release, adds up."""

from __future__ import annotations

import json
from pathlib import Path

import click

from sqe_fast._cli.experiment.common import seed_list
from sqe_fast._cli.options import debug, examples, json_output

__all__ = ["verify"]

PROBLEMS = 1
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)

EXAMPLES = """\
Examples:
  sqe-fast experiment verify exp/
  sqe-fast experiment verify exp/ --report tables/ --limit 0
  sqe-fast experiment verify --release sqe_release/"""


@click.command(
    epilog=examples(EXAMPLES), short_help="Hold rows, seeds, stores and tables against each other."
)
@click.argument("root", metavar="[EXPERIMENT]", required=False, type=FOLDER)
@click.option("--release", type=FOLDER, help="The published SQE release: recompute all that it declares.")
@click.option("--seeds", help="Such as 42-49 or 42,44.  [default: all]")
@click.option("--report", type=FOLDER, help="Folder of the stored tables.  [default: EXPERIMENT/report]")
@click.option("--limit", type=click.IntRange(0), default=50, show_default=True, help="Lines shown; 0: all.")
@json_output
@debug
def verify(
    root: Path | None, release: Path | None, seeds: str | None, report: Path | None, limit: int, as_json: bool
) -> int:
    """Check EXPERIMENT: every metric recomputed from the rows, and each stored table held against them.

    Rows are checked by themselves, against the questions, the store and its index, the manifests, and the
    rows of the other methods; what is wrong is told by file and line. With --release the summaries of the
    published release are recomputed from each other instead. The exit code is 0 where all adds up, else 1.
    """
    if (root is None) == (release is None):
        raise click.UsageError("give an EXPERIMENT, or --release DIR")
    if release is not None:
        if seeds is not None or report is not None:
            raise click.UsageError("--seeds and --report go with an EXPERIMENT")
        return _release(release, limit, as_json)
    return _own(root or Path(), None if seeds is None else seed_list(seeds), report, limit, as_json)


def _own(root: Path, seeds: list[int] | None, report: Path | None, limit: int, as_json: bool) -> int:
    from sqe_fast.experiment.verify import verify_experiment

    found = verify_experiment(root, seeds, report)
    if as_json:
        told = {
            "ok": found.ok,
            "seeds": found.seeds,
            "rows": found.rows,
            "tables": found.tables,
            "missing": dict(found.missing),
            "notes": list(found.notes),
            "problems": [{"where": f.where, "query_id": f.query_id, "what": f.what} for f in found.findings],
        }
        click.echo(json.dumps(told))
    else:
        _lines("problem", found.findings, limit)
        _lines("note", found.notes, limit)
        for name, why in found.missing.items():
            click.echo(f"not in these rows: {name}: {why}")
        tables = "no stored tables" if found.tables is None else f"{found.tables} stored tables"
        seeds_told = ", ".join(map(str, found.seeds))
        state = "adds up" if found.ok else f"{len(found.findings):,} problems"
        click.echo(f"{root}: {state}; {found.rows:,} rows of seeds {seeds_told}, {tables}")
    return 0 if found.ok else PROBLEMS


def _release(folder: Path, limit: int, as_json: bool) -> int:
    from sqe_fast.experiment.release import verify_release

    found = verify_release(folder)
    if as_json:
        told = {
            "ok": found.ok,
            "checks": found.checks,
            "numbers": found.numbers,
            "pinned": found.pinned,
            "bounded": found.bounded,
            "files": found.files,
            "tables": dict(found.tables),
            "problems": [
                {
                    "file": problem.file,
                    "path": problem.path,
                    "declared": problem.declared,
                    "recomputed": problem.recomputed,
                    "how": problem.how,
                }
                for problem in found.problems
            ],
            "suspects": [str(suspect) for suspect in found.suspects],
        }
        click.echo(json.dumps(told))
        return 0 if found.ok else PROBLEMS
    _lines("problem", found.problems, limit)
    _lines("likely wrong", found.suspects, limit)
    for name, what in found.tables.items():
        click.echo(f"{name}: {what}")
    state = "adds up to 1e-9" if found.ok else f"{len(found.problems):,} problems"
    click.echo(
        f"{folder}: {state}; {found.checks:,} checks of {found.numbers:,} numbers in {found.files} files: "
        f"{found.pinned:,} follow from others, {found.bounded:,} are only bounded by them, "
        f"{len(found.free):,} stand alone"
    )
    return 0 if found.ok else PROBLEMS


def _lines(word: str, found: tuple[object, ...], limit: int) -> None:
    shown = found if limit == 0 else found[:limit]
    for one in shown:
        click.echo(f"{word}: {' '.join(str(one).split())}")
    if len(shown) < len(found):
        click.echo(f"... and {len(found) - len(shown):,} more (--limit 0 shows all)")
