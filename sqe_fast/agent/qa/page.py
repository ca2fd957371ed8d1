"""Runs as one HTML page: their tables, and rollouts that can be opened and filtered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from sqe_fast.agent.qa.report import labels
from sqe_fast.agent.qa.rows import author
from sqe_fast.agent.qa.run import QARun
from sqe_fast.experiment.page import PageReport, Section, rollouts_section, write_page
from sqe_fast.experiment.page.html import slug
from sqe_fast.experiment.table import Table

__all__ = ["rollout_sections", "write_qa_page"]

SHOWN = 5  # golden answers


def write_qa_page(
    path: str | PathLike[str], runs: Sequence[QARun], tables: Sequence[Table], *, limit: int = 100
) -> PageReport:
    """Write the page of some runs: one file that asks nothing of any host.

    Parameters
    ----------
    path : path
        The file; replaced whole if it is there.
    runs : sequence of QARun
    tables : sequence of Table
        As `qa_tables` makes them.
    limit : int
        Rollouts shown of each run.
    """
    names = labels(runs)
    count = sum(len(run.rows) for run in runs)
    return write_page(
        path,
        None,
        tables,
        sections=rollout_sections(runs, limit=limit),
        title="Question answering by search agents",
        lead=f"{count:,} answers of {', '.join(names)}.",
    )


def rollout_sections(runs: Sequence[QARun], *, limit: int = 100) -> list[Section]:
    """Return a section of rollouts for each run; for any page of `sqe_fast.experiment.page`."""
    return [
        rollouts_section(
            [_record(row) for row in run.rows],
            limit=limit,
            id=f"rollouts-{place}-{slug(name)}".rstrip("-"),
            title=f"Rollouts of {name}",
        )
        for place, (run, name) in enumerate(zip(runs, labels(runs), strict=True), 1)
    ]


def _record(row: Mapping[str, Any]) -> dict[str, Any]:
    golden = row["golden_answers"]
    more = f" and {len(golden) - SHOWN} more" if len(golden) > SHOWN else ""
    problems = [row["problem"], *(turn["problem"] for turn in row["searches"])]
    told = [f"EM {int(row['em'])}", row["finish"], *dict.fromkeys(filter(None, problems))]
    return {
        "id": f"{row['set']}/{row['id']}",
        "question": f"{row['question']} (golden: {' | '.join(golden[:SHOWN])}{more})",
        "answer": row["answer"],
        "finish": " · ".join(told),
        "score": row["f1"],
        "segments": [
            {"role": author(role, text), "text": text.strip("\n"), "tokens": tokens}
            for role, text, tokens in row["segments"]
        ],
    }
