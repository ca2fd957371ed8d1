"""Fusion restated in plain Python: one query at a time, dicts and sorted()."""

from __future__ import annotations

import math

import numpy as np

PAD = (-1, -math.inf)


def ranked(scores, k, *, ties="first seen"):
    """Best k of a dict id -> score, padded; returns (ids, scores)."""
    key = (lambda item: -item[1]) if ties == "first seen" else (lambda item: (-item[1], item[0]))
    rows = sorted(scores.items(), key=key)[:k]
    rows += [PAD] * (k - len(rows))
    return [i for i, _ in rows], [float(np.float32(s)) for _, s in rows]


def reference_loop(lists, k, constant=60.0):
    """The loop that rank fusion is usually written as."""
    scores = {}
    for lst in lists:
        for rank, (i, _) in enumerate(lst, 1):
            scores[i] = scores.get(i, 0.0) + 1 / (constant + rank)
    return sorted(scores.items(), key=lambda x: x[1], reverse=True)[:k]


def rrf(lists, k, constant=60.0, weights=None, duplicates="best"):
    scores = {}
    for number, ids in enumerate(lists):
        weight = 1.0 if weights is None else weights[number]
        seen = set()
        for rank, i in enumerate(ids, 1):
            if i == -1 or (duplicates == "best" and i in seen):
                continue
            seen.add(i)
            scores[i] = scores.get(i, 0.0) + weight / (constant + rank)
    return ranked(scores, k)


def normalise(values, how):
    low, high = min(values), max(values)
    if low == high:
        return [1.0 if how == "minmax" else 0.0] * len(values)
    if how == "minmax":
        return [(x - low) / (high - low) for x in values]
    total = 0.0
    for x in values:
        total += x
    mean = total / len(values)
    squares = 0.0
    for x in values:
        squares += (x - mean) * (x - mean)
    deviation = math.sqrt(squares / len(values))
    return [(x - mean) / deviation for x in values]


def fuse_scores(lists, k, how="zscore", weights=None, absent="min"):
    """`lists` holds (id, score) pairs, padding left out."""
    best_of = []
    order = {}
    for lst in lists:
        best = {}
        for i, score in lst:
            best[i] = max(best.get(i, -math.inf), score)
            order[i] = None
        best_of.append(best)
    scores = dict.fromkeys(order, 0.0)
    for number, best in enumerate(best_of):
        if not best:
            continue
        weight = 1.0 if weights is None else weights[number]
        given = dict(zip(best, normalise(list(best.values()), how), strict=True))
        missing = min(given.values()) if absent == "min" else 0.0
        for i in scores:
            scores[i] += weight * given.get(i, missing)
    return ranked(scores, k)


def lane_sum(values):
    """Sum over 16 lanes, then pairwise over the lanes: the kernel's fixed order."""
    lanes = [0.0] * 16
    for i, x in enumerate(values):
        lanes[i % 16] += x
    for half in (8, 4, 2, 1):
        for i in range(half):
            lanes[i] += lanes[i + half]
    return lanes[0]


def fuse_rows(rows, k, how="zscore", weights=None):
    """`rows` is [lists][n_docs] of floats."""
    n_docs = len(rows[0]) if len(rows) else 0
    totals = [0.0] * n_docs
    for number, row in enumerate(rows):
        weight = 1.0 if weights is None else weights[number]
        low, high = min(row), max(row)
        if low == high:
            parts = [1.0 if how == "minmax" else 0.0] * n_docs
        elif how == "minmax":
            parts = [(x - low) / (high - low) for x in row]
        else:
            mean = lane_sum(row) / n_docs
            deviation = math.sqrt(lane_sum([(x - mean) * (x - mean) for x in row]) / n_docs)
            parts = [(x - mean) / deviation for x in row]
        totals = [t + weight * p for t, p in zip(totals, parts, strict=True)]
    return ranked(dict(enumerate(totals)), k)


def merge_topk(lists, k):
    best = {}
    for lst in lists:
        for i, score in lst:
            best[i] = max(best.get(i, -math.inf), score)
    return ranked(best, k, ties="id")
