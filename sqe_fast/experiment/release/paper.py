"""The full report of the first seed, the measured token runs, and what the verification reports repeat."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from sqe_fast.experiment.published import GATE_THRESHOLD, SPLIT_THRESHOLDS, SWEEP_THRESHOLDS, VARIANT_POLICIES
from sqe_fast.experiment.release.audit import Audit
from sqe_fast.experiment.release.document import Node, Quantity, total
from sqe_fast.experiment.release.grids import LeftOut
from sqe_fast.experiment.release.multiseed import check_interval, check_outcomes
from sqe_fast.experiment.release.seeds import Release, check_summary

__all__ = ["check_audit", "check_full_report", "check_measured", "check_repeated"]

SCORE = VARIANT_POLICIES[0]
RECALLS = ("recall@1", "recall@5", "recall@10")
BOOTSTRAP = 5000  # resamples of the seed's own tables


def check_full_report(audit: Audit, release: Release, known: LeftOut) -> None:
    """Recompute what the full report of a seed declares."""
    for file, document in release.documents.items():
        folder = file.rpartition("/")[0]
        if file.endswith("/full_report_v2.json") and folder in release.folders.values():
            seed = next(seed for seed, name in release.folders.items() if name == folder)
            for check in (_check_summaries, _check_error_analysis, _check_sweep, _check_split, _check_paired):
                with audit.section():
                    check(audit, release, known, (seed, document))
            with audit.section():
                _check_measured_runs(audit, release, seed, document)


def _check_summaries(audit: Audit, release: Release, _: LeftOut, entry: tuple[int, Node]) -> None:
    seed, document = entry
    methods, folder = release.reported()[seed], release.folders[seed]
    baselines = {str(row["method"].value): row for row in release[f"{folder}/baselines_summary.json"]}
    for row in document["summaries"]:
        with audit.section():
            name = str(row["method"].value)
            audit.same(row, methods[name])
            checks = release[f"{folder}/verification_report.json"]["checks"]["methods"]
            audit.same(row, checks[name])
            if name in baselines:
                audit.same(row, baselines[name])
            else:
                summary = release[f"{folder}/{row['_summary_file'].value}"]
                audit.same(row, summary)
                audit.same(summary, row)
                check_summary(audit, row, seed, release.n)
            _check_untold(audit, row)
            _check_own_interval(audit, release, row)


def _check_untold(audit: Audit, row: Node) -> None:
    """Tokens that were not measured in this run are declared as 0, and baselines make no calls."""
    for key in row.value:
        if key.startswith(("avg_actual", "avg_prompt", "avg_completion", "avg_total")):
            audit.equal(row[key], 0, "0, not measured in this run")
    if "config" not in row:
        audit.equal(row["avg_estimated_llm_calls_per_query"], 0, "0, a method without expansion")


def _check_own_interval(audit: Audit, release: Release, row: Node) -> None:
    low, high = row["recall@5_ci95"]
    recall = row["recall@5"]
    check_interval(audit, low, high, recall, release.n)
    hits = recall * release.n
    none = Quantity(0.0)
    check_outcomes(audit, (low, high, None, "two"), (hits, none), release.n, BOOTSTRAP)


def _check_error_analysis(audit: Audit, release: Release, _: LeftOut, entry: tuple[int, Node]) -> None:
    seed, document = entry
    part = document["error_analysis"]
    method = release.reported()[seed]["Selective-QE"]
    summary = release[f"{release.folders[seed]}/proposed_summary.json"]
    groups = [part["expanded"], part["not_expanded"]]
    for group in groups:
        audit.equal(group["count"], group["hits"] + group["misses"], "hits + misses")
        audit.equal(group["recall"], group["hits"] / group["count"], "hits / count")
    audit.equal(part["total_queries"], total([group["count"] for group in groups]), "both groups together")
    audit.equal(part["expanded"]["count"], summary["n_expanded"], "n_expanded of Selective-QE")
    hits = total([group["hits"] for group in groups])
    audit.equal(method["recall@5"], hits / part["total_queries"], "hits of both groups over all questions")


def _check_sweep(audit: Audit, release: Release, known: LeftOut, entry: tuple[int, Node]) -> None:
    seed, document = entry
    rows = _rows(audit, document["threshold_sweep"], SWEEP_THRESHOLDS, release.n)
    methods = release.reported()[seed]
    for threshold, row in rows.items():
        gate = (SCORE, threshold)
        if gate in known.hits[seed]:
            how = "hits of the leave-one-out grids"
            audit.equal(row["recall@5"], known.hits[seed][gate] / release.n, how)
            audit.equal(row["expanded"], known.expanded[seed][gate], how)
        for expanded, name in ((0, "Dense-Only"), (release.n, "Always-Expand")):
            if row["expanded"].number == expanded:
                for key in RECALLS:
                    how = f"{name}, as {expanded} questions are expanded"
                    audit.equal(row[key], methods[name][key], how, (row["expanded"],))
    gated = methods["Selective-QE"]
    row = rows[GATE_THRESHOLD]
    audit.equal(row["expanded"], gated["expansion_rate"] * release.n, "expanded questions of Selective-QE")
    for key in RECALLS:
        audit.equal(row[key], gated[key], f"Selective-QE, whose threshold is {GATE_THRESHOLD}")


def _rows(audit: Audit, rows: Node, thresholds: Sequence[float], n: int) -> dict[float, Node]:
    """Return the rows of a sweep by threshold, in the protocol's order, after checking each by itself."""
    audit.holds(len(rows) == len(thresholds), rows, f"{len(thresholds)} thresholds")
    found = dict(zip(thresholds, rows, strict=False))
    last: Node | None = None
    for threshold, row in found.items():
        audit.equal(row["threshold"], threshold, "its place in the protocol's grid")
        audit.equal(row["n"], n, f"{n} questions")
        for key in RECALLS:
            audit.steps(row[key], n, f"a whole number of {n} questions")
        if last is not None:
            steady = last.number <= row["expanded"].number
            audit.holds(steady, row["expanded"], "at least as many as at the threshold below", (last,))
        last = row["expanded"]
    return found


def _check_split(audit: Audit, release: Release, _: LeftOut, entry: tuple[int, Node]) -> None:
    seed, document = entry
    part, half = document["validation_threshold_check"], release.n - release.half
    audit.equal(part["validation_n"], half, "the first half of the questions")
    audit.equal(part["test_n"], release.half, "the second half of the questions")
    first = _rows(audit, part["validation_rows"], SWEEP_THRESHOLDS, half)
    chosen = min(first, key=lambda threshold: (-first[threshold]["recall@5"].number, threshold))
    audit.equal(part["selected_threshold"], chosen, "the best of validation_rows, the lower of equals")
    audit.same(part["validation_selected"], first[chosen])
    sweep = dict(zip(SWEEP_THRESHOLDS, document["threshold_sweep"], strict=False))
    for key, threshold in (
        ("test_dense_proxy", SWEEP_THRESHOLDS[0]),
        ("test_fixed_0_65", GATE_THRESHOLD),
        ("test_selected", chosen),
    ):
        row, before, whole = part[key], first[threshold], sweep[threshold]
        audit.equal(row["threshold"], threshold, "the threshold it is named for")
        audit.equal(row["n"], release.half, "the second half of the questions")
        how = f"threshold_sweep at {threshold} less validation_rows"
        audit.equal(row["expanded"], whole["expanded"] - before["expanded"], how)
        for recall in RECALLS:
            rest = (whole[recall] * release.n - before[recall] * half) / release.half
            audit.equal(row[recall], rest, how)
    variants = release["results_gate_calibration/gate_variant_diagnostics.json"]
    for candidate in variants["seed_reports"][release.seeds.index(seed)]["candidate_grid"]:
        threshold = candidate["threshold"].number
        if candidate["policy"].value == SCORE and threshold in first and threshold in SPLIT_THRESHOLDS:
            row = first[threshold]
            where = f"{candidate.file}: {candidate.where}"
            audit.equal(row["recall@5"], candidate["train_recall"], f"train_recall of {where}")
            audit.equal(row["expanded"], candidate["train_expansion_rate"] * half, f"its rate in {where}")


def _check_paired(audit: Audit, release: Release, _: LeftOut, entry: tuple[int, Node]) -> None:
    seed, document = entry
    methods = release.reported()[seed]
    part = document["paired_bootstrap_recall5"]
    for name in part.value:
        with audit.section():
            row = part[name]
            delta = methods["Selective-QE"]["recall@5"] - methods[name]["recall@5"]
            audit.equal(row["delta"], delta, f"recall@5 of Selective-QE less that of {name}")
            audit.equal(row["n"], release.n, f"{release.n} questions")
            low, high = row["ci95"]
            check_interval(audit, low, high, row["delta"], release.n)
            audit.steps(row["p_bootstrap"], BOOTSTRAP, f"a share of {BOOTSTRAP} resamples")
            if name == "Dense-Only":
                document_of = release["results_multiseed/win_loss_analysis.json"]
                wins = document_of["rows"][release.seeds.index(seed)]
                outcomes = (wins["selective_win"], wins["selective_loss"])
                declared = (low, high, row["p_bootstrap"], "two")
                check_outcomes(audit, declared, outcomes, release.n, BOOTSTRAP)


def _check_measured_runs(audit: Audit, release: Release, seed: int, document: Node) -> None:
    for row in document["measured_token_runs"]:
        with audit.section():
            path = str(row["_summary_file"].value).split("/")[-2:]
            summary = release["/".join(path)]
            audit.same(row, summary)
            audit.same(summary, row)
            check_summary(audit, row, seed, release.n)


def check_measured(audit: Audit, release: Release) -> None:
    """Check the runs whose tokens were measured, each by itself and against the run of the same gate."""
    for file, summary in release.documents.items():
        if file.startswith("results_tokenmeasured"):
            with audit.section():
                seed = int(file.partition("/")[0].rpartition("seed")[2])
                check_summary(audit, summary, seed, release.n)
                name = str(summary["method"].value).partition(" (")[0]
                rate = release.reported()[seed][name]["expansion_rate"]
                audit.equal(summary["expansion_trigger_rate"], rate, f"the gate of {name}, run again")


def check_repeated(audit: Audit, release: Release) -> None:
    """Hold what several verification reports repeat against what most of them say, and copies inside one."""
    documents = [
        release[f"{folder}/verification_report.json"]["checks"] for folder in release.folders.values()
    ]
    copies: dict[tuple[Any, ...], list[Node]] = defaultdict(list)
    for document in documents:
        for node in document.numbers():
            if node.path[1] != "methods" and node.path[1:] != ("manifest", "seed"):
                copies[node.path].append(node)
    for nodes in copies.values():
        if len(nodes) > 1:
            common = Counter(node.value for node in nodes).most_common(1)[0][0]
            for i, node in enumerate(nodes):
                others = Quantity(common, tuple(nodes[:i] + nodes[i + 1 :]))
                audit.equal(node, others, "as most verification reports say")
    for document in documents:
        with audit.section():
            _check_paper(audit, document)


def _check_paper(audit: Audit, checks: Node) -> None:
    """Check what one verification report says twice of the paper and its figures."""
    assets, style = checks["figure_assets"], checks["paper_style"]
    audit.equal(assets["n_active_figures"], len(assets["figures"]), "number of figures listed")
    audit.equal(style["n_figures"], assets["n_active_figures"], "figure_assets.n_active_figures")
    ready = checks["readiness_figure_asset_n_active_figures"]
    audit.equal(ready, assets["n_active_figures"], "figure_assets.n_active_figures")
    for figure in assets["figures"]:
        size = checks["figure_pngs"][f"figures/{figure['figure'].value}"]["dimensions"]
        audit.equal(size[0], figure["metrics"]["width"], "width in figure_assets")
        audit.equal(size[1], figure["metrics"]["height"], "height in figure_assets")
    for key in ("readiness_latex_pdf_pages", "main_pdf_pages"):
        if key in checks:
            audit.equal(
                checks[key], checks["conference_preview"]["pdf_pages"], "conference_preview.pdf_pages"
            )
    if "missing_evidence_blockers" in checks:
        blocking = checks["missing_evidence_blockers"]["blocking_count"]
        audit.equal(blocking, checks["submission_blocking_count"], "submission_blocking_count")
    if "main_tex_table_inputs" in checks:
        audit.equal(style["n_tables"], len(checks["main_tex_table_inputs"]), "tables that main.tex takes in")


def check_audit(audit: Audit, release: Release) -> None:
    """Check what is said of the human audit, which holds no labels yet."""
    manifest = release["human_audit/human_audit_manifest.json"]
    rows = manifest["n_audit_queries"]
    audit.equal(manifest["n_source_queries"], release.n, "questions of the first seed")
    audit.equal(manifest["seed"], release.seeds[0], "the first seed")
    audit.equal(release["human_audit/labeling_form_manifest.json"]["n_rows"], rows, "n_audit_queries")
    packets = release["human_audit/reviewer_packets/assignment_manifest.json"]["reviewer_packets"]
    reports = release["human_audit/reviewer_packets_verification.json"]["packet_reports"]
    for packet in (*packets, *reports):
        audit.equal(packet["n_rows"], rows, "n_audit_queries")
    for folder in release.folders.values():
        with audit.section():
            part = release[f"{folder}/verification_report.json"]["checks"]["human_audit"]
            audit.same(part["manifest"], manifest)
            audit.equal(part["n_rows"], rows, "n_audit_queries")
            audit.equal(part["filled_reviewer_rows"], 0, "0: there are no labels")
