"""What the published gate does, what other thresholds would do, and what a perfect gate could."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sqe_fast.experiment.headroom import headroom
from sqe_fast.experiment.metrics import rows_of, summarize
from sqe_fast.experiment.published import RECALL_DEPTHS
from sqe_fast.experiment.rows import Experiment, SeedRows
from sqe_fast.experiment.sweeps import GateCounts
from sqe_fast.experiment.sweeps import threshold_sweep as sweep_of
from sqe_fast.experiment.table import Column, Table
from sqe_fast.experiment.tables._settings import ReportSettings

__all__ = ["gate_split", "oracle_headroom", "threshold_sweep"]


def gate_split(experiment: Experiment, settings: ReportSettings) -> Table:
    """Recall of Selective-QE over the queries that it expanded, and over the others."""
    counts = [(str(seed.seed), _split(seed, settings.k)) for seed in experiment.seeds]
    if len(counts) > 1:
        counts.append(("all", np.sum([one for _, one in counts], axis=0)))
    rows = []
    for scope, one in counts:
        for group, (queries, hits) in zip(("expanded", "not expanded"), one.tolist(), strict=True):
            rows.append((scope, group, queries, hits, queries - hits, hits / queries if queries else None))
    columns = (
        Column("seed", "Seed"),
        Column("group", "Queries"),
        Column("count", "Count", "int"),
        Column("hits", "Hits", "int"),
        Column("misses", "Misses", "int"),
        Column(f"recall@{settings.k}", f"R@{settings.k}", "percent"),
    )
    note = "The gate expands queries whose best dense score is low: they are the harder ones."
    return Table("gate-split", "Recall of expanded and of other queries", columns, tuple(rows), (note,))


def _split(seed: SeedRows, k: int) -> NDArray[np.int64]:
    """int64[2, 2]: queries and hits of the expanded, and of the others."""
    rows = rows_of(seed, "Selective-QE")
    hit, opened = rows.hit(k), rows.expanded
    return np.array([[np.count_nonzero(m), np.count_nonzero(hit & m)] for m in (opened, ~opened)], np.int64)


def threshold_sweep(experiment: Experiment, _: ReportSettings) -> Table:
    """Recall of dense rows at or above each threshold and Always-Expand rows below: first seed, and all."""
    by_seed = [{k: sweep_of(seed, k) for k in RECALL_DEPTHS} for seed in experiment.seeds]
    rows = _sweep_rows(str(experiment.seeds[0].seed), by_seed[0])
    if len(by_seed) > 1:
        every = dict(by_seed[0])
        for one in by_seed[1:]:
            every = {k: every[k] + one[k] for k in RECALL_DEPTHS}
        rows += _sweep_rows("all", every)
    columns = (
        Column("seeds", "Seeds"),
        Column("threshold", "Threshold", "float", 2),
        Column("expanded", "Expanded", "int"),
        Column("expansion_rate", "Expanded %", "percent"),
        *(Column(f"recall@{k}", f"R@{k}", "percent") for k in RECALL_DEPTHS),
        Column("queries", "Queries", "int"),
    )
    note = "Recombined from rows: Dense-Only at or above the threshold, Always-Expand below it."
    return Table("threshold-sweep", "Threshold sweep", columns, tuple(rows), (note,))


def _sweep_rows(scope: str, by_depth: dict[int, GateCounts]) -> list[tuple[object, ...]]:
    first = by_depth[RECALL_DEPTHS[0]]
    recalls = [by_depth[k].recall.tolist() for k in RECALL_DEPTHS]
    cells = zip(
        first.thresholds.tolist(), first.expanded.tolist(), first.rate.tolist(), *recalls, strict=True
    )
    return [(scope, *cell, first.n) for cell in cells]


def oracle_headroom(experiment: Experiment, settings: ReportSettings) -> Table:
    """Recall of Dense-Only, Always-Expand and of whichever hits, on the second halves."""
    fields = ("dense", "always", "oracle", "gain", "helpful", "harmful", "both_hit", "both_miss")
    parts = [headroom(seed, settings.k) for seed in experiment.seeds]
    rows = [(str(one.seed), *(getattr(one, name) for name in fields), one.n) for one in parts]
    if len(parts) > 1:
        means = [summarize([getattr(one, name) for one in parts]).mean for name in fields]
        rows.append(("mean", *means, sum(one.n for one in parts)))
    columns = (
        Column("seed", "Seed"),
        Column("dense", "Dense-Only", "percent"),
        Column("always", "Always-Expand", "percent"),
        Column("oracle", "Oracle", "percent"),
        Column("gain", "Oracle gain", "points"),
        Column("helpful", "Helps %", "percent"),
        Column("harmful", "Hurts %", "percent"),
        Column("both_hit", "Both hit %", "percent"),
        Column("both_miss", "Both miss %", "percent"),
        Column("queries", "Queries", "int"),
    )
    note = (
        f"R@{settings.k} on the second half of each seed's queries by id. The oracle is a bound, no method."
    )
    return Table("oracle-headroom", "Headroom on the second halves", columns, tuple(rows), (note,))
