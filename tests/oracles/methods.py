"""Methods over whole score rows restated: one question and one list at a time, in double precision."""

from __future__ import annotations

import numpy as np


class Plain:
    """A store's BM25 index, float vectors of its rows, and `vector_of`: text -> vector of a probe."""

    def __init__(self, ids, bm25, vectors, vector_of):
        self.ids = ids
        self.bm25 = bm25
        self.vectors = np.asarray(vectors, np.float64)
        self.vector_of = vector_of
        self.kept = {}

    def row(self, index, text):
        """Return every document's score as float32, which is what the engine keeps."""
        if (index, text) not in self.kept:
            if index == "dense":
                row = self.vectors @ np.asarray(self.vector_of[text], np.float64)
            else:
                row = self.bm25.score_rows([text])[0]
            self.kept[index, text] = np.asarray(row, np.float32)
        return self.kept[index, text]

    def top(self, index, text, depth):
        """Return the best rows of one list; BM25 finds only rows with a score."""
        row = self.row(index, text)
        best = np.argsort(-row, kind="stable")[:depth]
        return [int(i) for i in best if index == "dense" or row[i] != 0]

    def scores(self, lists, weights, how):
        """Return the weighted sum of normalised rows; `lists` holds (index, text)."""
        total = np.zeros(len(self.ids))
        for (index, text), weight in zip(lists, weights, strict=True):
            row = self.row(index, text).astype(np.float64)
            if how == "zscore":
                normal = (row - row.mean()) / row.std() if row.std() > 0 else row * 0
            else:
                height = row.max() - row.min()
                normal = (row - row.min()) / height if height > 0 else row * 0 + 1
            total += weight * normal
        return total

    def ranks(self, lists, weights, depth, constant=60):
        """Return the sums of reciprocal rank fusion; documents that no list holds are left out."""
        total = {}
        for (index, text), weight in zip(lists, weights, strict=True):
            for rank, row in enumerate(self.top(index, text, depth), 1):
                total[row] = total.get(row, 0.0) + weight / (constant + rank)
        return total

    def answer(self, lists, weights=None, how="zscore", k=10, depth=20):
        """Return the best ids."""
        weights = [1.0] * len(lists) if weights is None else weights
        kept = [(one, weight) for one, weight in zip(lists, weights, strict=True) if weight > 0]
        lists, weights = [one for one, _ in kept], [weight for _, weight in kept]
        if len(lists) == 1:
            best = self.top(*lists[0], k)
        elif how == "rrf":
            total = self.ranks(lists, weights, depth)
            best = sorted(total, key=total.__getitem__, reverse=True)[:k]
        else:
            best = np.argsort(-self.scores(lists, weights, how), kind="stable")[:k]
        return tuple(self.ids[row] for row in best)


def drop(scores):
    return min((scores[0] - scores[-1]) / abs(scores[0]), 1.0) if scores else 0.0


def gap(scores):
    if not scores or scores[0] == scores[-1]:
        return 0.0
    return (scores[0] - scores[1]) / (scores[0] - scores[-1])


def spread(scores):
    return float(np.std(scores) / abs(np.mean(scores))) if scores else 0.0


def peak(scores):
    if not scores or np.std(scores) == 0:
        return 0.0
    return float((scores[0] - np.mean(scores)) / np.std(scores))


LIST_SIGNALS = {"drop": drop, "gap": gap, "spread": spread, "peak": peak}


def recall(ids, targets, at):
    return 100 * float(np.mean([t in found[:at] for found, t in zip(ids, targets, strict=True)]))


class Probes:
    """The signals of one probe, restated over a `Plain`; `texts` are those of the store."""

    def __init__(self, plain, texts, tokenize):
        self.plain = plain
        self.tokens = [set(tokenize(text)) for text in texts]
        self.tokenize = tokenize

    def top1(self, index, text):
        best = self.plain.top(index, text, 1)
        return float(self.plain.row(index, text)[best[0]]) if best else -np.inf

    def z(self, index, text):
        row = self.plain.row(index, text).astype(float)
        return (
            (self.top1(index, text) - row.mean()) / row.std() if self.top1(index, text) > -np.inf else -np.inf
        )

    def lift(self, text, question):
        ends = [self.top1(index, one) for index in ("dense", "bm25") for one in (text, question)]
        if ends[0] == -np.inf or ends[2] <= 0:
            return -np.inf
        if ends[3] <= 0:
            return np.inf
        return (ends[0] - ends[1]) / self.plain.row("dense", question).astype(float).std() + np.log2(
            ends[2] / ends[3]
        )

    def idf_share(self, text):
        best = self.plain.top("bm25", text, 1)
        held = whole = 0.0
        for token in set(self.tokenize(text)):
            df = sum(token in document for document in self.tokens)
            idf = np.log(1 + (len(self.tokens) - df + 0.5) / (df + 0.5))
            whole += idf
            held += idf if best and token in self.tokens[best[0]] else 0.0
        return held / whole if whole else 0.0

    def common(self, one, other):
        mine, theirs = self.plain.top(*one, 10), self.plain.top(*other, 10)
        return len(set(mine) & set(theirs)) / max(len(mine), 1)

    def value(self, signal, text, question, others):
        """`others` are the other probes of the same kind."""
        if signal == "agreement":
            shares = [self.common(("dense", text), ("dense", other)) for other in others]
            return max(shares) if shares else np.nan
        if signal == "lift":
            return self.lift(text, question)
        if signal == "overlap":
            return self.common(("dense", text), ("dense", question))
        return {
            "top1": lambda: self.top1("dense", text),
            "bm25_top1": lambda: self.top1("bm25", text),
            "top1_z": lambda: self.z("dense", text),
            "bm25_z": lambda: self.z("bm25", text),
            "idf_share": lambda: self.idf_share(text),
            "dense_bm25": lambda: self.common(("dense", text), ("bm25", text)),
        }[signal]()

    def weight(self, accept, text, question, others):
        weights = []
        for rule in accept.rules:
            value = self.value(rule.signal, text, question, others)
            if rule.over_question:
                value -= self.value(rule.signal, question, question, [])
            if np.isnan(value):
                weights.append(1.0)
            elif rule.width == 0:
                weights.append(float(value >= rule.at_least))
            else:
                share = (value - rule.at_least + rule.width) / (2 * rule.width)
                share = min(max(share, 0.0), 1.0)
                weights.append(3 * share**2 - 2 * share**3)
        return min(weights) if accept.combine == "all" else max(weights)
