"""The SQE protocol restated: one question at a time, rank_bm25, numpy, dicts of string ids.

Two things are defined here as in the engine, since the protocol's own code leaves them to chance:

- equal scores stand in the order of the store (rank_bm25 users argsort without a stable order);
- a BM25 list holds documents with at least one of the query's tokens, and so may be short: argsort over
  all scores would fill it with documents of score 0, which match nothing.

Inner products are summed in double precision and rounded to single, so that they do not depend on a BLAS.
"""

from __future__ import annotations

import random
from itertools import islice

import numpy as np
from rank_bm25 import BM25Okapi


class QuickOkapi(BM25Okapi):
    """BM25Okapi with its own `get_scores`, less the loop over all documents for each token.

    The same sums of the same terms in the same order: to the last bit what rank_bm25 gives (tested).
    """

    def __init__(self, corpus):
        super().__init__(corpus)
        self.lengths = np.array(self.doc_len)
        postings = {}
        for row, counts in enumerate(self.doc_freqs):
            for token, count in counts.items():
                postings.setdefault(token, []).append((row, count))
        self.postings = {token: np.array(pairs).T for token, pairs in postings.items()}

    def get_scores(self, query):
        score = np.zeros(self.corpus_size)
        for token in query:
            frequency = np.zeros(self.corpus_size, int)
            if token in self.postings:
                rows, counts = self.postings[token]
                frequency[rows] = counts
            score += (self.idf.get(token) or 0) * (
                frequency
                * (self.k1 + 1)
                / (frequency + self.k1 * (1 - self.b + self.b * self.lengths / self.avgdl))
            )
        return score


class Reference:
    """A store of `texts` with string `ids`; `vectors` float[n, dim] and `vector_of` a dict of probes."""

    def __init__(self, ids, texts, vectors, vector_of, expansions, depth=20, constant=60):
        tokens = [text.lower().split() for text in texts]
        self.ids = ids
        self.bm25 = QuickOkapi(tokens)
        self.tokens = [set(document) for document in tokens]
        self.vectors = np.asarray(vectors, np.float64)
        self.vector_of = vector_of
        self.expansions = expansions
        self.depth = depth
        self.constant = constant
        self.kept = {}

    def dense_list(self, text):
        if ("dense", text) not in self.kept:
            scores = (self.vectors @ np.asarray(self.vector_of[text], np.float64)).astype(np.float32)
            best = np.argsort(-scores, kind="stable")[: self.depth]
            self.kept["dense", text] = [(self.ids[row], float(scores[row])) for row in best]
        return self.kept["dense", text]

    def bm25_list(self, text):
        if ("bm25", text) not in self.kept:
            query = text.lower().split()
            scores = self.bm25.get_scores(query)
            order = np.argsort(-scores, kind="stable")
            matching = (row for row in order if not self.tokens[row].isdisjoint(query))
            best = islice(matching, self.depth)
            self.kept["bm25", text] = [(self.ids[row], float(scores[row])) for row in best]
        return self.kept["bm25", text]

    def fuse(self, lists, k):
        if len(lists) == 1:
            return [name for name, _ in lists[0][:k]]
        sums = {}
        for ranked in lists:
            for rank, (name, _) in enumerate(ranked, 1):
                sums[name] = sums.get(name, 0.0) + 1 / (self.constant + rank)
        return [name for name, _ in sorted(sums.items(), key=lambda item: item[1], reverse=True)[:k]]

    def expanded(self, question, traces=True, paraphrases=True):
        made = self.expansions[question]
        lists = [self.dense_list(question)]
        if traces:
            for trace in made["traces"][:2]:
                lists += [self.dense_list(trace), self.bm25_list(trace)]
        if paraphrases:
            lists += [self.dense_list(paraphrase) for paraphrase in made["paraphrases"][:2]]
        return lists

    def dense(self, questions, k):
        return [self.fuse([self.dense_list(q)], k) for q in questions]

    def bm25_only(self, questions, k):
        return [self.fuse([self.bm25_list(q)], k) for q in questions]

    def hybrid(self, questions, k):
        return [self.fuse([self.dense_list(q), self.bm25_list(q)], k) for q in questions]

    def paraphrases(self, questions, k):
        return [self.fuse(self.expanded(q, traces=False), k) for q in questions]

    def traces(self, questions, k):
        return [self.fuse(self.expanded(q, paraphrases=False), k) for q in questions]

    def always(self, questions, k):
        return [self.fuse(self.expanded(q), k) for q in questions]

    def gated(self, questions, k, mask):
        return [
            self.fuse(self.expanded(q) if yes else [self.dense_list(q)], k)
            for q, yes in zip(questions, mask, strict=True)
        ]

    def random_mask(self, questions, rate=0.46, seed=42):
        rng = random.Random(seed)
        return [rng.random() < rate for _ in questions]

    def sqe_mask(self, questions, threshold=0.65):
        return [self.dense_list(q)[0][1] < threshold for q in questions]

    def oracle_mask(self, questions, targets, at=5):
        pairs = zip(self.always(questions, at), self.dense(questions, at), targets, strict=True)
        return [target in yes and target not in no for yes, no, target in pairs]
