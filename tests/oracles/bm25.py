"""BM25 restated from its formulas: whole score rows in double precision, one token of the query at a time."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np


def count_postings(documents):
    """Return for each token the rows that hold it and how often each does."""
    lists = {}
    for row, document in enumerate(documents):
        for token, count in Counter(document).items():
            lists.setdefault(token, []).append((row, count))
    return {
        token: (np.array([row for row, _ in found]), np.array([count for _, count in found], float))
        for token, found in lists.items()
    }


class Oracle:
    """Scores of ready-tokenized documents; `postings` of another oracle of theirs saves counting again."""

    def __init__(self, documents, variant="okapi", k1=1.5, b=0.75, delta=None, epsilon=0.25, postings=None):
        self.variant, self.k1, self.b, self.epsilon = variant, k1, b, epsilon
        self.delta = {"bm25l": 0.5, "bm25+": 1.0}.get(variant, 0.0) if delta is None else delta
        self.n = len(documents)
        self.lengths = np.array([len(document) for document in documents], float)
        self.mean_length = self.lengths.sum() / self.n if self.n else 0.0
        self.postings = count_postings(documents) if postings is None else postings
        self.known = {}  # contributions by token
        self.floor = 0.0
        if variant == "okapi" and self.postings:
            self.floor = (
                epsilon * math.fsum(self.raw_idf(token) for token in self.postings) / len(self.postings)
            )

    def raw_idf(self, token):
        n, df = self.n, len(self.postings[token][0])
        return {
            "okapi": lambda: math.log(n - df + 0.5) - math.log(df + 0.5),
            "lucene": lambda: math.log(1 + (n - df + 0.5) / (df + 0.5)),
            "atire": lambda: math.log(n / df),
            "bm25l": lambda: math.log((n + 1) / (df + 0.5)),
            "bm25+": lambda: math.log((n + 1) / df),
        }[self.variant]()

    def idf(self, token):
        if token not in self.postings:
            return 0.0
        value = self.raw_idf(token)
        return self.floor if self.variant == "okapi" and value < 0 else value

    def contributions(self, token):
        """Return the rows that hold the token and what each gets for one occurrence of it in a query."""
        if token not in self.known:
            self.known[token] = self.count_contributions(token)
        return self.known[token]

    def count_contributions(self, token):
        rows, tf = self.postings.get(token, (np.array([], int), np.array([])))
        norm = 1 - self.b + self.b * self.lengths[rows] / self.mean_length if len(rows) else np.array([])
        if self.variant == "lucene":
            weight = tf / (tf + self.k1 * norm)
        elif self.variant in ("okapi", "atire"):
            weight = tf * (self.k1 + 1) / (tf + self.k1 * norm)
        elif self.variant == "bm25l":
            c = tf / norm + self.delta
            weight = (self.k1 + 1) * c / (self.k1 + c)
        else:
            weight = tf * (self.k1 + 1) / (tf + self.k1 * norm) + self.delta
        return rows, self.idf(token) * weight

    def row(self, query):
        """Return the score of every document, the sum of the absolute values that were added up for it, and
        whether it holds a token of the query."""
        score, size, holds = np.zeros(self.n), np.zeros(self.n), np.zeros(self.n, bool)
        for token in query:
            rows, values = self.contributions(token)
            score[rows] += values
            size[rows] += np.abs(values)
            holds[rows] = True
        return score, size, holds


def close(got, score, size):
    """Whether float32 scores are right to 1e-5 relative, or to rounding where values of both signs cancel."""
    return np.all(np.abs(got - score) <= 1e-5 * np.abs(score) + 1e-12 * size + 2**-149)


def top(scores, holds, k):
    """Return the best k rows of those that hold a token (score descending, row ascending), padded."""
    order = [row for row in np.argsort(-np.asarray(scores), kind="stable") if holds[row]][:k]
    padding = k - len(order)
    return order + [-1] * padding, [scores[row] for row in order] + [-np.inf] * padding
