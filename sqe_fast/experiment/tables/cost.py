"""What a query costs: expansions, calls, tokens, seconds."""

from __future__ import annotations

import math

from sqe_fast.experiment.metrics import NotInRowsError, cost_of, methods_of, recall, rows_of
from sqe_fast.experiment.rows import Experiment
from sqe_fast.experiment.table import Column, Table
from sqe_fast.experiment.tables._settings import ReportSettings

__all__ = ["cost", "measured_tokens"]


def cost(experiment: Experiment, _: ReportSettings) -> Table:
    """Expansions, calls, lists and seconds of a query, averaged over all queries of all seeds."""
    rows = []
    for name in methods_of(experiment):
        one = cost_of([rows_of(seed, name) for seed in experiment.seeds])
        calls = one.calls if one.measured else None
        lists, seconds = (None if math.isnan(value) else value for value in (one.lists, one.seconds))
        rows.append((name, one.expansion_rate, calls, lists, seconds, one.queries))
    columns = (
        Column("method", "Method"),
        Column("expansion_rate", "Expanded %", "percent"),
        Column("calls", "Calls", "float", 2),
        Column("lists", "Lists fused", "float", 2),
        Column("seconds", "Seconds", "float", 2),
        Column("queries", "Queries", "int"),
    )
    note = "Averages over all queries; an empty cell: the rows do not say."
    return Table("cost", "Cost of a query", columns, tuple(rows), (note,))


def measured_tokens(experiment: Experiment, settings: ReportSettings) -> Table:
    """Average calls and tokens of a query over methods that expand, with the recall they buy."""
    rows = []
    for name in methods_of(experiment):
        parts = [rows_of(seed, name) for seed in experiment.seeds]
        one = cost_of(parts)
        if one.expansion_rate == 0 or not one.measured:
            continue
        hits = sum(recall(part, settings.k) * len(part) for part in parts) / one.queries
        tokens = (one.prompt_tokens, one.completion_tokens, one.total_tokens, one.cached_tokens)
        seconds = None if math.isnan(one.seconds) else one.seconds
        rows.append((name, one.calls, *tokens, seconds, hits, one.queries))
    if not rows:
        raise NotInRowsError("the rows hold no token counts of any method that expands")
    columns = (
        Column("method", "Method"),
        Column("calls", "Calls", "float", 2),
        Column("prompt_tokens", "Prompt tokens", "float"),
        Column("completion_tokens", "Completion tokens", "float"),
        Column("total_tokens", "Total tokens", "float"),
        Column("cached_tokens", "Of them cached", "float"),
        Column("seconds", "Seconds", "float", 2),
        Column(f"recall@{settings.k}", f"R@{settings.k}", "percent"),
        Column("queries", "Queries", "int"),
    )
    notes = ["Averages over all queries, expanded or not."]
    guessed = sum(
        bool(row.get("estimated_tokens"))
        for seed in experiment.seeds
        for m in seed.methods.values()
        for row in m.raw
    )
    if guessed:
        notes.append(
            f"In {guessed:,} rows the tokens are estimated, as the model's server does not count them."
        )
    return Table("measured-tokens", "Tokens of a query", columns, tuple(rows), tuple(notes))
