"""Recall and rank of every method, on the first seed and over all."""

from __future__ import annotations

import numpy as np

from sqe_fast.experiment.metrics import methods_of, mrr, recall, recall_by_seed, rows_of, summarize
from sqe_fast.experiment.published import RECALL_DEPTHS
from sqe_fast.experiment.rows import Experiment
from sqe_fast.experiment.table import Column, Table
from sqe_fast.experiment.tables._settings import ReportSettings
from sqe_fast.stats import paired_bootstrap

__all__ = ["main", "multi_seed"]


def main(experiment: Experiment, settings: ReportSettings) -> Table:
    """Recall, mean reciprocal rank and share of expanded queries of each method on the first seed."""
    seed = experiment.seeds[0]
    rows = []
    for name, part in seed.methods.items():
        interval = paired_bootstrap(part.hit(settings.k), settings.seed_resamples, settings.seed)
        recalls = [recall(part, k) for k in RECALL_DEPTHS]
        rate = float(np.count_nonzero(part.expanded)) / len(part)
        rows.append((name, *recalls, interval.low, interval.high, mrr(part), rate, len(part)))
    columns = (
        Column("method", "Method"),
        *(Column(f"recall@{k}", f"R@{k}", "percent") for k in RECALL_DEPTHS),
        Column(f"recall@{settings.k}_low", f"R@{settings.k} low", "percent"),
        Column(f"recall@{settings.k}_high", f"R@{settings.k} high", "percent"),
        Column("mrr", "MRR", "float", 3),
        Column("expansion_rate", "Expanded %", "percent"),
        Column("queries", "Queries", "int"),
    )
    note = (
        f"Low and high: 95% bootstrap interval of R@{settings.k}, {settings.seed_resamples:,} resamples. "
        "MRR over the hits that were kept."
    )
    title = f"Recall on the first seed, {seed.seed}"
    return Table("main", title, columns, tuple(rows), (note,))


def multi_seed(experiment: Experiment, _: ReportSettings) -> Table:
    """Mean and deviation over seeds of every method that all seeds have."""
    rows = []
    for name in methods_of(experiment):
        parts = [rows_of(seed, name) for seed in experiment.seeds]
        cells: list[object] = [name]
        for k in RECALL_DEPTHS:
            cells += summarize(recall_by_seed(experiment, name, k))
        cells += summarize([mrr(part) for part in parts])
        cells += summarize([float(np.count_nonzero(part.expanded)) / len(part) for part in parts])
        rows.append((*cells, len(parts)))
    columns = [Column("method", "Method")]
    for k in RECALL_DEPTHS:
        columns += [
            Column(f"recall@{k}_mean", f"R@{k}", "percent"),
            Column(f"recall@{k}_std", f"± R@{k}", "percent"),
        ]
    columns += [
        Column("mrr_mean", "MRR", "float", 3),
        Column("mrr_std", "± MRR", "float", 3),
        Column("expansion_rate_mean", "Expanded %", "percent"),
        Column("expansion_rate_std", "± expanded", "percent"),
        Column("seeds", "Seeds", "int"),
    ]
    notes = ["Means over seeds and deviations of the sample (n - 1)."]
    left_out = sorted({name for seed in experiment.seeds for name in seed.methods} - {row[0] for row in rows})
    if left_out:
        notes.append(f"Not in every seed, so left out: {', '.join(left_out)}.")
    count = len(experiment.seeds)
    title = f"Recall over {count} seeds" if count > 1 else "Recall over one seed"
    return Table("multi-seed", title, tuple(columns), tuple(rows), tuple(notes))
