"""A retriever and a generator that write down what they are asked."""

from __future__ import annotations

from sqe_fast.agent.replay import RecordedPolicy
from sqe_fast.agent.retrievers import IndexRetriever
from sqe_fast.agent.values import Passage

PASSAGES = [
    Passage("emma", "Emma", "Emma is a novel by Jane Austen, first published in December 1815.", 0.0),
    Passage("austen", "Jane Austen", "Jane Austen was born in Steventon in 1775.", 0.0),
    Passage("steventon", "Steventon", "Steventon is a village in Hampshire, England.", 0.0),
    Passage("persuasion", "Persuasion", "Persuasion is the last novel that Jane Austen completed.", 0.0),
]

ONE = ["<think>One look.</think><search>Persuasion</search>", "<think>So.</think><answer>a novel</answer>"]


class NotedIndex(IndexRetriever):
    """An index that keeps each batch of queries."""

    def __init__(self):
        super().__init__(PASSAGES)
        self.batches = []

    def search(self, queries, k):
        self.batches.append(list(queries))
        return super().search(queries, k)


class NotedPolicy(RecordedPolicy):
    """A recording that keeps each batch of requests."""

    def __init__(self, turns=(), **more):
        super().__init__(dict(turns), **more)
        self.batches = []

    def generate(self, requests):
        self.batches.append(list(requests))
        return super().generate(requests)
