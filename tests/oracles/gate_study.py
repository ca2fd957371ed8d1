"""Gates judged, restated: loops over questions, permutations and pairs."""

from __future__ import annotations

import math
from itertools import pairwise, permutations


def key(score):
    """NaN behind everything."""
    return (1, 0.0) if math.isnan(score) else (0, score)


def recall_of_order(order, base, gain, costs, spend):
    """Recall when questions are expanded in this order until `spend` is spent, the last one in part."""
    left, gained = spend, 0.0
    for question in order:
        cost = costs[question]
        part = 1.0 if cost <= left else left / cost if cost else 1.0
        if part <= 0 and cost > 0:
            break
        gained += part * gain[question]
        left -= part * cost
        if part < 1:
            break
    return (sum(base) + gained) / len(base)


def expected_recall(scores, base, gain, costs, budget):
    """The mean over every order that the scores allow; for a handful of questions only."""
    spend = budget * sum(costs)
    n = len(scores)
    allowed = [
        order
        for order in permutations(range(n))
        if all(key(scores[a]) <= key(scores[b]) for a, b in pairwise(order))
    ]
    return sum(recall_of_order(order, base, gain, costs, spend) for order in allowed) / len(allowed)


def weights(scores, costs, budget):
    """Groups of equal score from the lowest on, each in full, in part, or not."""
    left = budget * sum(costs)
    found = [0.0] * len(scores)
    for value in sorted({key(score) for score in scores}):
        group = [i for i, score in enumerate(scores) if key(score) == value]
        cost = sum(costs[i] for i in group)
        part = min(1.0, max(0.0, left / cost))
        for i in group:
            found[i] = part
        left -= part * cost
    return found


def best_recall(base, gain, costs, budget):
    """The best recall of any set of questions that fits the budget, the oracle's last question in part."""
    helped = sorted(costs[i] for i in range(len(base)) if gain[i] > 0)
    left, gained = budget * sum(costs), 0.0
    for cost in helped:
        part = 1.0 if cost <= left else left / cost
        gained += part
        left -= part * cost
        if part < 1:
            break
    return (sum(base) + gained) / len(base)


def auc(scores, positive):
    won = pairs = 0
    for score, yes in zip(scores, positive, strict=True):
        for other, no in zip(scores, positive, strict=True):
            if yes and not no:
                pairs += 1
                won += 1.0 if key(score) < key(other) else 0.5 if key(score) == key(other) else 0.0
    return won / pairs if pairs else math.nan
