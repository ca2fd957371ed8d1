"""Tables of runs in the form of the papers: systems against sets, and what each system cost."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqe_fast._checks import check_int
from sqe_fast.agent.qa.run import QARun
from sqe_fast.agent.qa.sets import SETS, set_order
from sqe_fast.errors import InvalidInputError
from sqe_fast.experiment.table import Column, Table
from sqe_fast.stats import paired_bootstrap, sign_flip

__all__ = ["MEASURES", "labels", "qa_tables", "squeezes", "values"]

Row = Mapping[str, Any]


def _usage(who: str, name: str) -> Callable[[Row], float]:
    return lambda row: float(row[who][name])


def _distinct(row: Row) -> int:
    return len({hit["id"] for search in row["searches"] for found in search["hits"] for hit in found})


def _failed_squeeze(turn: Row) -> bool:
    return turn.get("fallback") is not None


def squeezes(rows: Sequence[Row]) -> str | None:
    """Say how many observations the compressor failed to write, and what was shown; None for none."""
    turns = [turn for row in rows for turn in row["searches"]]
    failed = [turn for turn in turns if _failed_squeeze(turn)]
    if not failed:
        return None
    asked = len(failed) + sum(turn["squeezed"] for turn in turns)
    shown = ", ".join(sorted({turn["fallback"] for turn in failed}))
    return f"the compressor failed on {len(failed):,} of {asked:,} observations; shown instead: {shown}"


def _queries_a_turn(row: Row) -> float | None:
    turns = row["searches"]
    return sum(len(turn["queries"]) for turn in turns) / len(turns) if turns else None


MEASURES: Mapping[str, Callable[[Row], float | None]] = MappingProxyType(
    {
        "em": lambda row: float(row["em"]),
        "f1": lambda row: float(row["f1"]),
        "answer_recall": lambda row: row["answer_recall"],
        "evidence_recall": lambda row: row["evidence_recall"],
        "answered": lambda row: float(row["answer"] is not None),
        "forced": lambda row: float(row["finish"] == "forced"),
        "valid": lambda row: float(row["valid"]),
        "failed": lambda row: float(row["finish"] == "failed"),
        "turns": lambda row: float(len(row["searches"])),
        "queries": _queries_a_turn,
        "passages": _distinct,
        "squeezes_failed": lambda row: float(sum(_failed_squeeze(turn) for turn in row["searches"])),
        "prompt": _usage("policy", "prompt_tokens"),
        "cached": _usage("policy", "cached_tokens"),
        "written": _usage("policy", "completion_tokens"),
        "compressor": lambda row: float(
            row["compressor"]["prompt_tokens"] + row["compressor"]["completion_tokens"]
        ),
        "search": lambda row: float(row["search"]["prompt_tokens"] + row["search"]["completion_tokens"]),
        "seconds": lambda row: float(sum(row["seconds"].values())),
    }
)
"""What is measured of one row; None where it does not apply."""

_COSTS = (
    Column("turns", "turns", "float", 2),
    Column("queries", "queries", "float", 2),
    Column("passages", "passages", "float"),
    Column("prompt", "read", "float", 0),
    Column("cached", "cached", "float", 0),
    Column("written", "written", "float", 0),
    Column("compressor", "squeezer", "float", 0),
    Column("search", "engine", "float", 0),
    Column("seconds", "seconds", "float", 2),
)
_QUALITY = (
    Column("em", "EM", "percent"),
    Column("f1", "F1", "percent"),
    Column("answer_recall", "answer found", "percent"),
    Column("evidence_recall", "evidence found", "percent"),
    Column("answered", "answered", "percent"),
    Column("forced", "forced", "percent"),
    Column("valid", "valid format", "percent"),
    Column("failed", "failed", "percent"),
)


def values(rows: Sequence[Row], measure: str) -> NDArray[np.float64]:
    """Return a measure of `MEASURES` for each row: float64[n], nan where it does not apply."""
    found = (MEASURES[measure](row) for row in rows)
    return np.array([np.nan if value is None else value for value in found], np.float64)


def labels(runs: Sequence[QARun]) -> list[str]:
    """Return a name for each run, all different: its system, with its policy and its folder where need be."""
    names = [run.system for run in runs]
    for more in (_model, lambda run: run.folder.name):
        counts = Counter(names)
        names = [
            f"{name} ({more(run)})" if counts[name] > 1 and more(run) else name
            for name, run in zip(names, runs, strict=True)
        ]
    counts = Counter(names)
    seen: Counter[str] = Counter()
    for place, name in enumerate(names):
        seen[name] += 1
        if counts[name] > 1:
            names[place] = f"{name} #{seen[name]}"
    return names


def _model(run: QARun) -> str:
    """Return the last word of a policy's spec: of "vllm:Qwen/Qwen3-8B" the "Qwen3-8B"."""
    return re.split(r"[/:]", str(run.settings.get("policy", "")))[-1]


def qa_tables(
    runs: Sequence[QARun], *, resamples: int = 10_000, seed: int = 0, baseline: int = 0
) -> list[Table]:
    """Return the tables of a report.

    Parameters
    ----------
    runs : sequence of QARun
        One row each, in order.
    resamples, seed : int
        Of the intervals.
    baseline : int
        The run that the others are compared with, by its place.

    Returns
    -------
    list of Table
        ``em`` and ``f1``: systems against sets, with the unweighted mean over sets in the end, as the papers
        give it; ``costs``: each system over all its questions; for two runs or more ``paired``: differences
        to the baseline over the questions that both answered; ``sets`` and ``set_costs``: quality and cost
        by system and set.
    """
    names = labels(runs)
    if not runs:
        raise InvalidInputError("runs must hold at least one run")
    baseline = check_int("baseline", baseline, 0, len(runs) - 1)
    tables = [_scores(runs, names, "em", "Exact match"), _scores(runs, names, "f1", "F1")]
    tables.append(_costs(runs, names))
    if len(runs) > 1:
        tables.append(_paired(runs, names, baseline, resamples, seed))
    tables.append(_by_set(runs, names, "sets", "Quality by system and set", _QUALITY))
    tables.append(_by_set(runs, names, "set_costs", "What a question costs by system and set", _COSTS))
    return tables


def _of_set(run: QARun, name: str) -> list[dict[str, Any]]:
    return [row for row in run.rows if row["set"] == name]


def _mean(rows: Sequence[Row], measure: str) -> float | None:
    """Mean over the rows it applies to; None where there are none."""
    found = values(rows, measure)
    known = found[~np.isnan(found)]
    return float(known.mean()) if known.size else None


def _title(name: str) -> str:
    return SETS[name].title if name in SETS else name


def _scores(runs: Sequence[QARun], names: Sequence[str], measure: str, title: str) -> Table:
    sets = set_order(row["set"] for run in runs for row in run.rows)
    rows = []
    notes = []
    for run, name in zip(runs, names, strict=True):
        cells = [_mean(_of_set(run, one), measure) for one in sets]
        known = [cell for cell in cells if cell is not None]
        rows.append((name, *cells, float(np.mean(known)) if len(known) == len(sets) else None))
        if len(known) < len(sets):
            lacking = ", ".join(_title(one) for one, cell in zip(sets, cells, strict=True) if cell is None)
            notes.append(f"{name} has no question of {lacking}, and therefore no average.")
    notes += _sizes(runs, names, sets)
    columns = [Column("system", "system"), *(Column(one, _title(one), "percent") for one in sets)]
    return Table(measure, title, (*columns, Column("average", "avg.", "percent")), tuple(rows), tuple(notes))


def _sizes(runs: Sequence[QARun], names: Sequence[str], sets: Sequence[str]) -> list[str]:
    """Say how many questions there are, and where that is not the whole set."""
    notes = []
    for one in sets:
        counts = [len(_of_set(run, one)) for run in runs]
        size = SETS[one].size if one in SETS else None
        text = f"{counts[0]:,}" if len(set(counts)) == 1 else " / ".join(f"{count:,}" for count in counts)
        notes.append(f"{_title(one)} {text}" + (f" of {size:,}" if size and set(counts) != {size} else ""))
    return [f"Questions: {'; '.join(notes)}."]


def _costs(runs: Sequence[QARun], names: Sequence[str]) -> Table:
    columns = (Column("system", "system"), Column("n", "questions", "int"), *_COSTS)
    rows = tuple(
        (name, len(run.rows), *(_mean(run.rows, column.key) for column in _COSTS))
        for run, name in zip(runs, names, strict=True)
    )
    notes = [
        "Means of a question: search turns, queries a turn, different passages found; tokens that the policy "
        "read, the part of these from its prefix cache, and wrote; tokens of the squeezer and of a simulated "
        "search engine or a pool; seconds, its share of its batch's."
    ]
    estimated = [
        name
        for run, name in zip(runs, names, strict=True)
        if any(row[who]["estimated"] for row in run.rows for who in ("policy", "compressor", "search"))
    ]
    if estimated:
        notes.append(f"Some token counts are estimates in {', '.join(estimated)}.")
    for run, name in zip(runs, names, strict=True):
        if failed := squeezes(run.rows):
            notes.append(f"{name}: {failed}.")
        problems = sum(bool(turn["problem"]) for row in run.rows for turn in row["searches"])
        if problems:
            notes.append(f"{name}: {problems:,} searches had a problem (see `sqe-fast qa show`).")
    return Table("costs", "What a question costs", columns, rows, tuple(notes))


def _by_set(
    runs: Sequence[QARun], names: Sequence[str], slug: str, title: str, measured: Sequence[Column]
) -> Table:
    columns = (Column("system", "system"), Column("set", "set"), Column("n", "questions", "int"), *measured)
    rows = []
    for run, name in zip(runs, names, strict=True):
        for one in set_order(row["set"] for row in run.rows):
            part = _of_set(run, one)
            rows.append((name, _title(one), len(part), *(_mean(part, column.key) for column in measured)))
    return Table(slug, title, columns, tuple(rows))


def _paired(runs: Sequence[QARun], names: Sequence[str], baseline: int, resamples: int, seed: int) -> Table:
    columns = (
        Column("system", "system"),
        Column("n", "questions", "int"),
        *(
            column
            for key, title in (("em", "EM"), ("f1", "F1"))
            for column in (
                Column(key, f"{title} difference", "points"),
                Column(f"{key}_interval", "95 % interval", "interval"),
                Column(f"{key}_p", "p", "p", 4),
            )
        ),
    )
    base = {(row["set"], row["id"]): row for row in runs[baseline].rows}
    rows: list[tuple[Any, ...]] = []
    for place, (run, name) in enumerate(zip(runs, names, strict=True)):
        if place == baseline:
            continue
        common = [row for row in run.rows if (row["set"], row["id"]) in base]
        theirs = [base[row["set"], row["id"]] for row in common]
        cells: list[Any] = [name, len(common)]
        for measure in ("em", "f1"):
            if not common:
                cells += [None, None, None]
                continue
            deltas = values(common, measure) - values(theirs, measure)
            found = paired_bootstrap(deltas, resamples, seed)
            cells += [found.mean, (found.low, found.high), sign_flip(deltas, resamples, seed)]
        rows.append(tuple(cells))
    notes = (
        f"Differences to {names[baseline]} over the questions that both answered, all sets together; paired "
        f"bootstrap and sign-flip test, {resamples:,} rounds, seed {seed}.",
    )
    return Table("paired", f"Against {names[baseline]}", columns, tuple(rows), notes)
