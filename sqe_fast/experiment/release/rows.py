"""Where the release's per-query rows are at hand: what it declares, recomputed from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqe_fast.experiment.choices import LeftOutSeed, SplitChoice, leave_one_seed_out, split_validation
from sqe_fast.experiment.gatevariants import choose_feature, choose_variant, leave_one_seed_out_variants
from sqe_fast.experiment.headroom import headroom
from sqe_fast.experiment.metrics import NotInRowsError, mrr, outcomes, recall, rows_of
from sqe_fast.experiment.published import MAX_EXPANSION_RATE, RECALL_DEPTHS, SWEEP_THRESHOLDS
from sqe_fast.experiment.release.audit import Audit
from sqe_fast.experiment.release.document import Node
from sqe_fast.experiment.release.seeds import Release
from sqe_fast.experiment.rows import Experiment, SeedRows
from sqe_fast.experiment.sweeps import threshold_sweep

__all__ = ["check_against_rows"]

Keys = tuple[tuple[str, str], ...]

FROM = "from the per-query rows"
CALIBRATION = "results_gate_calibration"
SPLIT: Keys = (
    ("threshold", "threshold"),
    ("train_recall", "train_recall"),
    ("test_recall", "test_recall"),
    ("test_expansion_rate", "test_rate"),
    ("dense_test_recall", "dense_recall"),
)
LEFT_OUT: Keys = (
    ("threshold", "threshold"),
    ("train_recall", "train_recall"),
    ("train_expansion_rate", "train_rate"),
    ("gate_recall", "gate_recall"),
    ("expansion_rate", "rate"),
)


def check_against_rows(audit: Audit, release: Release, experiment: Experiment) -> None:
    """Hold every table of the release that rows give without random numbers against those rows."""
    for check in (_methods, _wins, _headroom, _sweep, _splits, _left_out):
        with audit.section():
            check(audit, release, experiment)


def _by_seed(release: Release, file: str, key: str = "seed_reports") -> dict[int, Node]:
    return dict(zip(release.seeds, release[file][key], strict=False))


def _methods(audit: Audit, release: Release, experiment: Experiment) -> None:
    reported = release.reported()
    for seed in experiment.seeds:
        for name in reported.get(seed.seed, Node("", {})).value:
            node = reported[seed.seed][name]
            with audit.section():
                if name not in seed.methods:
                    audit.holds(False, node, f"with rows of {name} in {seed.folder.name}")
                    continue
                rows = seed.methods[name]
                audit.equal(node["n_queries"], len(rows), FROM)
                for k in RECALL_DEPTHS:
                    audit.equal(node[f"recall@{k}"], recall(rows, k), FROM)
                audit.equal(node["mrr"], mrr(rows), FROM)
                if "expansion_rate" in node:
                    audit.equal(node["expansion_rate"], int(rows.expanded.sum()) / len(rows), FROM)


def _wins(audit: Audit, release: Release, experiment: Experiment) -> None:
    nodes = _by_seed(release, "results_multiseed/win_loss_analysis.json", "rows")
    for seed in experiment.seeds:
        with audit.section():
            one = outcomes(rows_of(seed, "Selective-QE"), rows_of(seed, "Dense-Only"), 5)
            for key, value in (
                ("both_hit", one.both_hit),
                ("selective_win", one.wins),
                ("selective_loss", one.losses),
                ("both_miss", one.both_miss),
                ("expanded_win", one.expanded_wins),
                ("expanded_loss", one.expanded_losses),
            ):
                audit.equal(nodes[seed.seed][key], value, FROM)


def _headroom(audit: Audit, release: Release, experiment: Experiment) -> None:
    nodes = _by_seed(release, f"{CALIBRATION}/gate_headroom_diagnostics.json")
    for seed in experiment.seeds:
        with audit.section():
            one = headroom(seed)
            for key, value in (
                ("dense_recall", one.dense),
                ("always_expand_recall", one.always),
                ("helpful_rate", one.helpful),
                ("harmful_rate", one.harmful),
                ("both_hit_rate", one.both_hit),
            ):
                audit.equal(nodes[seed.seed][key], value, FROM)


def _sweep(audit: Audit, release: Release, experiment: Experiment) -> None:
    for seed in experiment.seeds:
        file = f"{release.folders[seed.seed]}/full_report_v2.json"
        if file not in release.documents:
            continue
        counts = {k: threshold_sweep(seed, k, SWEEP_THRESHOLDS) for k in RECALL_DEPTHS}
        for i, row in enumerate(release[file]["threshold_sweep"]):
            audit.equal(row["expanded"], int(counts[5].expanded[i]), FROM)
            for k in RECALL_DEPTHS:
                audit.equal(row[f"recall@{k}"], float(counts[k].recall[i]), FROM)


def _splits(audit: Audit, release: Release, experiment: Experiment) -> None:
    choices: tuple[tuple[str, Callable[[SeedRows], SplitChoice]], ...] = (
        ("results_multiseed/multiseed_gate_validation.json", split_validation),
        (f"{CALIBRATION}/gate_variant_diagnostics.json", choose_variant),
        (f"{CALIBRATION}/gate_feature_diagnostics.json", _feature),
    )
    for file, choose in choices:
        nodes = _by_seed(release, file)
        for seed in experiment.seeds:
            with audit.section():
                try:
                    _compare(audit, nodes[seed.seed], choose(seed), SPLIT)
                except NotInRowsError:
                    continue  # such as margins, for which the release's rows hold no scores


def _feature(seed: SeedRows) -> SplitChoice:
    return choose_feature(seed, budget=MAX_EXPANSION_RATE)


def _left_out(audit: Audit, release: Release, experiment: Experiment) -> None:
    if tuple(seed.seed for seed in experiment.seeds) != release.seeds:
        return
    ways: Mapping[str, Callable[[Experiment], list[LeftOutSeed]]] = {
        "cross_seed_top1_gate": leave_one_seed_out,
        "cross_seed_gate_variant": leave_one_seed_out_variants,
    }
    for name, way in ways.items():
        nodes = _by_seed(release, f"{CALIBRATION}/{name}.json")
        with audit.section():
            for one in way(experiment):
                _compare(audit, nodes[one.seed], one, LEFT_OUT)


def _compare(audit: Audit, node: Node, one: SplitChoice | LeftOutSeed, keys: Keys) -> None:
    if "policy" in node:
        audit.holds(node["policy"].value == one.policy, node["policy"], f"{one.policy}, {FROM}")
    for key, name in keys:
        if key in node:
            audit.equal(node[key], getattr(one, name), FROM)
