"""Recall, rank and cost of rows; outcomes of one method against another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sqe_fast._checks import check_int
from sqe_fast.errors import InvalidInputError
from sqe_fast.experiment.rows import Experiment, MethodRows, SeedRows

__all__ = [
    "Cost",
    "NotInRowsError",
    "Outcomes",
    "Summary",
    "cost_of",
    "methods_of",
    "mrr",
    "outcomes",
    "paired_deltas",
    "recall",
    "recall_by_seed",
    "rows_of",
    "summarize",
]


class NotInRowsError(InvalidInputError):
    """The rows at hand do not hold what a table needs."""


class Summary(NamedTuple):
    """A mean over seeds and the standard deviation of the sample (n - 1); nan of fewer than two."""

    mean: float
    deviation: float


@dataclass(frozen=True)
class Cost:
    """Averages over the queries of one method.

    Attributes
    ----------
    queries : int
    expansion_rate : float
        Share of the queries that were expanded.
    lists : float
        Ranked lists that were fused; nan where the rows do not say.
    calls, prompt_tokens, completion_tokens, cached_tokens : float
        Of the language model.
    seconds : float
        nan where not all rows say.
    """

    queries: int
    expansion_rate: float
    lists: float
    calls: float
    prompt_tokens: float
    completion_tokens: float
    cached_tokens: float
    seconds: float

    @property
    def total_tokens(self) -> float:
        """Prompt and completion together."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def measured(self) -> bool:
        """Whether tokens were counted: a method that expands and counts none was not measured."""
        return self.expansion_rate == 0 or self.total_tokens > 0


@dataclass(frozen=True)
class Outcomes:
    """How many queries of a method and of a baseline hit the target within k.

    `wins` are hits of the method alone, `losses` of the baseline alone; `expanded_wins` and
    `expanded_losses` those of queries that the method expanded.
    """

    both_hit: int
    wins: int
    losses: int
    both_miss: int
    expanded_wins: int
    expanded_losses: int

    @property
    def queries(self) -> int:
        """All of them."""
        return self.both_hit + self.wins + self.losses + self.both_miss

    def __add__(self, other: Outcomes) -> Outcomes:
        return Outcomes(
            *(getattr(self, name) + getattr(other, name) for name in Outcomes.__dataclass_fields__)
        )


def rows_of(seed: SeedRows, method: str) -> MethodRows:
    """Return the rows of a method, or raise `NotInRowsError`."""
    if method not in seed.methods:
        raise NotInRowsError(f"seed {seed.seed} has no rows of {method}")
    return seed.methods[method]


def methods_of(experiment: Experiment) -> tuple[str, ...]:
    """Return the methods that every seed has, in the order of the first."""
    first, *rest = experiment.seeds
    return tuple(name for name in first.methods if all(name in seed.methods for seed in rest))


def recall(rows: MethodRows, k: int) -> float:
    """Return the share of queries whose target is among the first k hits."""
    return float(np.count_nonzero(rows.hit(k))) / len(rows)


def mrr(rows: MethodRows) -> float:
    """Return the mean reciprocal rank of the target among the hits that were kept; 0 where it is not."""
    found = rows.rank[rows.rank > 0]
    return math.fsum((1.0 / found).tolist()) / len(rows)


def recall_by_seed(experiment: Experiment, method: str, k: int) -> NDArray[np.float64]:
    """Return float64[seeds]: recall within k of one method on each seed."""
    check_int("k", k, 1)
    return np.array([recall(rows_of(seed, method), k) for seed in experiment.seeds])


def summarize(values: Sequence[float] | NDArray[np.float64]) -> Summary:
    """Return the mean of `values` and their deviation.

    Examples
    --------
    >>> summarize([0.4, 0.6])
    Summary(mean=0.5, deviation=0.14142135623730948)
    """
    numbers = [float(value) for value in values]
    mean = math.fsum(numbers) / len(numbers)
    if len(numbers) < 2:
        return Summary(mean, math.nan)
    squares = math.fsum((number - mean) ** 2 for number in numbers)
    return Summary(mean, math.sqrt(squares / (len(numbers) - 1)))


def outcomes(ours: MethodRows, baseline: MethodRows, k: int) -> Outcomes:
    """Count who hits and who misses, over aligned rows."""
    a, b = ours.hit(k), baseline.hit(k)
    win, loss = a & ~b, b & ~a

    def count(mask: NDArray[np.bool_]) -> int:
        return int(np.count_nonzero(mask))

    opened = ours.expanded
    return Outcomes(
        count(a & b), count(win), count(loss), count(~a & ~b), count(win & opened), count(loss & opened)
    )


def paired_deltas(experiment: Experiment, ours: str, baseline: str, k: int) -> NDArray[np.int8]:
    """Return int8[all queries]: 1 where only `ours` hits, -1 where only `baseline` does, else 0."""
    parts = [
        rows_of(seed, ours).hit(k).astype(np.int8) - rows_of(seed, baseline).hit(k).astype(np.int8)
        for seed in experiment.seeds
    ]
    return np.concatenate(parts)


def cost_of(parts: Sequence[MethodRows]) -> Cost:
    """Return the averages over all queries of one method, of all the seeds given."""
    n = sum(len(rows) for rows in parts)

    def average(values: Sequence[NDArray[np.int64]]) -> float:
        return sum(int(one.sum()) for one in values) / n

    lists: list[Any] = [
        (row.get("meta") or {}).get("n_ranked_lists_fused") for rows in parts for row in rows.raw
    ]
    seconds = np.concatenate([rows.seconds for rows in parts])
    return Cost(
        queries=n,
        expansion_rate=sum(int(rows.expanded.sum()) for rows in parts) / n,
        lists=math.nan if any(one is None for one in lists) else sum(lists) / n,
        calls=average([rows.calls for rows in parts]),
        prompt_tokens=average([rows.prompt_tokens for rows in parts]),
        completion_tokens=average([rows.completion_tokens for rows in parts]),
        cached_tokens=average([rows.cached_tokens for rows in parts]),
        seconds=math.fsum(seconds.tolist()) / n if not np.isnan(seconds).any() else math.nan,
    )
