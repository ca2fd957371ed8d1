"""A stand-in for a roller, whose rollouts follow from the question alone."""

from __future__ import annotations

from collections.abc import Sequence

from sqe_fast.agent.values import Passage, Rollout, SearchTurn, Segment
from sqe_fast.usage import Usage

SETTINGS = {"system": "Stand-in", "policy": "none", "budgets": {"prompt": 4096}}


class StandIn:
    """Answers "Paris" after one search; one question of its list fails, one stops without an answer."""

    def __init__(
        self, failing: Sequence[str] = (), silent: Sequence[str] = (), killed_after: int | None = None
    ):
        self.failing, self.silent = set(failing), set(silent)
        self.batches: list[list[str]] = []
        self._killed_after = killed_after

    def run(self, questions, ids=None):
        if self._killed_after is not None and len(self.batches) == self._killed_after:
            raise KeyboardInterrupt
        self.batches.append(list(questions))
        return [self._one(question, name) for question, name in zip(questions, ids, strict=True)]

    def _one(self, question, name):
        none = Usage.zeros(1)
        if question in self.failing:
            segments = (Segment("prompt", question, 3),)
            return Rollout(
                name, question, segments, (), None, False, "failed", none, none, none, problem="no such luck"
            )
        hits = (
            (
                Passage("w1", "Paris", "It is the capital of France.", 2.0),
                Passage("w2", "", "x\x1b[31m", 1.0),
            ),
        )
        turn = SearchTurn((question,), hits, "(1) Paris", squeezed=True, problem="one passage was cut")
        answer = None if question in self.silent else "the Paris!"
        segments = (
            Segment("prompt", f"Answer this: {question}", 5),
            Segment("policy", f"<think>look\nit up</think><search>{question}</search>", 9),
            Segment("observation", "<information>(1) Paris\x1b[31m</information>", 4),
            Segment("policy", f"<answer>{answer}</answer>" if answer else "I do not know", 3),
        )
        return Rollout(
            name,
            question,
            segments,
            (turn,),
            answer,
            answer is not None,
            "answer" if answer else "none",
            Usage.of([2], [40], [10], [12]),
            Usage.of([1], [30], [0], [6]),
            none,
            seconds={"policy": 0.5, "search": 0.25, "squeeze": 0.25},
        )
