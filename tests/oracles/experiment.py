"""The analysis of an experiment restated row by row, in plain Python over rows as JSON has them.

`content` is {seed: {method: rows}}; every function walks all rows for every threshold.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

DENSE, ALWAYS, BM25 = "Dense-Only", "Always-Expand", "BM25-Only"


def grid(first, last, step, scale):
    return [value / scale for value in range(first, last + 1, step)]


SPLIT, LOO = grid(45, 80, 5, 100), grid(45, 80, 1, 100)
VARIANTS = ("score_only", "score_and_no_bm25_agreement", "score_or_no_bm25_agreement")
FEATURES = {
    "top1_low": SPLIT,
    "margin_low": grid(5, 100, 5, 1000),
    "concentration_low": grid(20, 70, 5, 100),
    "top1_low_or_no_bm25_agreement": SPLIT,
    "margin_low_or_no_bm25_agreement": grid(5, 100, 5, 1000),
}


def hit(row, k):
    return row["target_id"] in row["retrieved_ids"][:k]


def recall(rows, k):
    return sum(hit(row, k) for row in rows) / len(rows)


def mrr(rows):
    ranks = [r["retrieved_ids"].index(r["target_id"]) + 1 for r in rows if hit(r, 10)]
    return sum((Fraction(1, rank) for rank in ranks), Fraction(0)) / len(rows)


def spread(values):
    mean = sum(values) / len(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))


def deltas(ours, baseline, k):
    other = {row["query_id"]: row for row in baseline}
    return [hit(row, k) - hit(other[row["query_id"]], k) for row in ours]


def concentration(scores):
    weights = [math.exp(score - max(scores)) for score in scores]
    shares = [weight / sum(weights) for weight in weights]
    entropy = -sum(share * math.log(share) for share in shares if share > 0)
    return 1 - entropy / math.log(len(scores)) if len(scores) > 1 else 1.0


def questions(methods, k):
    """One dict a question, by query_id: what a gate sees and what either decision gives."""
    by_id = {name: {row["query_id"]: row for row in rows} for name, rows in methods.items()}
    found = []
    for query_id in sorted(by_id[DENSE]):
        dense, bm25 = by_id[DENSE][query_id], by_id[BM25][query_id]
        scores = [np.float32(score) for score in dense.get("scores", ())]
        found.append(
            {
                "top1": dense["meta"]["top1_score_before_expansion"],
                "margin": float(scores[0] - scores[1]) if scores else None,
                "concentration": concentration([float(s) for s in scores[:5]]) if scores else None,
                "agree": dense["retrieved_ids"][0] in bm25["retrieved_ids"][:10],
                "dense": hit(dense, k),
                "always": hit(by_id[ALWAYS][query_id], k),
            }
        )
    return found


def opens(policy, threshold, question):
    signal = policy.split("_")[0].replace("score", "top1")
    below = question[signal] < threshold
    if "_or_no" in policy:
        return below or not question["agree"]
    if "_and_no" in policy:
        return below and not question["agree"]
    return below


def gate(policy, threshold, rows):
    """Hits and expanded questions."""
    hits = expanded = 0
    for question in rows:
        if opens(policy, threshold, question):
            expanded += 1
            hits += question["always"]
        else:
            hits += question["dense"]
    return hits, expanded


def choose(grids, rows, budget=None, lower_rate=True):
    best = None
    for policy, thresholds in grids.items():
        for threshold in thresholds:
            hits, expanded = gate(policy, threshold, rows)
            if budget is not None and expanded / len(rows) > budget:
                continue
            key = (-hits, expanded if lower_rate else 0, policy, threshold)
            if best is None or key < best[0]:
                best = (key, policy, threshold, hits / len(rows), expanded / len(rows))
    return best[1:] if best else None


def split(methods, k, grids, budget=None, lower_rate=True):
    """(policy, threshold, train recall, train rate, test recall, test rate, dense test recall, deltas)."""
    rows = questions(methods, k)
    first, second = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    chosen = choose(grids, first, budget, lower_rate)
    if chosen is None:
        return None
    policy, threshold = chosen[:2]
    hits, expanded = gate(policy, threshold, second)
    change = [(q["always"] if opens(policy, threshold, q) else q["dense"]) - q["dense"] for q in second]
    dense = sum(q["dense"] for q in second) / len(second)
    return (*chosen, hits / len(second), expanded / len(second), dense, change)


def leave_one_out(content, k, grids, budget=0.55):
    found = {}
    for seed, methods in content.items():
        others = [q for other, rows in content.items() if other != seed for q in questions(rows, k)]
        chosen = choose(grids, others, budget)
        if chosen is None:
            return None
        own = questions(methods, k)
        hits, expanded = gate(chosen[0], chosen[1], own)
        found[seed] = (*chosen, hits / len(own), expanded / len(own))
    return found


def headroom(methods, k):
    """Dense, always, oracle, helpful, harmful of the second half."""
    rows = questions(methods, k)
    second = rows[len(rows) // 2 :]
    pairs = [(q["dense"], q["always"]) for q in second]
    counts = [
        sum(d for d, _ in pairs),
        sum(a for _, a in pairs),
        sum(d or a for d, a in pairs),
        sum(a and not d for d, a in pairs),
        sum(d and not a for d, a in pairs),
    ]
    return [count / len(second) for count in counts]
