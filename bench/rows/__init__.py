"""The rows of the table: each module here lists the cases of one subject."""

from __future__ import annotations

from bench.rows import bm25, engine, experiment, fusion, index, rollout, stats
from bench.rows.base import FULL, GOALS, QUICK, Case, Context, Row, Settings

__all__ = ["FULL", "GOALS", "QUICK", "Case", "Context", "Row", "Settings", "all_cases"]


def all_cases(settings: Settings) -> list[Case]:
    """Return all cases in the order that builds every index once."""
    cases: list[Case] = []
    for subject in (fusion, stats, experiment, engine, rollout, bm25, index):
        cases += subject.cases(settings)
    return cases
