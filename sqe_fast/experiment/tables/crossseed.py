"""Gates chosen on all other seeds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sqe_fast.experiment.choices import LeftOutSeed
from sqe_fast.experiment.choices import leave_one_seed_out as left_out_of
from sqe_fast.experiment.gatevariants import leave_one_seed_out_variants
from sqe_fast.experiment.metrics import NotInRowsError, summarize
from sqe_fast.experiment.rows import Experiment
from sqe_fast.experiment.table import Column, Table
from sqe_fast.experiment.tables._settings import ReportSettings
from sqe_fast.stats import paired_bootstrap, sign_flip

__all__ = ["leave_one_seed_out"]


def leave_one_seed_out(experiment: Experiment, settings: ReportSettings) -> Table:
    """Judge, on each seed, the threshold that is best on the others; then with a choice of agreement."""
    rows = _rows("score", left_out_of(experiment, settings.k, budget=settings.budget), settings)
    notes = [
        f"R@{settings.k}; thresholds .45 to .80 by .01, the best of the other seeds among those that expand "
        f"at most {settings.budget:.0%} of their queries, ties to the lower rate. Over all: "
        f"{settings.resamples:,} resamples of the differences from Dense-Only, p by random signs."
    ]
    try:
        variants = leave_one_seed_out_variants(experiment, settings.k, budget=settings.budget)
        rows += _rows("agreement", variants, settings)
    except NotInRowsError as error:
        notes.append(f"Without gates of agreement: {error}.")
    columns = (
        Column("grid", "Chosen among"),
        Column("seed", "Seed left out"),
        Column("policy", "Gate"),
        Column("threshold", "Threshold", "float", 2),
        Column("train_recall", "Others' recall", "percent"),
        Column("train_rate", "Others' expanded %", "percent"),
        Column("gate_recall", "Recall", "percent"),
        Column("dense_recall", "Dense-Only", "percent"),
        Column("always_recall", "Always-Expand", "percent"),
        Column("delta", "Difference", "points"),
        Column("interval", "95% interval", "interval"),
        Column("p", "p, sign flip", "p", 3),
        Column("expansion_rate", "Expanded %", "percent"),
        Column("queries", "Queries", "int"),
    )
    return Table("leave-one-seed-out", "Gate chosen on all other seeds", columns, tuple(rows), tuple(notes))


def _rows(grid: str, parts: Sequence[LeftOutSeed], settings: ReportSettings) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for one in parts:
        trained = (one.train_recall, one.train_rate)
        recalls = (one.gate_recall, one.dense_recall, one.always_recall, one.gate_recall - one.dense_recall)
        chosen = (grid, str(one.seed), one.policy, one.threshold)
        rows.append((*chosen, *trained, *recalls, None, None, one.rate, len(one.deltas)))
    deltas = np.concatenate([one.deltas for one in parts])
    result = paired_bootstrap(deltas, settings.resamples, settings.seed)
    p = sign_flip(deltas, settings.resamples, settings.seed)
    means = [
        summarize([getattr(one, name) for one in parts]).mean
        for name in ("gate_recall", "dense_recall", "always_recall", "rate")
    ]
    summary = (*means[:3], result.mean, (result.low, result.high), p, means[3], len(deltas))
    rows.append((grid, "all", None, None, None, None, *summary))
    return rows
