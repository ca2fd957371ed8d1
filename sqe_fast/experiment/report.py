"""A report as a folder: every table as CSV, Markdown and LaTeX, and what is needed to check it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from os import PathLike
from pathlib import Path

from sqe_fast._store.files import replace_file
from sqe_fast.errors import InvalidInputError, RecordError
from sqe_fast.experiment.layout import ResultsFolder
from sqe_fast.experiment.manifest import read_manifest
from sqe_fast.experiment.render import csv_text, latex_text, markdown_text
from sqe_fast.experiment.rows import Experiment
from sqe_fast.experiment.table import Table
from sqe_fast.experiment.tables import ReportSettings, build_tables

__all__ = ["FOLDER", "read_settings", "report_files", "run_threshold", "write_report"]

FOLDER = "report"
GATED = "Selective-QE"
SETTINGS = "report.json"
FORMAT = 1


def report_files(
    experiment: Experiment, tables: Sequence[Table], settings: ReportSettings
) -> dict[str, bytes]:
    """Return each file of a report by its name: ``NAME.csv``, ``NAME.tex``, ``tables.md``, ``report.json``.

    Equal rows and settings give equal bytes: nothing of the place, the time or the machine is in them.
    """
    files = {f"{table.name}.csv": csv_text(table) for table in tables if table.missing is None}
    files |= {f"{table.name}.tex": latex_text(table) for table in tables}
    files["tables.md"] = "\n".join(["# Tables", "", *map(markdown_text, tables)])
    told = {
        "format": FORMAT,
        "settings": asdict(settings),
        "seeds": [seed.seed for seed in experiment.seeds],
        "queries": [len(seed) for seed in experiment.seeds],
        "tables": {table.name: table.missing for table in tables},
    }
    files[SETTINGS] = json.dumps(told, indent=2) + "\n"
    return {name: text.encode("utf-8") for name, text in files.items()}


def write_report(
    folder: str | PathLike[str], experiment: Experiment, settings: ReportSettings | None = None
) -> list[Table]:
    """Compute all tables and write them into a folder, each file in one step.

    Parameters
    ----------
    folder : path
        Made where it is missing. Files of a report before that this one lacks are removed.
    experiment : Experiment
    settings : ReportSettings, optional

    Returns
    -------
    list of Table
    """
    settings = ReportSettings() if settings is None else settings
    tables = build_tables(experiment, settings)
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"cannot make the folder {str(folder)!r}: {error.strerror}") from error
    files = report_files(experiment, tables, settings)
    for name, content in files.items():
        replace_file(folder / name, content, durable=False)
    for table in tables:
        if f"{table.name}.csv" not in files:
            (folder / f"{table.name}.csv").unlink(missing_ok=True)
    return tables


def run_threshold(experiment: Experiment) -> float | None:
    """Return the threshold that Selective-QE was run with on every seed, by the manifests beside the rows.

    None where a seed has no manifest (the release's folders have none) or seeds differ.
    """
    found: set[float | None] = set()
    for seed in experiment.seeds:
        path = ResultsFolder(seed.methods[GATED].path.parent).manifest if GATED in seed.methods else None
        told = read_manifest(path) if path is not None and path.is_file() else {}
        chosen = ((told.get("choices") or {}).get("methods") or {}).get(GATED) or {}
        value = chosen.get("threshold")
        found.add(float(value) if isinstance(value, (int, float)) else None)
    return found.pop() if len(found) == 1 else None


def read_settings(folder: Path) -> tuple[ReportSettings, list[int]] | None:
    """Return the settings and seeds that a report was made with; None where there is no report.

    Raises
    ------
    RecordError
        ``report.json`` is damaged, or of another format.
    """
    path = folder / SETTINGS
    if not path.is_file():
        return None
    try:
        told = json.loads(path.read_bytes())
        if told["format"] != FORMAT:
            raise RecordError(f"{path} is of another format; this version reads format {FORMAT}")
        return ReportSettings(**told["settings"]), [int(seed) for seed in told["seeds"]]
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, RecordError):
            raise
        raise RecordError(f"{path}: damaged ({error})") from None
