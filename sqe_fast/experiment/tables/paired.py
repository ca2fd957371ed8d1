"""Selective-QE against other methods, query by query."""

from __future__ import annotations

import numpy as np

from sqe_fast.experiment.metrics import NotInRowsError, Outcomes, outcomes, paired_deltas, rows_of
from sqe_fast.experiment.published import BASELINES
from sqe_fast.experiment.rows import Experiment, SeedRows
from sqe_fast.experiment.table import Column, Table
from sqe_fast.experiment.tables._settings import ReportSettings
from sqe_fast.stats import paired_bootstrap

__all__ = ["case_examples", "paired", "wins_losses"]

OURS, DENSE = "Selective-QE", "Dense-Only"


def paired(experiment: Experiment, settings: ReportSettings) -> Table:
    """Bootstrap of the difference in recall from each baseline: over all queries, and over the first seed."""
    scopes = [("all", experiment, settings.resamples)]
    if len(experiment.seeds) > 1:
        first = Experiment(experiment.root, experiment.seeds[:1])
        scopes.append((str(first.seeds[0].seed), first, settings.seed_resamples))
    for seed in experiment.seeds:
        rows_of(seed, OURS)
    names = [name for name in BASELINES if all(name in seed.methods for seed in experiment.seeds)]
    if not names:
        raise NotInRowsError("there are no rows of a baseline in every seed")
    rows = []
    for scope, part, resamples in scopes:
        for name in names:
            deltas = paired_deltas(part, OURS, name, settings.k)
            result = paired_bootstrap(deltas, resamples, settings.seed)
            interval = (result.low, result.high)
            ps = (result.p_one_sided, result.p_two_sided)
            rows.append((scope, name, result.mean, interval, *ps, len(deltas)))
    columns = (
        Column("seeds", "Seeds"),
        Column("baseline", "Baseline"),
        Column("delta", f"R@{settings.k} difference", "points"),
        Column("interval", "95% interval", "interval"),
        Column("p_one_sided", "p, one-sided", "p", 3),
        Column("p_two_sided", "p, two-sided", "p", 3),
        Column("queries", "Queries", "int"),
    )
    note = (
        f"Selective-QE less the baseline; {settings.resamples:,} resamples over all queries, "
        f"{settings.seed_resamples:,} over one seed. One-sided p: share of resampled means on the other side "
        "of 0; two-sided: twice the smaller tail, at most 1."
    )
    return Table("paired", f"Paired differences of {OURS}", columns, tuple(rows), (note,))


def wins_losses(experiment: Experiment, settings: ReportSettings) -> Table:
    """Count the queries that only Selective-QE, or only Dense-Only, hits."""
    parts = [
        (str(seed.seed), outcomes(rows_of(seed, OURS), rows_of(seed, DENSE), settings.k))
        for seed in experiment.seeds
    ]
    if len(parts) > 1:
        every = parts[0][1]
        for _, one in parts[1:]:
            every = every + one
        parts.append(("all", every))
    columns = (
        Column("seed", "Seed"),
        Column("wins", "Wins", "int"),
        Column("losses", "Losses", "int"),
        Column("net", "Net", "int"),
        Column("both_hit", "Both hit", "int"),
        Column("both_miss", "Both miss", "int"),
        Column("expanded_wins", "Wins, expanded", "int"),
        Column("expanded_losses", "Losses, expanded", "int"),
        Column("win_rate", "Wins %", "percent"),
        Column("loss_rate", "Losses %", "percent"),
        Column("queries", "Queries", "int"),
    )
    note = f"A win: {OURS} has the target within {settings.k}, {DENSE} has not. A loss: the reverse."
    title = f"Wins and losses of {OURS} against {DENSE}"
    return Table("wins-losses", title, columns, tuple(_cells(*part) for part in parts), (note,))


def _cells(scope: str, one: Outcomes) -> tuple[object, ...]:
    counts = (one.wins, one.losses, one.wins - one.losses, one.both_hit, one.both_miss)
    shares = (one.wins / one.queries, one.losses / one.queries)
    return (scope, *counts, one.expanded_wins, one.expanded_losses, *shares, one.queries)


def case_examples(experiment: Experiment, settings: ReportSettings) -> Table:
    """Show the first wins and losses by query_id of the first seed, with where the target stood."""
    seed = experiment.seeds[0]
    ours, dense = rows_of(seed, OURS), rows_of(seed, DENSE)
    a, b = ours.hit(settings.k), dense.hit(settings.k)
    order = sorted(range(len(seed)), key=seed.query_ids.__getitem__)
    rows: list[tuple[object, ...]] = []
    for case, mask in (("gain", a & ~b), ("loss", b & ~a)):
        rows += [_example(seed, case, i) for i in order if mask[i]][: settings.examples]
    columns = (
        Column("case", "Case"),
        Column("query_id", "Query id"),
        Column("dense_rank", "Rank, Dense-Only"),
        Column("rank", "Rank, Selective-QE"),
        Column("expanded", "Expanded"),
        Column("query", "Query"),
        Column("target_id", "Target"),
    )
    kept = max(map(len, ours.retrieved), default=0)
    note = (
        f"The first {settings.examples} of each by query id, of the gains ({np.count_nonzero(a & ~b)}) and "
        f"losses ({np.count_nonzero(b & ~a)}) on seed {seed.seed}; >{kept}: not among the hits kept."
    )
    return Table("case-examples", f"Queries that {OURS} wins or loses", columns, tuple(rows), (note,))


def _example(seed: SeedRows, case: str, i: int) -> tuple[object, ...]:
    ours, dense = seed.methods[OURS], seed.methods[DENSE]
    ranks = [
        str(part.rank[i]) if part.rank[i] else f">{max(map(len, part.retrieved))}" for part in (dense, ours)
    ]
    expanded = "yes" if ours.expanded[i] else "no"
    return (case, seed.query_ids[i], *ranks, expanded, seed.queries[i], seed.targets[i])
