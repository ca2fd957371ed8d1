"""Whether an experiment is whole: rows, seeds, stores and tables, each held against what it follows from."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from sqe_fast.errors import InvalidInputError, SqeFastError
from sqe_fast.experiment._verify.finding import Finding
from sqe_fast.experiment._verify.seeds import SeedCheck
from sqe_fast.experiment.layout import ROWS, seed_of
from sqe_fast.experiment.manifest import changes
from sqe_fast.experiment.page import PAGE, page_parts
from sqe_fast.experiment.report import FOLDER, SETTINGS, read_settings, report_files
from sqe_fast.experiment.rows import read_experiment, row_folders
from sqe_fast.experiment.tables import build_tables

__all__ = ["ExperimentReport", "Finding", "verify_experiment"]

NOTED = "expansions.generator:"  # recorded expansions of one seed beside those of a model: allowed, and told


@dataclass(frozen=True)
class ExperimentReport:
    """What `verify_experiment` found.

    Attributes
    ----------
    findings : tuple of Finding
        Empty where all is well.
    seeds : tuple of int
    rows : int
        How many rows were checked.
    tables : int or None
        How many stored tables were held against the rows; None where there is no report to check.
    missing : mapping of str to str
        Tables that these rows do not suffice for, with the reason.
    notes : tuple of str
        What is not wrong, and yet to be known: seeds that were expanded by another generator.
    """

    findings: tuple[Finding, ...]
    seeds: tuple[int, ...]
    rows: int
    tables: int | None
    missing: Mapping[str, str]
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings


def verify_experiment(
    root: str | PathLike[str],
    seeds: Sequence[int] | None = None,
    report: str | PathLike[str] | None = None,
) -> ExperimentReport:
    """Recompute each metric from the rows, and check rows, seeds, stores and stored tables.

    Parameters
    ----------
    root : path
        Of an experiment, in our layout or the release's.
    seeds : sequence of int, optional
        Only these; by default all that are there.
    report : path, optional
        The folder of stored tables; by default ``report`` below `root`, where it is there.

    Returns
    -------
    ExperimentReport

    Raises
    ------
    InvalidInputError
        There are no rows, a seed that was asked for has none, or `report` holds no report. What is wrong
        with rows that are there is a finding instead.
    """
    root = Path(root)
    folders = _folders(root, seeds)
    findings: list[Finding] = []
    checks: dict[int, SeedCheck] = {}
    for seed, (folder, results) in folders.items():
        checks[seed] = SeedCheck(folder, results, seed)
        findings += checks[seed].findings()
    notes: list[str] = []
    for first, seed, change in _differences(checks):
        if change.startswith(NOTED):
            notes.append(f"seed {seed} was not expanded as seed {first}: {change}")
        else:
            where = f"seed{seed}/results/manifest.json"
            findings.append(Finding(where, f"not run as seed {first}: {change}"))
    stored = root / FOLDER if report is None else Path(report)
    if report is not None and not (stored / SETTINGS).is_file():
        raise InvalidInputError(f"the folder {str(stored)!r} holds no report ({SETTINGS})")
    tables: int | None = None
    missing: dict[str, str] = {}
    if (stored / SETTINGS).is_file():
        tables = 0
        try:
            for found in _tables(root, stored, seeds):
                if isinstance(found, Finding):
                    findings.append(found)
                else:
                    tables += 1
                    missing |= found
        except SqeFastError as error:
            findings.append(Finding(stored.name, f"the tables cannot be made from the rows: {error}"))
    rows = sum(check.rows for check in checks.values())
    return ExperimentReport(tuple(findings), tuple(folders), rows, tables, missing, tuple(notes))


def _folders(root: Path, seeds: Sequence[int] | None) -> dict[int, tuple[Path, Path]]:
    """Return each seed's folder and that of its rows."""
    if not root.is_dir():
        raise InvalidInputError(f"there is no folder {str(root)!r}")
    found = {seed: (path, path / "results") for path in _begun(root) if (seed := seed_of(path)) is not None}
    for seed, folder in row_folders(root).items():
        inner = folder / "results"
        found[seed] = (folder, inner if any(inner.glob(f"*{ROWS}")) else folder)
    if missing := sorted(set(seeds or ()) - set(found)):
        has = ", ".join(map(str, sorted(found))) or "none"
        raise InvalidInputError(f"{str(root)!r} holds nothing of seed {missing[0]}; it has {has}")
    if not any(any(results.glob(f"*{ROWS}")) for _, results in found.values()):
        raise InvalidInputError(f"{str(root)!r} holds no rows (*{ROWS}) of any seed")
    return {seed: found[seed] for seed in sorted(found) if seeds is None or seed in seeds}


def _begun(root: Path) -> list[Path]:
    """Return the folders that `prepare` has begun, with rows or not."""
    return [path for path in sorted(root.iterdir()) if (path / "manifest.json").is_file()]


def _differences(checks: Mapping[int, SeedCheck]) -> Iterator[tuple[int, int, str]]:
    """Hold the choices of every run against those of the first: yield both seeds and each difference."""
    told = {seed: _without_seed(check.choices) for seed, check in checks.items() if check.run is not None}
    first = next(iter(told), None)
    for seed, choices in told.items():
        if first is not None and seed != first:
            for change in changes(told[first], choices):
                yield first, seed, change


def _without_seed(choices: Mapping[str, Any]) -> dict[str, Any]:
    methods = {
        name: {key: value for key, value in one.items() if key != "seed"}
        for name, one in (choices.get("methods") or {}).items()
    }
    return {key: value for key, value in choices.items() if key != "prepared"} | {"methods": methods}


def _tables(root: Path, stored: Path, seeds: Sequence[int] | None) -> Iterator[Finding | dict[str, str]]:
    """Make all tables anew; yield what differs from the stored ones, and for each table why it is missing."""
    told = read_settings(stored)
    if told is None:
        return
    settings, covered = told
    experiment = read_experiment(root, covered)
    if seeds is None and (
        more := [one.seed for one in read_experiment(root).seeds if one.seed not in covered]
    ):
        yield Finding(f"{stored.name}/{SETTINGS}", f"the report leaves out seed {', '.join(map(str, more))}")
    tables = build_tables(experiment, settings)
    files = report_files(experiment, tables, settings)
    for table in tables:
        yield {} if table.missing is None else {table.name: table.missing}
    for name, content in files.items():
        path, where = stored / name, f"{stored.name}/{name}"
        if not path.is_file():
            yield Finding(where, "is missing")
        elif path.read_bytes() != content:
            cells = _cells(where, path, content) if name.endswith(".csv") else []
            yield from cells or [Finding(where, "differs from what the rows give")]

    if (stored / PAGE).is_file():
        page = (stored / PAGE).read_text("utf-8", errors="replace")
        for name, html in page_parts(experiment, tables, settings).items():
            if html not in page:
                yield Finding(f"{stored.name}/{PAGE}", f"{name} differs from what the rows give")


def _cells(where: str, path: Path, content: bytes) -> list[Finding]:
    """Return each cell of a stored CSV that differs, by its row and column."""
    try:
        had = list(csv.reader(io.StringIO(path.read_text("utf-8"), newline="")))
    except (ValueError, csv.Error):
        return []
    made = list(csv.reader(io.StringIO(content.decode("utf-8"), newline="")))
    if len(had) != len(made) or any(len(a) != len(b) for a, b in zip(had, made, strict=True)):
        return [Finding(where, f"has {len(had)} lines; the rows give {len(made)}, or other columns")]
    head = made[0]
    return [
        Finding(f"{where}:{line}", f"{head[i]} of {row[0]} is {had[line - 1][i]!r}; the rows give {cell!r}")
        for line, row in enumerate(made, 1)
        for i, cell in enumerate(row)
        if had[line - 1][i] != cell
    ]
