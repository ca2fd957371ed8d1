"""What each seed's summaries, its verification report and the multi-seed report declare of the same runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqe_fast.experiment.published import GATE_THRESHOLD
from sqe_fast.experiment.release.audit import Audit
from sqe_fast.experiment.release.document import Node, UnreadableError
from sqe_fast.gate.gates import RandomGate
from sqe_fast.methods import METHODS

__all__ = ["Release", "by_seed", "check_seeds", "check_summary"]

MRR_STEPS = math.lcm(*range(1, 11))  # a reciprocal rank is a multiple of 1/2520
CALLS = {"selective": (1, 1), "always_expand": (1, 1), "random_budget": (1, 1)}  # traces, paraphrases
CALLS |= {"traces_only": (1, 0), "paraphrases_only": (0, 1)}


@dataclass(frozen=True)
class Release:
    """The documents of a release by their path in it, and the plain facts that all checks start from.

    Attributes
    ----------
    documents : mapping of str to Node
    folders : mapping of int to str
        The folder of each seed's run.
    n : int
        Questions of each seed.
    """

    documents: Mapping[str, Node]
    folders: Mapping[int, str]
    n: int

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, in order."""
        return tuple(self.folders)

    @property
    def half(self) -> int:
        """How many of a seed's questions are held out."""
        return self.n - self.n // 2

    def __getitem__(self, file: str) -> Node:
        """Return a document; `UnreadableError` where it is missing."""
        if file not in self.documents:
            raise UnreadableError(file, "(file)", "is missing or not JSON")
        return self.documents[file]

    def reported(self) -> dict[int, Node]:
        """Return the methods of each seed, as the multi-seed report has them."""
        reports = self["results_multiseed/multiseed_report.json"]["seed_reports"]
        return {seed: reports[i]["methods"] for i, seed in enumerate(self.seeds)}


def by_seed(audit: Audit, entries: Node, seeds: Sequence[int], key: str = "seed") -> dict[int, Node]:
    """Return one entry a seed, by position, after holding its own seed against that position."""
    audit.holds(len(entries) == len(seeds), entries, f"one entry a seed, {len(seeds)}")
    found = dict(zip(seeds, entries, strict=False))
    for seed, entry in found.items():
        with audit.section():
            audit.equal(entry[key], seed, "its place among the seeds")
    return found


def check_seeds(audit: Audit, release: Release) -> None:
    """Hold the files of each seed's folder against the multi-seed report."""
    document = release["results_multiseed/multiseed_report.json"]
    for i, seed in enumerate(release.seeds):
        with audit.section():
            audit.equal(document["requested_seeds"][i], seed, "its place among the seeds")
    audit.equal(document["n_complete_seeds"], len(release.seeds), "number of seeds at hand")
    for seed, report in by_seed(audit, document["seed_reports"], release.seeds).items():
        for name in report["methods"].value:
            with audit.section():
                _check_method(audit, report["methods"][name], release.n)
        folder = release.folders[seed]
        with audit.section():
            _check_verification(audit, release, seed, report["methods"])
        with audit.section():
            for entry in release[f"{folder}/baselines_summary.json"]:
                audit.same(entry, report["methods"][str(entry["method"].value)])
        for file in sorted(release.documents):
            if file.startswith(f"{folder}/") and file.endswith("_summary.json") and "baselines" not in file:
                with audit.section():
                    summary = release[file]
                    check_summary(audit, summary, seed, release.n)
                    audit.same(summary, report["methods"][str(summary["method"].value)])
                    rate = report["methods"][str(summary["method"].value)]["expansion_rate"]
                    audit.equal(rate, summary["n_expanded"] / summary["n_queries"], "n_expanded / n_queries")
                    if summary["config"]["mode"].value == "random_budget":
                        drawn = int(RandomGate(seed=seed).start()({}, release.n).sum())
                        audit.equal(summary["n_expanded"], drawn, f"the protocol's draws for seed {seed}")


def _check_method(audit: Audit, method: Node, n: int) -> None:
    """Check one method of one seed: averages over n hits, and a mean reciprocal rank that they allow."""
    audit.equal(method["n_queries"], n, "questions of every method")
    at1, at5, at10 = (method[f"recall@{k}"] for k in (1, 5, 10))
    for recall in (at1, at5, at10):
        audit.steps(recall, n, f"a whole number of {n} questions")
    ordered = at1.number <= at5.number <= at10.number
    audit.holds(ordered, at5, "between recall@1 and recall@10", (at1, at10))
    mrr = method["mrr"]
    audit.steps(mrr, n * MRR_STEPS, f"a sum of reciprocals of ranks 1 to 10 over {n}")
    low = at1.number + (at5.number - at1.number) / 5 + (at10.number - at5.number) / 10
    high = at1.number + (at5.number - at1.number) / 2 + (at10.number - at5.number) / 6
    inside = low - 1e-9 <= mrr.number <= high + 1e-9
    audit.holds(inside, mrr, f"from {low:.6f} to {high:.6f}, as its recalls allow", (at1, at5, at10))
    if "expansion_rate" in method:
        audit.steps(method["expansion_rate"], n, f"a whole number of {n} questions")


def _check_verification(audit: Audit, release: Release, seed: int, methods: Node) -> None:
    """Hold a seed's own verification report against the multi-seed report."""
    checks = release[f"{release.folders[seed]}/verification_report.json"]["checks"]
    audit.same(checks["methods"], methods)
    audit.same(methods, checks["methods"])
    for method in checks["methods"]:
        audit.equal(method["max_retrieved_depth"], 10, "depth of retrieval of the protocol")
    manifest = checks["manifest"]
    audit.equal(manifest["seed"], seed, "seed of its folder")
    audit.equal(checks["n_eval"], release.n, "questions of every method")
    for key in ("n_eval_requested", "n_eval_generated"):
        audit.equal(manifest[key], checks["n_eval"], "n_eval")
    audit.equal(manifest["n_memory"], checks["n_memory"], "n_memory")
    audit.equal(checks["n_index_ids"], checks["n_memory"], "n_memory")
    for key in ("eval_targets_in_memory", "eval_targets_in_index"):
        audit.equal(checks[key], checks["n_eval"], "n_eval: every target is in the store and the index")
    for other, entry in checks["random_gated_execution"].value.items():
        with audit.section():
            node = checks["random_gated_execution"][other]
            folder = release.folders[int(other)]
            audit.equal(node["n_rows"], release.n, "questions of every method")
            expanded = release[f"{folder}/random_budget_summary.json"]["n_expanded"]
            audit.equal(node["n_expanded"], expanded, f"n_expanded of {folder}/random_budget_summary.json")
            audit.equal(node["n_nonexpanded"], node["n_rows"] - node["n_expanded"], "n_rows - n_expanded")
            for key in ("bad_mode_rows", "bad_expanded_rows", "bad_nonexpanded_rows"):
                audit.holds(entry[key] == [], node[key], "empty")


def check_summary(audit: Audit, summary: Node, seed: int, n: int) -> None:
    """Check what one summary of a run says of its own counts, rates, calls and tokens."""
    queries, expanded, config = summary["n_queries"], summary["n_expanded"], summary["config"]
    audit.equal(queries, n, "questions of every method")
    rate = summary["expansion_trigger_rate"]
    audit.equal(rate, expanded / queries, "n_expanded / n_queries")
    mode = str(config["mode"].value)
    audit.holds(mode in CALLS, config["mode"], f"one of {', '.join(CALLS)}")
    if mode not in ("selective", "random_budget"):
        audit.equal(expanded, queries, f"n_queries, as {mode} expands every question")
    traces, paraphrases = CALLS.get(mode, (0, 0))
    calls = config["n_hypothetical_traces"] * traces + paraphrases
    estimate = expanded / queries * calls
    audit.equal(summary["avg_estimated_llm_calls_per_query"], estimate, "rate times calls of an expansion")
    published = METHODS["Selective-QE"]
    gated = RandomGate().rate if mode == "random_budget" else 0.0
    for key, value in (
        ("confidence_threshold", GATE_THRESHOLD),
        ("n_hypothetical_traces", published.K),
        ("n_paraphrases", published.P),
        ("random_expand_rate", gated),
        ("seed", seed),
    ):
        audit.equal(config[key], value, "the protocol's setting")
    for key in ("recall@1", "recall@10"):
        audit.steps(summary[key], n, f"a whole number of {n} questions")
    seconds = summary["avg_latency_seconds_per_query"]
    audit.holds(seconds.number > 0, seconds, "a positive number of seconds")
    if "avg_total_tokens_per_query" in summary:
        _check_tokens(audit, summary, n)


def _check_tokens(audit: Audit, summary: Node, n: int) -> None:
    prompt, completion, whole = (
        summary[f"avg_{name}_tokens_per_query"] for name in ("prompt", "completion", "total")
    )
    audit.equal(whole, prompt + completion, "prompt tokens + completion tokens")
    actual, estimated = (summary[f"avg_{name}_llm_calls_per_query"] for name in ("actual", "estimated"))
    for node in (prompt, completion, actual):
        audit.steps(node, n, f"a whole number over {n} questions")
    fewer = actual.number <= estimated.number + 1e-9
    audit.holds(fewer, actual, "at most the calls an expansion takes", (estimated,))
    measured = (actual.number > 0) == (whole.number > 0)
    audit.holds(measured, whole, "tokens where calls were counted", (actual,))
