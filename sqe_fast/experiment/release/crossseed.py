"""Gates chosen on all seeds but one and judged on the one left out."""

from __future__ import annotations

from collections.abc import Mapping

from sqe_fast.experiment.published import LOO_THRESHOLDS, MAX_EXPANSION_RATE, VARIANT_POLICIES
from sqe_fast.experiment.release.audit import Audit
from sqe_fast.experiment.release.document import Node, mean, total
from sqe_fast.experiment.release.grids import TOP1, VARIANT, Gate, LeftOut, placed, ranked
from sqe_fast.experiment.release.multiseed import check_interval
from sqe_fast.experiment.release.seeds import Release

__all__ = ["check_cross_seed"]


def check_cross_seed(audit: Audit, release: Release, known: LeftOut) -> None:
    """Recompute both leave-one-seed-out documents."""
    for name in (TOP1, VARIANT):
        with audit.section():
            _check_document(audit, release, known, release[f"results_gate_calibration/{name}.json"])


def _check_document(audit: Audit, release: Release, known: LeftOut, document: Node) -> None:
    policies = VARIANT_POLICIES if "policies" in document else VARIANT_POLICIES[:1]
    audit.equal(document["max_expansion_rate"], MAX_EXPANSION_RATE, "the protocol's budget")
    if "thresholds" in document:
        audit.holds(
            len(document["thresholds"]) == len(LOO_THRESHOLDS), document["thresholds"], "36 thresholds"
        )
        for node, threshold in zip(document["thresholds"], LOO_THRESHOLDS, strict=False):
            audit.equal(node, threshold, "the protocol's grid")
    silent = Audit()  # the grids themselves are checked once, in `left_out`
    gates = [(policy, t) for policy in policies for t in LOO_THRESHOLDS]
    for i, report in enumerate(document["seed_reports"]):
        with audit.section():
            rows = placed(silent, report["candidate_grid"], gates)
            _check_grid(audit, release, i, report["candidate_grid"])
            _check_report(audit, release, known, (release.seeds[i], report), rows)
    _check_aggregate(audit, release, document)


def _check_grid(audit: Audit, release: Release, at: int, grid: Node) -> None:
    """Check every candidate of a grid against the recalls of the seeds it was tried on."""
    others = [methods for i, methods in enumerate(release.reported().values()) if i != at]
    dense, always = (
        mean([methods[name]["recall@5"] for methods in others]) for name in ("Dense-Only", "Always-Expand")
    )
    for row in grid:
        audit.equal(row["dense_train_recall"], dense, "mean recall@5 of Dense-Only over the other seeds")
        audit.equal(row["always_train_recall"], always, "mean recall@5 of Always-Expand over the other seeds")
        gain = row["train_recall"] - row["dense_train_recall"]
        audit.equal(row["train_delta_vs_dense"], gain, "train_recall - dense_train_recall")
        rate = row["train_expansion_rate"]
        for share in (rate, row["train_recall"]):
            audit.share(share)
        audit.holds(
            row["within_budget"].value is (rate.number <= MAX_EXPANSION_RATE), rate, "as within_budget"
        )
        if rate.number == 1.0:
            audit.equal(row["train_recall"], always, "Always-Expand, as the rate is 1", (rate,))


def _check_report(
    audit: Audit, release: Release, known: LeftOut, entry: tuple[int, Node], rows: Mapping[Gate, Node]
) -> None:
    seed, report = entry
    others = [other for other in release.seeds if other != seed]
    audit.holds(len(report["train_seeds"]) == len(others), report["train_seeds"], "every other seed")
    for node, other in zip(report["train_seeds"], others, strict=False):
        audit.equal(node, other, "the other seeds, in order")
    audit.equal(report["n_train"], release.n * len(others), "questions of the other seeds")
    audit.equal(report["n_test"], release.n, "questions of the seed left out")
    policy, threshold = ranked(rows, MAX_EXPANSION_RATE)[0]
    if "policy" in report:
        audit.holds(report["policy"].value == policy, report["policy"], f"the best within budget, {policy}")
    audit.equal(report["threshold"], threshold, "the best candidate within the budget")
    for key in ("train_recall", "train_expansion_rate", "train_delta_vs_dense"):
        audit.equal(report[key], rows[policy, threshold][key], "the best candidate within the budget")
    for key, name in (("dense_recall", "Dense-Only"), ("always_recall", "Always-Expand")):
        recall = release.reported()[seed][name]["recall@5"]
        audit.equal(report[key], recall, f"recall@5 of {name} in the multi-seed report")
    audit.equal(report["delta_vs_dense"], report["gate_recall"] - report["dense_recall"], "gate - dense")
    gate = (policy, threshold)
    if gate in known.hits[seed]:
        how = "all seeds' hits, by the other grids, less those of the seeds it was chosen on"
        audit.equal(report["gate_recall"], known.hits[seed][gate] / release.n, how)
        audit.equal(report["expansion_rate"], known.expanded[seed][gate] / release.n, how)


def _check_aggregate(audit: Audit, release: Release, document: Node) -> None:
    aggregate, reports = document["aggregate"], list(document["seed_reports"])
    for key in ("always_recall", "dense_recall", "gate_recall", "expansion_rate", "delta_vs_dense"):
        audit.equal(aggregate[key], mean([row[key] for row in reports]), f"mean of seed_reports[*].{key}")
    audit.equal(aggregate["n_queries"], total([row["n_test"] for row in reports]), "sum over the seeds")
    pooled = release.n * len(release.seeds)
    check_interval(audit, aggregate["ci_low"], aggregate["ci_high"], aggregate["delta_vs_dense"], pooled)
    rounds = aggregate["n_randomizations"]
    audit.equal(rounds, aggregate["n_bootstrap"], "n_bootstrap")
    audit.steps(aggregate["sign_flip_p"], rounds.number + 1, f"(count + 1) / ({rounds.value} + 1)")
    tests = release["results_gate_calibration/gate_validation_paired_tests.json"]["aggregate"]
    for key in ("bootstrap_seed", "n_bootstrap", "n_randomizations"):
        audit.equal(aggregate[key], tests[key], f"{tests.file}: {tests[key].where}")
