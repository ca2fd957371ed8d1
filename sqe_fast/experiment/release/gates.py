"""Gates chosen on the first half of a seed's questions and judged on the second; the oracle's headroom."""

from __future__ import annotations

from collections.abc import Mapping

from sqe_fast.experiment.published import (
    FEATURE_POLICIES,
    MAX_EXPANSION_RATE,
    SPLIT_THRESHOLDS,
    VARIANT_POLICIES,
)
from sqe_fast.experiment.release.audit import Audit
from sqe_fast.experiment.release.document import Node, Quantity, mean, total
from sqe_fast.experiment.release.grids import (
    Gate,
    LeftOut,
    check_additive,
    check_extremes,
    check_steady,
    keyed,
    placed,
    ranked,
)
from sqe_fast.experiment.release.multiseed import check_interval
from sqe_fast.experiment.release.seeds import Release, by_seed

__all__ = ["check_gates"]

FOLDER = "results_gate_calibration"
VALIDATION = "results_multiseed/multiseed_gate_validation.json"
SCORE, BOTH, EITHER = VARIANT_POLICIES
FEATURE_OF = {"top1_low": SCORE, "top1_low_or_no_bm25_agreement": EITHER}
Rows = dict[int, dict[Gate, Node]]


def check_gates(audit: Audit, release: Release, known: LeftOut) -> None:
    """Recompute choices, held-out recalls and aggregates of every document on halves."""
    headroom = f"{FOLDER}/gate_headroom_diagnostics.json"
    with audit.section():
        _check_headroom(audit, release, release[headroom])
    variants: Rows = {}
    with audit.section():
        variants = _check_variants(audit, release, known)
    with audit.section():
        _check_features(audit, release, known, variants)
    with audit.section():
        _check_validation(audit, release, known, variants)
    with audit.section():
        _check_held_out_tests(audit, release)


def _halves(release: Release, seed: int, name: str, key: str) -> tuple[Quantity, Quantity]:
    """Return the recall of a method on the first and on the second half of a seed's questions."""
    second = release[f"{FOLDER}/gate_headroom_diagnostics.json"]["seed_reports"][release.seeds.index(seed)][
        key
    ]
    whole = release.reported()[seed][name]["recall@5"]
    return (whole * release.n - second * release.half) / (release.n - release.half), second


def _check_headroom(audit: Audit, release: Release, document: Node) -> None:
    _check_seeds(audit, release, document)
    reports = by_seed(audit, document["seed_reports"], release.seeds)
    reported = release.reported()
    for seed, row in reports.items():
        with audit.section():
            for key in ("n", "n_test"):
                audit.equal(row[key], release.half, "the second half of the questions")
            dense, always, oracle = (row[f"{name}_recall"] for name in ("dense", "always_expand", "oracle"))
            helps, hurts = row["helpful_rate"], row["harmful_rate"]
            for node in (dense, always, oracle, helps, hurts):
                audit.steps(node, release.half, f"a whole number of {release.half} questions")
            audit.equal(oracle, dense + helps, "dense_recall + helpful_rate")
            audit.equal(always, dense + helps - hurts, "dense_recall + helpful_rate - harmful_rate")
            audit.equal(row["oracle_gain_vs_dense"], oracle - dense, "oracle_recall - dense_recall")
            gain = always - dense
            audit.equal(row["always_expand_delta_vs_dense"], gain, "always_expand_recall - dense_recall")
            audit.equal(row["both_hit_rate"], dense - hurts, "dense_recall - harmful_rate")
            audit.equal(row["both_miss_rate"], 1.0 - (dense + helps), "1 - oracle_recall")
            audit.equal(row["oracle_expansion_rate"], helps, "helpful_rate")
            for name, second in (("Dense-Only", dense), ("Always-Expand", always)):
                whole = reported[seed][name]["recall@5"]
                first = whole.number * release.n - second.number * release.half
                fits = -1e-6 <= first <= release.n - release.half + 1e-6
                audit.holds(fits, second, f"leaves a recall from 0 to 1 for {name}'s first half", whole.parts)
    _check_means(audit, document["aggregate"], list(reports.values()))


def _check_means(audit: Audit, aggregate: Node, reports: list[Node]) -> None:
    audit.equal(aggregate["n_seeds"], len(reports), "number of seeds")
    for key in aggregate.value:
        if key.endswith("_mean"):
            with audit.section():
                values = [row[key.removesuffix("_mean")] for row in reports]
                how = f"mean of seed_reports[*].{key.removesuffix('_mean')}"
                audit.equal(aggregate[key], mean(values), how)


def _check_seeds(audit: Audit, release: Release, document: Node) -> None:
    for i, seed in enumerate(release.seeds):
        audit.equal(document["seeds"][i], seed, "its place among the seeds")


def _check_variants(audit: Audit, release: Release, known: LeftOut) -> Rows:
    document = release[f"{FOLDER}/gate_variant_diagnostics.json"]
    _check_seeds(audit, release, document)
    audit.equal(document["bm25_agreement_k"], 10, "depth of agreement of the protocol")
    _check_grid(audit, document["threshold_grid"])
    gates = [(policy, t) for policy in VARIANT_POLICIES for t in SPLIT_THRESHOLDS]
    found: Rows = {}
    for seed, report in by_seed(audit, document["seed_reports"], release.seeds).items():
        with audit.section():
            rows = keyed(audit, report["candidate_grid"], gates)
            found[seed] = rows
            _check_candidates(audit, release, seed, rows)
            check_additive(audit, rows)
            for (policy, threshold), row in rows.items():
                _check_second_half(audit, release, known, seed, ((policy, threshold), row))
            _check_choice(audit, release, seed, report, rows)
            _check_held_out(audit, release, known, report, seed, rows)
    _check_means(audit, document["aggregate"], list(document["seed_reports"]))
    return found


def _check_candidates(audit: Audit, release: Release, seed: int, rows: Mapping[Gate, Node]) -> None:
    first = release.n - release.half
    dense, always = (
        _halves(release, seed, name, key)[0]
        for name, key in (("Dense-Only", "dense_recall"), ("Always-Expand", "always_expand_recall"))
    )
    for row in rows.values():
        for value in ("train_recall", "train_expansion_rate"):
            audit.steps(row[value], first, f"a whole number of {first} questions")
            audit.share(row[value])
    check_steady(audit, rows)
    check_extremes(audit, rows, dense, always)


def _check_second_half(
    audit: Audit, release: Release, known: LeftOut, seed: int, candidate: tuple[Gate, Node]
) -> None:
    """Check that what all questions and the first half leave for the second is possible."""
    gate, row = candidate
    for value, of in (("train_recall", known.hits), ("train_expansion_rate", known.expanded)):
        if gate in of[seed]:
            rest = of[seed][gate].number - row[value].number * (release.n - release.half)
            fits = -1e-5 <= rest <= release.half + 1e-5
            parts = of[seed][gate].parts
            audit.holds(fits, row[value], "leaves from none to all of the second half", parts)


def _check_choice(
    audit: Audit, release: Release, seed: int, report: Node, rows: Mapping[Gate, Node], budget: float = 2.0
) -> None:
    """Hold a report's chosen gate against its own grid."""
    audit.equal(report["n_train"], release.n - release.half, "the first half of the questions")
    audit.equal(report["n_test"], release.half, "the second half of the questions")
    chosen = ranked(rows, budget)[0]
    audit.holds(report["policy"].value == chosen[0], report["policy"], f"the best candidate, {chosen[0]}")
    audit.equal(report["threshold"], chosen[1], "the best candidate's")
    for value in ("train_recall", "train_expansion_rate"):
        audit.equal(report[value], rows[chosen][value], "the best candidate's")
    _check_against_dense(audit, release, seed, report)


def _check_against_dense(audit: Audit, release: Release, seed: int, report: Node) -> None:
    dense = _halves(release, seed, "Dense-Only", "dense_recall")[1]
    audit.equal(report["dense_test_recall"], dense, "dense_recall of gate_headroom_diagnostics")
    delta = report["test_recall"] - report["dense_test_recall"]
    audit.equal(report["test_delta_vs_dense"], delta, "test_recall - dense_test_recall")
    for value in ("test_recall", "test_expansion_rate"):
        audit.steps(report[value], release.half, f"a whole number of {release.half} questions")


def _check_held_out(
    audit: Audit, release: Release, known: LeftOut, report: Node, seed: int, rows: Mapping[Gate, Node]
) -> None:
    """Recompute the second half: a seed's hits, from the leave-one-out grids, less the first half's."""
    policy = str(report["policy"].value) if "policy" in report else SCORE
    gate = (FEATURE_OF.get(policy, policy), round(report["threshold"].number, 6))
    own = rows.get((policy, gate[1]))
    if own is None or gate not in known.hits[seed]:
        return
    how = "hits of the leave-one-out grids less those of the first half"
    first = release.n - release.half
    for value, of, trained in (
        ("test_recall", known.hits, own["train_recall"]),
        ("test_expansion_rate", known.expanded, own["train_expansion_rate"]),
    ):
        audit.equal(report[value], (of[seed][gate] - trained * first) / release.half, how)


def _check_features(audit: Audit, release: Release, known: LeftOut, variants: Rows) -> None:
    document = release[f"{FOLDER}/gate_feature_diagnostics.json"]
    _check_seeds(audit, release, document)
    audit.equal(document["max_expansion_rate"], MAX_EXPANSION_RATE, "the protocol's budget")
    gates = [(policy, t) for policy, thresholds in FEATURE_POLICIES.items() for t in thresholds]
    for seed, report in by_seed(audit, document["seed_reports"], release.seeds).items():
        with audit.section():
            rows = placed(audit, report["candidate_grid"], gates)
            _check_candidates(audit, release, seed, rows)
            for (policy, threshold), row in rows.items():
                within = row["train_expansion_rate"].number <= MAX_EXPANSION_RATE
                audit.holds(
                    row["within_budget"].value is within, row["train_expansion_rate"], "as within_budget"
                )
                twin = variants.get(seed, {}).get((FEATURE_OF.get(policy, ""), threshold))
                if twin is not None:
                    for value in ("train_recall", "train_expansion_rate"):
                        audit.equal(row[value], twin[value], f"{twin.file}: {twin[value].where}")
            _check_choice(audit, release, seed, report, rows, MAX_EXPANSION_RATE)
            _check_held_out(audit, release, known, report, seed, rows)
    _check_means(audit, document["aggregate"], list(document["seed_reports"]))


def _check_validation(audit: Audit, release: Release, known: LeftOut, variants: Rows) -> None:
    document = release[VALIDATION]
    _check_seeds(audit, release, document)
    for seed, report in by_seed(audit, document["seed_reports"], release.seeds).items():
        with audit.section():
            _check_grid(audit, report["threshold_grid"])
            audit.equal(report["n_train"], release.n - release.half, "the first half of the questions")
            audit.equal(report["n_test"], release.half, "the second half of the questions")
            rows = {gate: row for gate, row in variants.get(seed, {}).items() if gate[0] == SCORE}
            if rows:
                chosen = ranked(rows, lower_rate=False)[0]
                audit.equal(report["threshold"], chosen[1], "the best of the first half, the lower of equals")
                audit.equal(
                    report["train_recall"], rows[chosen]["train_recall"], "the best of the first half"
                )
            _check_against_dense(audit, release, seed, report)
            _check_held_out(audit, release, known, report, seed, rows)
    _check_means(audit, document["aggregate"], list(document["seed_reports"]))


def _check_grid(audit: Audit, grid: Node) -> None:
    audit.holds(len(grid) == len(SPLIT_THRESHOLDS), grid, f"{len(SPLIT_THRESHOLDS)} thresholds")
    for node, threshold in zip(grid, SPLIT_THRESHOLDS, strict=False):
        audit.equal(node, threshold, "the protocol's grid")


def _check_held_out_tests(audit: Audit, release: Release) -> None:
    """Hold the paired tests on second halves against the split validation they were made from."""
    document = release[f"{FOLDER}/gate_validation_paired_tests.json"]
    aggregate = document["aggregate"]
    chosen = by_seed(audit, release[VALIDATION]["seed_reports"], release.seeds)
    rows = by_seed(audit, document["seed_reports"], release.seeds)
    for seed, row in rows.items():
        with audit.section():
            report = chosen[seed]
            for key, source in (
                ("gate_recall", "test_recall"),
                ("dense_recall", "dense_test_recall"),
                ("expansion_rate", "test_expansion_rate"),
                ("n_queries", "n_test"),
                ("threshold", "threshold"),
            ):
                audit.equal(row[key], report[source], f"{source} of {VALIDATION}")
            audit.equal(row["delta"], row["gate_recall"] - row["dense_recall"], "gate_recall - dense_recall")
            audit.equal(row["n_bootstrap"], aggregate["n_bootstrap"], "as in the aggregate")
            audit.equal(
                row["bootstrap_seed"], aggregate["bootstrap_seed"] + seed, "the aggregate's and the seed"
            )
            check_interval(audit, row["ci_low"], row["ci_high"], row["delta"], release.half)
            if row["expansion_rate"].number == 0:
                for end in ("ci_low", "ci_high"):
                    audit.equal(row[end], 0, "0, as nothing was expanded", (row["expansion_rate"],))
    audit.equal(
        aggregate["n_queries"], total([row["n_queries"] for row in rows.values()]), "sum over the seeds"
    )
    for key in ("delta", "dense_recall", "gate_recall"):
        audit.equal(
            aggregate[key], mean([row[key] for row in rows.values()]), f"mean of seed_reports[*].{key}"
        )
    check_interval(
        audit, aggregate["ci_low"], aggregate["ci_high"], aggregate["delta"], release.half * len(rows)
    )
    rounds = aggregate["n_randomizations"]
    audit.equal(rounds, aggregate["n_bootstrap"], "n_bootstrap")
    audit.steps(aggregate["sign_flip_p"], rounds.number + 1, f"(count + 1) / ({rounds.value} + 1)")
