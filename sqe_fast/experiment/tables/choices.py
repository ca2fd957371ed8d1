"""Gates chosen on the first half of each seed's queries and judged on the second."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sqe_fast.experiment.choices import SplitChoice, halves
from sqe_fast.experiment.choices import split_validation as split_of
from sqe_fast.experiment.gatevariants import choose_feature, choose_variant
from sqe_fast.experiment.metrics import NotInRowsError, summarize
from sqe_fast.experiment.published import FEATURE_POLICIES
from sqe_fast.experiment.rows import Experiment
from sqe_fast.experiment.sweeps import pair_of, top1_of
from sqe_fast.experiment.table import Column, Table
from sqe_fast.experiment.tables._settings import ReportSettings
from sqe_fast.stats import paired_bootstrap, sign_flip

__all__ = ["gate_features", "gate_variants", "held_out_paired", "split_validation"]

FIELDS = ("train_recall", "train_rate", "test_recall", "dense_recall", "delta", "test_rate")


def _columns(k: int) -> tuple[Column, ...]:
    return (
        Column("seed", "Seed"),
        Column("policy", "Gate"),
        Column("threshold", "Threshold", "float", 3),
        Column("train_recall", f"First half R@{k}", "percent"),
        Column("train_rate", "First half expanded %", "percent"),
        Column("test_recall", f"Second half R@{k}", "percent"),
        Column("dense_recall", "Dense-Only", "percent"),
        Column("delta", "Difference", "points"),
        Column("test_rate", "Expanded %", "percent"),
    )


def _rows(choices: Sequence[SplitChoice], label: str = "mean") -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = [
        (str(one.seed), one.policy, one.threshold, *(getattr(one, name) for name in FIELDS))
        for one in choices
    ]
    return [*rows, _mean(choices, label, None)] if len(choices) > 1 else rows


def _mean(choices: Sequence[SplitChoice], label: str, policy: str | None) -> tuple[object, ...]:
    means = [summarize([getattr(one, name) for one in choices]).mean for name in FIELDS]
    return (label, policy, None, *means)


def split_validation(experiment: Experiment, settings: ReportSettings) -> Table:
    """Judge the best threshold of the first half on the second, and the published threshold beside it."""
    choices = [split_of(seed, settings.k) for seed in experiment.seeds]
    fixed: list[tuple[float, ...]] = []
    for seed in experiment.seeds:
        second = halves(seed.query_ids)[1]
        opened = top1_of(seed)[second] < settings.threshold
        hits = pair_of(seed, settings.k).taken(second).gated(opened)
        fixed.append(tuple(int(np.count_nonzero(one)) / len(second) for one in (hits, opened)))
    if len(fixed) > 1:
        fixed.append(tuple(summarize(values).mean for values in zip(*fixed, strict=True)))
    drop = [i for i, column in enumerate(_columns(settings.k)) if column.key != "policy"]
    columns = [_columns(settings.k)[i] for i in drop]
    columns += [
        Column("fixed_recall", f"At {settings.threshold:g}", "percent"),
        Column("fixed_rate", f"Expanded % at {settings.threshold:g}", "percent"),
    ]
    rows = tuple((*(row[i] for i in drop), *more) for row, more in zip(_rows(choices), fixed, strict=True))
    note = (
        f"Thresholds .45 to .80 by .05; the best R@{settings.k} of the first half of the queries by id, the "
        "lower of equals."
    )
    return Table("split-validation", "Threshold chosen on the first half", tuple(columns), rows, (note,))


def held_out_paired(experiment: Experiment, settings: ReportSettings) -> Table:
    """Test the chosen thresholds against Dense-Only on the second halves, by seed and over all."""
    choices = [split_of(seed, settings.k) for seed in experiment.seeds]
    scopes = [
        (str(one.seed), one.threshold, one.deltas, one.dense_recall, one.test_recall) for one in choices
    ]
    rows: list[tuple[object, ...]] = []
    if len(choices) > 1:
        deltas = np.concatenate([one.deltas for one in choices])
        sizes = [len(one.deltas) for one in choices]
        dense, gate = (
            sum(getattr(one, name) * size for one, size in zip(choices, sizes, strict=True)) / sum(sizes)
            for name in ("dense_recall", "test_recall")
        )
        scopes.append(("all", float("nan"), deltas, dense, gate))
    for scope, threshold, deltas, dense, gate in scopes:
        result = paired_bootstrap(deltas, settings.resamples, settings.seed)
        p = sign_flip(deltas, settings.resamples, settings.seed)
        limit = None if np.isnan(threshold) else threshold
        rows.append((scope, limit, dense, gate, result.mean, (result.low, result.high), p, len(deltas)))
    columns = (
        Column("seed", "Seed"),
        Column("threshold", "Threshold", "float", 2),
        Column("dense_recall", "Dense-Only", "percent"),
        Column("gate_recall", "Gate", "percent"),
        Column("delta", "Difference", "points"),
        Column("interval", "95% interval", "interval"),
        Column("p", "p, sign flip", "p", 3),
        Column("queries", "Queries", "int"),
    )
    note = (
        f"R@{settings.k}; thresholds as in the split validation; {settings.resamples:,} resamples, and as "
        "many rounds of random signs: p = (count + 1) / (rounds + 1), two-sided."
    )
    return Table("held-out-paired", "Paired differences on the second halves", columns, tuple(rows), (note,))


def gate_variants(experiment: Experiment, settings: ReportSettings) -> Table:
    """Choose among gates of score and agreement."""
    choices = [choose_variant(seed, settings.k) for seed in experiment.seeds]
    note = (
        "Agreement: the best dense hit is among the first 10 of BM25. Thresholds .45 to .80 by .05; ties to "
        "the lower expansion rate, then by the gate's name, then to the lower threshold."
    )
    title = "Gates of score and agreement, chosen on the first half"
    return Table("gate-variants", title, _columns(settings.k), tuple(_rows(choices)), (note,))


def gate_features(experiment: Experiment, settings: ReportSettings) -> Table:
    """Choose among gate features within a budget; and what each feature gives by itself."""
    try:
        chosen = [choose_feature(seed, settings.k, budget=settings.budget) for seed in experiment.seeds]
    except NotInRowsError as error:
        raise NotInRowsError(f"{error}; margin and concentration need them") from None
    rows = _rows(chosen)
    silent = []
    for policy, thresholds in FEATURE_POLICIES.items():
        try:
            alone = [
                choose_feature(seed, settings.k, {policy: thresholds}, settings.budget)
                for seed in experiment.seeds
            ]
        except NotInRowsError:
            silent.append(policy)  # on some seed every threshold is above the budget
            continue
        rows.append(_mean(alone, "mean, alone", policy))
    notes = [
        f"Gates that expand at most {settings.budget:.0%} of the first half; ties as for the gate variants. "
        "Margin: best dense score less the second. Concentration: 1 less the normalised entropy of the "
        "softmax of the best 5 dense scores. Alone: only that gate is to choose from.",
    ]
    if silent:
        notes.append(f"Above the budget on some seed at every threshold: {', '.join(silent)}.")
    title = "Gates of other features, chosen on the first half"
    return Table("gate-features", title, _columns(settings.k), tuple(rows), tuple(notes))
