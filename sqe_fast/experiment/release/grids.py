"""Candidate grids of gates, and what eight leave-one-out grids tell of every single seed.

A gate that keeps dense rows where it is shut and takes expanded ones where it is open hits an additive number
of targets. So the hits of the seven other seeds, known for each seed left out, give each seed's own hits; and
for two gates A and B, hits(A or B) + hits(A and B) = hits(A) + hits(B).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sqe_fast.experiment.published import LOO_THRESHOLDS, VARIANT_POLICIES
from sqe_fast.experiment.release.audit import Audit
from sqe_fast.experiment.release.document import Node, Quantity, total
from sqe_fast.experiment.release.seeds import Release, by_seed

__all__ = [
    "Gate",
    "LeftOut",
    "check_additive",
    "check_extremes",
    "check_steady",
    "keyed",
    "left_out",
    "placed",
    "ranked",
]

Gate = tuple[str, float]
VALUES = ("train_recall", "train_expansion_rate")
TOP1 = "cross_seed_top1_gate"
VARIANT = "cross_seed_gate_variant"


def placed(audit: Audit, grid: Node, gates: Sequence[Gate]) -> dict[Gate, Node]:
    """Return the candidates of a grid in the protocol's order by policy and threshold, by their places."""
    audit.holds(len(grid) == len(gates), grid, f"all {len(gates)} candidates of the protocol")
    found = dict(zip(gates, grid, strict=False))
    for (policy, threshold), row in found.items():
        if "policy" in row:
            audit.holds(row["policy"].value == policy, row["policy"], f"{policy}, by its place in the grid")
        audit.equal(row["threshold"], threshold, "its place in the protocol's grid")
    return found


def keyed(audit: Audit, grid: Node, gates: Iterable[Gate]) -> dict[Gate, Node]:
    """Return the candidates of a grid in any order, after checking that all are there once."""
    wanted = set(gates)
    found: dict[Gate, Node] = {}
    for row in grid:
        policy = str(row["policy"].value) if "policy" in row else VARIANT_POLICIES[0]
        gate = (policy, round(row["threshold"].number, 6))
        first = found.setdefault(gate, row)
        fresh = gate in wanted and first is row
        others = () if first is row else (first["threshold"],)
        audit.holds(fresh, row["threshold"], "a threshold of the protocol's grid, once", others)
    audit.holds(set(found) >= wanted, grid, f"all {len(wanted)} candidates of the protocol")
    return {gate: row for gate, row in found.items() if gate in wanted}


def ranked(rows: Mapping[Gate, Node], budget: float = float("inf"), lower_rate: bool = True) -> list[Gate]:
    """Return the gates within a budget, best first: recall, then the lower rate, policy and threshold."""

    def order(gate: Gate) -> tuple[float, float, str, float]:
        row = rows[gate]
        rate = row["train_expansion_rate"].number if lower_rate else 0.0
        return -row["train_recall"].number, rate, *gate

    within = [gate for gate in rows if rows[gate]["train_expansion_rate"].number <= budget]
    return sorted(within, key=order)


def check_steady(audit: Audit, rows: Mapping[Gate, Node]) -> None:
    """Check that a higher threshold never expands fewer questions."""
    for policy in {policy for policy, _ in rows}:
        ordered = [rows[gate]["train_expansion_rate"] for gate in sorted(rows) if gate[0] == policy]
        for before, after in pairwise(ordered):
            steady = before.number <= after.number + 1e-9
            audit.holds(steady, after, "at least the rate of the threshold below", (before,))


def check_extremes(audit: Audit, rows: Mapping[Gate, Node], dense: Quantity, always: Quantity) -> None:
    """Check that a gate open for no question scores as Dense-Only, and for every one as Always-Expand."""
    for row in rows.values():
        rate = row["train_expansion_rate"]
        for extreme, value, name in ((0.0, dense, "Dense-Only"), (1.0, always, "Always-Expand")):
            if rate.number == extreme:
                audit.equal(row["train_recall"], value, f"{name}, as the rate is {extreme:g}", (rate,))


def check_additive(audit: Audit, rows: Mapping[Gate, Node]) -> None:
    """Check hits(A or B) + hits(A and B) - hits(A) = hits(B), whatever the threshold of A; rates alike."""
    score, both, either = VARIANT_POLICIES
    thresholds = sorted({threshold for _, threshold in rows})
    complete = [t for t in thresholds if all((policy, t) in rows for policy in VARIANT_POLICIES)]
    for value in VALUES:
        alone = [rows[either, t][value] + rows[both, t][value] - rows[score, t][value] for t in complete]
        if not alone:
            continue
        common = Counter(round(one.number, 9) for one in alone).most_common(1)[0][0]
        reference = next(one for one in alone if round(one.number, 9) == common)
        for t, one in zip(complete, alone, strict=True):
            if one is not reference:
                declared = rows[either, t][value]
                expected = reference - rows[both, t][value] + rows[score, t][value]
                audit.equal(declared, expected, "as much without agreement alone, whatever the threshold")


@dataclass(frozen=True)
class LeftOut:
    """What is known of every seed from the grids that leave one out: hits and expanded questions by gate."""

    hits: Mapping[int, Mapping[Gate, Quantity]]
    expanded: Mapping[int, Mapping[Gate, Quantity]]


def left_out(audit: Audit, release: Release) -> LeftOut:
    """Read both leave-one-out documents, check their grids, and solve for the single seeds."""
    gates = [(policy, t) for policy in VARIANT_POLICIES for t in LOO_THRESHOLDS]
    trained = release.n * (len(release.seeds) - 1)
    grids: dict[str, dict[int, dict[Gate, Node]]] = {TOP1: {}, VARIANT: {}}
    for name, by_policy in grids.items():
        wanted = [gate for gate in gates if name == VARIANT or gate[0] == VARIANT_POLICIES[0]]
        reports = release[f"results_gate_calibration/{name}.json"]["seed_reports"]
        for seed, report in by_seed(audit, reports, release.seeds, "test_seed").items():
            by_policy[seed] = placed(audit, report["candidate_grid"], wanted)
            check_steady(audit, by_policy[seed])
    for seed, rows in grids[VARIANT].items():
        check_additive(audit, rows)
        for gate, row in grids[TOP1].get(seed, {}).items():
            if gate in rows:
                audit.same(rows[gate], row)
    hits: dict[int, dict[Gate, Quantity]] = {seed: {} for seed in release.seeds}
    expanded: dict[int, dict[Gate, Quantity]] = {seed: {} for seed in release.seeds}
    for gate in gates:
        rows_of = {seed: rows[gate] for seed, rows in grids[VARIANT].items() if gate in rows}
        if len(rows_of) < len(release.seeds) or len(rows_of) < 2:
            continue
        for value, found in zip(VALUES, (hits, expanded), strict=True):
            counts = {seed: row[value] * trained for seed, row in rows_of.items()}
            every = total(list(counts.values())) / (len(counts) - 1)
            for seed, row in rows_of.items():
                audit.steps(row[value], trained, f"a whole number of {trained} questions")
                found[seed][gate] = Quantity(every.number - counts[seed].number, every.parts)
            whole = abs(every.number - round(every.number)) < 1e-5
            first = rows_of[release.seeds[0]][value]
            audit.holds(whole, first, f"with the other seeds', {len(counts) - 1} times a count", every.parts)
    return LeftOut(hits, expanded)
