"""Signals of one question in plain Python: lists of (id, score), lists of floats, sets of words."""

from __future__ import annotations

import math
import statistics

import numpy as np

DRAWS, SEED = 4, 7


def best(ranked, k):
    return [score for _, score in ranked[:k]]


def names(ranked, k):
    return [one for one, _ in ranked[:k]]


def dot(a, b):
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def search(documents, vector, k):
    scores = [(-dot(document, vector), row) for row, document in enumerate(documents)]
    return [(row, -score) for score, row in sorted(scores)[:k]]


def shared(first, second):
    longer = max(len(first), len(second))
    return len(set(first) & set(second)) / longer if longer else 0.0


def rbo_ext(first, second, p):
    """Webber et al. 2010, equation 32, summed as it is written."""
    short, long = sorted((first, second), key=len)
    s, l = len(short), len(long)  # noqa: E741
    if not s:
        return 0.0
    X = [len(set(short[:d]) & set(long[:d])) for d in range(l + 1)]
    total = sum(X[d] / d * p**d for d in range(1, l + 1))
    total += sum(X[s] * (d - s) / (s * d) * p**d for d in range(s + 1, l + 1))
    return (1 - p) / p * total + ((X[l] - X[s]) / l + X[s] / s) * p**l


class Store:
    """Vectors and texts as lists."""

    def __init__(self, documents, texts):
        self.documents = [list(map(float, document)) for document in documents]
        self.words = [set(text.lower().split()) for text in texts]
        self.texts = [text.lower().split() for text in texts]
        n = max(1, len(self.documents))
        width = len(documents[0]) if len(documents) else 0
        self.mean = [math.fsum(document[j] for document in self.documents) / n for j in range(width)]

    def df(self, word):
        return sum(word in words for words in self.words)

    def idf(self, word):
        n, df = len(self.words), self.df(word)
        return math.log(1 + (n - df + 0.5) / (df + 0.5))


def top1(q):
    return q.dense[0][1] if q.dense else -math.inf


def margin(q):
    return q.dense[0][1] - q.dense[1][1] if len(q.dense) > 1 else math.inf


def deviation(scores):
    return statistics.pstdev(scores) if len(scores) > 1 else 0.0


def spread(q):
    return deviation(best(q.dense, 10))


def zscores(row):
    mean, width = statistics.fmean(row), statistics.pstdev(row)
    return [(x - mean) / width if width > 1e-9 else 0.0 for x in row]


def fused_spread(q):
    """BM25 (lucene, k1 1.5, b 0.75) of every document, summed as it is written."""
    if not q.store.documents:
        return 0.0
    average = statistics.fmean(len(text) for text in q.store.texts)

    def bm25(text):
        norm = 1.5 * (1 - 0.75 + 0.75 * len(text) / average)
        return math.fsum(
            q.store.idf(word) * text.count(word) / (text.count(word) + norm)
            for word in q.text.lower().split()
        )

    dense = zscores([dot(document, q.vector) for document in q.store.documents])
    words = zscores([bm25(text) for text in q.store.texts])
    return deviation(sorted(map(sum, zip(dense, words, strict=True)))[-10:])


def gap(q):
    scores = best(q.dense, 10)
    return scores[0] - scores[-1] if scores else 0.0


def concentration(q):
    scores = best(q.dense, 5)
    if len(scores) < 2:
        return 1.0
    weights = [math.exp(score) for score in scores]
    shares = [weight / sum(weights) for weight in weights]
    return 1 + sum(share * math.log(share) for share in shares) / math.log(len(scores))


def background(q):
    return dot(q.vector, q.store.mean)


def nqc(q):
    return spread(q) / max(abs(background(q)), 0.01)


def wig(q):
    scores = best(q.dense, 5)
    return statistics.fmean(scores) - background(q) if scores else 0.0


def smv(q):
    scores = best(q.dense, 10)
    mean = statistics.fmean(scores) if scores else 0.0
    if mean <= 0:
        return 0.0
    terms = [s * abs(math.log(s / mean)) if s > 0 else 0.0 for s in scores]
    return statistics.fmean(terms) / max(abs(background(q)), 0.01)


def coherence(q):
    vectors = [q.store.documents[row] for row in names(q.dense, 10)]
    if len(vectors) < 2:
        return 1.0

    def cosine(a, b):
        lengths = math.sqrt(dot(a, a)) * math.sqrt(dot(b, b))
        return dot(a, b) / lengths if lengths else 0.0

    pairs = [(a, b) for i, a in enumerate(vectors) for b in vectors[:i]]
    return statistics.fmean(cosine(a, b) for a, b in pairs)


def feedback(q):
    rows = names(q.dense, 5)
    if not rows:
        return 0.0
    mean = [
        math.fsum(column) / len(rows) for column in zip(*(q.store.documents[r] for r in rows), strict=True)
    ]
    return shared(names(q.dense, 10), names(search(q.store.documents, mean, 10), 10))


def stability(q):
    if not q.dense:
        return 0.0
    dim = len(q.vector)
    noise = np.random.default_rng(SEED).standard_normal((DRAWS, dim)) / math.sqrt(dim)
    length = math.sqrt(dot(q.vector, q.vector))
    lists = [
        search(q.store.documents, [x + length * float(e) for x, e in zip(q.vector, draw, strict=True)], 10)
        for draw in noise
    ]
    return statistics.fmean(shared(names(q.dense, 10), names(one, 10)) for one in lists)


def agreement(q):
    return float(bool(q.dense) and q.dense[0][0] in names(q.bm25, 10))


def top1_agreement(q):
    return float(bool(q.dense) and names(q.dense, 1) == names(q.bm25, 1))


def overlap(q):
    return shared(names(q.dense, 10), names(q.bm25, 10))


def rbo(q):
    return rbo_ext(names(q.dense, 20), names(q.bm25, 20), 0.9)


def bm25_top1(q):
    return q.bm25[0][1] if q.bm25 else 0.0


def bm25_spread(q):
    return deviation(best(q.bm25, 10))


def known(q):
    return [q.store.idf(word) for word in set(q.text.lower().split()) if q.store.df(word)]


def idf_max(q):
    return max(known(q), default=0.0)


def idf_mean(q):
    return statistics.fmean(known(q)) if known(q) else 0.0


def oov(q):
    words = set(q.text.lower().split())
    return sum(not q.store.df(word) for word in words) / len(words) if words else 1.0


def length(q):
    return float(len(q.text.split()))
