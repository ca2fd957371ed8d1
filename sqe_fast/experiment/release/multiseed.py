"""Means and deviations over seeds, paired tests, and wins and losses."""

from __future__ import annotations

import numpy as np

from sqe_fast import stats
from sqe_fast.experiment.release.audit import Audit
from sqe_fast.experiment.release.document import Node, Quantity, mean, spread, total
from sqe_fast.experiment.release.seeds import Release, by_seed

__all__ = ["check_interval", "check_multiseed", "check_outcomes"]

PERCENTILE_STEPS = 40  # a 2.5% percentile of resampled means lies between two of them, at a multiple of 1/40


def check_multiseed(audit: Audit, release: Release) -> None:
    """Recompute the aggregates of the multi-seed report, its paired tests, and its wins and losses."""
    with audit.section():
        _check_aggregate(audit, release)
    with audit.section():
        _check_paired(audit, release)
    with audit.section():
        _check_wins(audit, release)


def _check_aggregate(audit: Audit, release: Release) -> None:
    reported = release.reported()
    aggregate = release["results_multiseed/multiseed_report.json"]["aggregate"]
    for name in aggregate.value:
        with audit.section():
            row = aggregate[name]
            audit.equal(row["n_seeds"], len(reported), "number of seeds")
            for key in (key.removesuffix("_mean") for key in row.value if key.endswith("_mean")):
                values = [methods[name][key] for methods in reported.values()]
                where = f"seed_reports[*].methods.{name}.{key}"
                audit.equal(row[f"{key}_mean"], mean(values), f"mean of {where}")
                audit.equal(row[f"{key}_std"], spread(values), f"deviation (n - 1) of {where}")


def _check_paired(audit: Audit, release: Release) -> None:
    document = release["results_multiseed/multiseed_paired_tests.json"]
    reported = release.reported()
    for i, seed in enumerate(release.seeds):
        audit.equal(document["seeds"][i], seed, "its place among the seeds")
    wins = release["results_multiseed/win_loss_analysis.json"]["aggregate"]
    resamples = document["bootstrap_samples"]
    audit.holds(resamples.number > 0 and resamples.number % 1000 == 0, resamples, "whole thousands")
    audit.holds(document["bootstrap_seed"].number >= 0, document["bootstrap_seed"], "a seed")
    ours = str(document["method"].value)
    for row in document["rows"]:
        with audit.section():
            baseline = str(row["baseline"].value)
            queries = total([methods[baseline]["n_queries"] for methods in reported.values()])
            audit.equal(row["n_queries"], queries, "questions of all seeds")
            deltas = [
                methods[ours]["recall@5"] - methods[baseline]["recall@5"] for methods in reported.values()
            ]
            audit.equal(row["delta"], mean(deltas), f"mean recall@5 of {ours} less that of {baseline}")
            pooled = release.n * len(release.seeds)
            check_interval(audit, row["ci_low"], row["ci_high"], row["delta"], pooled)
            audit.steps(row["p_value"], resamples.number or 1, f"a share of {resamples.value} resamples")
            if baseline == "Dense-Only":
                check_outcomes(
                    audit,
                    (row["ci_low"], row["ci_high"], row["p_value"], "one"),
                    (wins["selective_win"], wins["selective_loss"]),
                    pooled,
                    resamples.number,
                )


def check_interval(audit: Audit, low: Node, high: Node, delta: Node, n: int) -> None:
    """Check a bootstrap interval: it holds the mean, and its ends are percentiles of means of n hits."""
    inside = low.number - 1e-9 <= delta.number <= high.number + 1e-9
    audit.holds(inside, delta, "within its interval", (low, high))
    for end in (low, high):
        audit.steps(end, n * PERCENTILE_STEPS, f"a percentile of means over {n} questions")


def check_outcomes(
    audit: Audit,
    declared: tuple[Node, Node, Node | None, str],
    outcomes: tuple[Quantity, Quantity],
    n: int,
    resamples: float,
) -> None:
    """Resample from counts alone: how many of n questions gained, how many lost.

    `declared` is an interval, a p-value and its number of sides. Allows five standard errors of either
    resampling, and a step of 1/n.
    """
    low, high, p, sides = declared
    gained, lost = (round(outcome.number) for outcome in outcomes)
    if not (gained >= 0 and lost >= 0 and 0 < gained + lost <= n and resamples >= 1):
        return
    deltas = np.zeros(n, np.int8)
    deltas[:gained] = 1
    deltas[gained : gained + lost] = -1
    result = stats.paired_bootstrap(deltas, 20_000)
    share = 0.025
    density = 0.0584 / (float(np.std(deltas)) / np.sqrt(n))  # of a normal at its 2.5 percentile
    noise = np.sqrt(share * (1 - share) * (1 / resamples + 1 / 20_000)) / density
    parts = tuple(part for outcome in outcomes for part in outcome.parts)
    for node, value in ((low, result.low), (high, result.high)):
        audit.close(
            node, Quantity(value, parts), 5 * noise + 1 / n, "resampling the counted gains and losses"
        )
    if p is not None:
        value = result.p_one_sided if sides == "one" else result.p_two_sided
        noise = 2 * np.sqrt(max(value * (1 - value), 1e-4) * (1 / resamples + 1 / 20_000))
        audit.close(p, Quantity(value, parts), 5 * noise, "resampling the counted gains and losses")


def _check_wins(audit: Audit, release: Release) -> None:
    document = release["results_multiseed/win_loss_analysis.json"]
    reported = release.reported()
    for i, seed in enumerate(release.seeds):
        audit.equal(document["seeds"][i], seed, "its place among the seeds")
    rows = by_seed(audit, document["rows"], release.seeds)
    aggregate = document["aggregate"]
    for row in (*rows.values(), aggregate):
        with audit.section():
            audit.equal(row["k"], document["k"], "k of the document")
            counts = [row[key] for key in ("both_hit", "selective_win", "selective_loss", "both_miss")]
            audit.equal(row["n_queries"], total(counts), "hits, wins, losses and misses together")
            for outcome in ("win", "loss"):
                both = row[f"expanded_{outcome}"] + row[f"not_expanded_{outcome}"]
                audit.equal(row[f"selective_{outcome}"], both, "expanded and not expanded together")
                share = row[f"selective_{outcome}"] / row["n_queries"]
                audit.equal(row[f"selective_{outcome}_rate"], share, f"selective_{outcome} / n_queries")
                kept = row[f"not_expanded_{outcome}"]
                audit.equal(kept, 0, "0: a question that is not expanded keeps its dense list")
            audit.equal(row["net_wins"], row["selective_win"] - row["selective_loss"], "wins - losses")
    for seed, row in rows.items():
        with audit.section():
            methods = reported[seed]
            for name, outcome in (("Selective-QE", "selective_win"), ("Dense-Only", "selective_loss")):
                hits = row["both_hit"] + row[outcome]
                audit.equal(
                    methods[name]["recall@5"], hits / row["n_queries"], f"both_hit + {outcome}, over n"
                )
            audit.equal(row["n_queries"], methods["Dense-Only"]["n_queries"], "n_queries of the seed report")
    for key in aggregate.value:
        if key not in ("seed", "k", "missing_query_ids") and not key.endswith("_rate"):
            with audit.section():
                values = [row[key] for row in rows.values()]
                audit.equal(aggregate[key], total(values), f"sum of rows[*].{key}")
    audit.equal(document["k"], 5, "depth of the protocol")
