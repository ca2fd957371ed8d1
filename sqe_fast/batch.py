"""What the engine returns for a batch of questions: hits, and how each came about."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqe_fast.errors import InvalidInputError
from sqe_fast.gate.probe_signals import PROBE_KINDS
from sqe_fast.hits import Hits
from sqe_fast.methods import Method, probe_name
from sqe_fast.usage import Usage

__all__ = ["ROOMS", "SearchBatch"]

ROOMS = ("encode", "search", "gate", "expand", "fuse")


@dataclass(frozen=True, eq=False)
class SearchBatch:
    """The answers of one method to n questions.

    Attributes
    ----------
    method : Method
        With all its numbers.
    questions : tuple of str
        As they were asked.
    hits : Hits
        ids int32[n, k] (rows of the snapshot) and scores float32[n, k]: of reciprocal rank fusion where
        several lists were fused, else the single list's own.
    ids : tuple of tuple of str
        The store's ids of the hits of each question, without padding.
    gated : bool[n]
        Where the gate decided to expand.
    signals : mapping of str to float32[n]
        What the gate could see, and what the caller asked for, by name.
    lists : tuple of str
        The lists that may take part, in the order of fusion, such as "trace 1 bm25".
    lengths : int32[n, len(lists)]
        How many hits of each list took part (0: it found none), or -1 where it did not: the gate did not ask
        for it, or it could not be made.
    problems : tuple of (str or None)
        Why lists that were asked for are missing, as in "traces: time-out".
    usage : Usage
        Calls and tokens of each question. A question that repeats within a chunk costs at its first place.
    seconds : mapping of str to float
        Wall time in each room (`ROOMS`) and "total". Rooms work at the same time, so they may sum to more
        than the total; what several methods share counts in full for each.
    weights : float32[n, len(lists)]
        With what weight each list took part; 0 where it did not, whether it is missing or was refused.
    refused : tuple of mapping of str to str
        For each question the probes that the method's rules refused, and why: ``{"trace 1": "top1 0.412 <
        0.6"}``. Their lists took no part.
    evidence : mapping of str to float32[n, K + P]
        By the text of each rule, what it saw of each probe, traces first; NaN where there is no probe.
    steps : int32[n]
        Steps of generation that each question went through: at most 1, or the stages of a cascade and 1.
    """

    method: Method
    questions: tuple[str, ...]
    hits: Hits
    ids: tuple[tuple[str, ...], ...]
    gated: NDArray[np.bool_]
    signals: Mapping[str, NDArray[np.float32]]
    lists: tuple[str, ...]
    lengths: NDArray[np.int32]
    problems: tuple[str | None, ...]
    usage: Usage
    seconds: Mapping[str, float]
    weights: NDArray[np.float32] = None  # type: ignore[assignment]  # from `lengths`
    refused: tuple[Mapping[str, str], ...] = None  # type: ignore[assignment]  # none
    evidence: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    steps: NDArray[np.int32] = None  # type: ignore[assignment]  # 1 where `expanded`

    def __post_init__(self) -> None:
        n = len(self.questions)
        if self.weights is None:
            object.__setattr__(self, "weights", (self.lengths >= 0).astype(np.float32))
        if self.refused is None:
            object.__setattr__(self, "refused", ({},) * n)
        if self.steps is None:
            object.__setattr__(self, "steps", self.expanded.astype(np.int32))
        sizes = {
            "hits": len(self.hits),
            "ids": len(self.ids),
            "gated": len(self.gated),
            "lengths": len(self.lengths),
            "problems": len(self.problems),
            "usage": len(self.usage),
            "weights": len(self.weights),
            "refused": len(self.refused),
            "steps": len(self.steps),
            **{f"evidence[{name!r}]": len(values) for name, values in self.evidence.items()},
            **{f"signals[{name!r}]": len(values) for name, values in self.signals.items()},
        }
        for name, size in sizes.items():
            if size != n:
                raise InvalidInputError(f"SearchBatch: {name} must have one row a question, {n}; got {size}")

    @classmethod
    def concat(cls, parts: Sequence[SearchBatch]) -> SearchBatch:
        """Join batches of one method, in order; at least one."""
        if not parts:
            raise InvalidInputError("SearchBatch.concat: at least one batch is needed")
        first = parts[0]
        if any(part.method != first.method for part in parts):
            raise InvalidInputError("SearchBatch.concat: the batches must be of one method")
        if len(parts) == 1:
            return first
        return cls(
            method=first.method,
            questions=tuple(question for part in parts for question in part.questions),
            hits=Hits(
                np.concatenate([part.hits.ids for part in parts]),
                np.concatenate([part.hits.scores for part in parts]),
            ),
            ids=tuple(ids for part in parts for ids in part.ids),
            gated=np.concatenate([part.gated for part in parts]),
            signals={name: np.concatenate([part.signals[name] for part in parts]) for name in first.signals},
            lists=first.lists,
            lengths=np.concatenate([part.lengths for part in parts]),
            problems=tuple(problem for part in parts for problem in part.problems),
            usage=Usage.concat([part.usage for part in parts]),
            seconds={name: sum(part.seconds[name] for part in parts) for name in first.seconds},
            weights=np.concatenate([part.weights for part in parts]),
            refused=tuple(reasons for part in parts for reasons in part.refused),
            evidence={
                rule: np.concatenate([part.evidence[rule] for part in parts]) for rule in first.evidence
            },
            steps=np.concatenate([part.steps for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.questions)

    @property
    def expanded(self) -> NDArray[np.bool_]:
        """bool[n]: where lists of an expansion took part: gated, and something came of it."""
        probes = [column for column, name in enumerate(self.lists) if not name.startswith("question")]
        expanded: NDArray[np.bool_] = np.any(self.lengths[:, probes] >= 0, axis=1)
        return expanded

    def took_part(self, question: int) -> tuple[str, ...]:
        """Return the names of the lists that took part in the answer to one question."""
        return tuple(
            name for name, length in zip(self.lists, self.lengths[question], strict=True) if length >= 0
        )

    @property
    def probes(self) -> tuple[str, ...]:
        """The names of the probes that may be made: the columns of `evidence`."""
        counts = zip(PROBE_KINDS, self.method.wants, strict=True)
        return tuple(probe_name(kind, number) for kind, count in counts for number in range(count))

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield one plain record a question, which JSON can hold (a value that is not finite is None)."""
        expanded = self.expanded
        for i, (question, ids) in enumerate(zip(self.questions, self.ids, strict=True)):
            yield {
                "question": question,
                "method": self.method.name,
                "hits": [
                    {"rank": rank, "id": name, "score": float(score)}
                    for rank, (name, score) in enumerate(zip(ids, self.hits.scores[i], strict=False), 1)
                ],
                "gated": bool(self.gated[i]),
                "expanded": bool(expanded[i]),
                "signals": {name: _number(values[i]) for name, values in self.signals.items()},
                "lists": list(self.took_part(i)),
                "weights": self.weights[i][self.lengths[i] >= 0].tolist(),
                "refused": dict(self.refused[i]),
                "evidence": {
                    rule: dict(zip(self.probes, map(_number, values[i]), strict=True))
                    for rule, values in self.evidence.items()
                },
                "steps": int(self.steps[i]),
                "problem": self.problems[i],
                "llm_calls": int(self.usage.calls[i]),
                "prompt_tokens": int(self.usage.prompt_tokens[i]),
                "cached_tokens": int(self.usage.cached_tokens[i]),
                "completion_tokens": int(self.usage.completion_tokens[i]),
                "estimated_tokens": self.usage.estimated,
            }


def _number(value: np.float32) -> float | None:
    number = float(value)
    return number if math.isfinite(number) else None
