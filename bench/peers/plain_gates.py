"""Gates tried after the fact in plain Python: every question is looked at for every threshold."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["Question", "leave_one_out", "sweep"]

Question = tuple[float, bool, bool]
"""The top-1 score of a question, and whether its dense and its expanded list hit."""

Choice = tuple[float, float, float]
"""A threshold, and the recall and the expansion rate that it gives."""


def sweep(questions: Sequence[Question], thresholds: Sequence[float]) -> list[tuple[int, int]]:
    """Return hits and expanded questions at each threshold."""
    found = []
    for threshold in thresholds:
        hits = expanded = 0
        for score, dense, always in questions:
            if score < threshold:
                expanded += 1
                hits += always
            else:
                hits += dense
        found.append((hits, expanded))
    return found


def leave_one_out(
    seeds: Sequence[Sequence[Question]], thresholds: Sequence[float], budget: float
) -> list[Choice]:
    """For each seed choose the best threshold of the others within the budget, and try it on the seed."""
    chosen = []
    for left, own in enumerate(seeds):
        others = [question for seed, rows in enumerate(seeds) if seed != left for question in rows]
        best: tuple[int, int, float] | None = None
        for threshold, (hits, expanded) in zip(thresholds, sweep(others, thresholds), strict=True):
            key = (-hits, expanded, threshold)
            if expanded <= budget * len(others) and (best is None or key < best):
                best = key
        if best is None:
            raise ValueError("no threshold is within the budget")
        hits, expanded = sweep(own, [best[2]])[0]
        chosen.append((best[2], hits / len(own), expanded / len(own)))
    return chosen
