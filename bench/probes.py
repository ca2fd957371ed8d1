"""A chunk as acceptance and fusion find it: questions and traces looked up, nothing judged or fused."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Expanded"]


class Expanded:
    """A chunk of different questions with two traces each, all looked up: what acceptance and fusion see.

    The memory's questions and traces are told apart by spaces behind them, which neither index sees.
    """

    def __init__(self, found: Any, count: int) -> None:
        from sqe_fast._engine.chunk import Chunk, Pass
        from sqe_fast._engine.searcher import Searcher
        from sqe_fast.expand import Expansion
        from sqe_fast.gate import AlwaysGate
        from sqe_fast.methods import QUESTION_BOTH, TRACES, Method
        from sqe_fast.usage import Usage

        plain: dict[str, str] = {}  # of each trace the text that the encoder knows

        class Recorded:
            def expand(self, questions: Sequence[str], K: Any, P: Any, after: Any = 0) -> list[Expansion]:
                del K, P, after
                return [self.one(question) for question in questions]

            def one(self, question: str) -> Expansion:
                name = question.rstrip(" ")
                behind = question[len(name) :]
                traces = tuple(text + behind for text in found.expansions[name]["traces"][:2])
                plain.update(zip(traces, found.expansions[name]["traces"], strict=False))
                return Expansion(question, traces, (), Usage.zeros(1))

        class Spaced:
            name, dim, settings = found.encoder.name, found.encoder.dim, found.encoder.settings

            def encode(self, texts: Sequence[str], kind: str = "document") -> NDArray[np.float32]:
                return found.encoder.encode([plain.get(text, text.rstrip(" ")) for text in texts], kind)

        self._method = Method("bench", "bench", AlwaysGate(), (QUESTION_BOTH,), (TRACES,), k=10)
        rounds = -(-count // len(found.asked))
        asked = [question + " " * n for n in range(rounds) for question in found.asked][:count]
        searcher = Searcher(found.store.snapshot, Spaced(), "Flat", "cpu", None)
        work = Pass([self._method], searcher, Recorded(), None)
        with ThreadPoolExecutor(1) as beside:
            self._asked = work.ask(Chunk(tuple(asked), None), beside)
            expanded = work.expand(self._asked, beside)
            self._table = expanded.table
            group = expanded.groups[0]
            group.pairs |= {("traces", "dense"), ("traces", "bm25")}
            self._rows = self._table.question_rows | group.look_up(self._table)

    def judge(self, rule: str) -> NDArray[np.float64]:
        """Return the weights of all probes, nothing of them known before."""
        from sqe_fast._engine.judging import judge_probes
        from sqe_fast.gate import Accept

        self._table._known.clear()
        which = self._asked.which
        every = np.ones(len(which), np.bool_)
        judged = judge_probes(
            Accept.parse(rule), {"traces": 2, "paraphrases": 0}, which, every, self._rows, self._table
        )
        return judged.weights["traces"]

    def fuse(self, how: Any) -> Any:
        """Return the answers, score rows made anew."""
        from sqe_fast._engine.fuse import Job, fuse

        which = self._asked.which
        own = [self._rows["question", index][which] for index in ("dense", "bm25")]
        traces = [self._rows["traces", index][which] for index in ("dense", "bm25")]
        taken = np.concatenate([*own, np.stack(traces, axis=2).reshape(len(which), -1)], axis=1)
        return fuse([Job(replace(self._method, fusion=how), taken, None)], self._table, None)[0]
