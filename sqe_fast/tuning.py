"""Weights of lists, tuned on questions whose answers are known.

Tune on one split and judge on another: what is best here is best by a little luck too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import log2, prod

import numpy as np
from numpy.typing import NDArray

from sqe_fast._checks import check_int, check_number, describe
from sqe_fast.engine import Engine
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.fusion import MAX_WEIGHT
from sqe_fast.methods import Method, get_method

__all__ = ["Tuned", "tune_weights"]

MAX_CANDIDATES = 4096
GRID = (0.5, 1.0, 2.0)
PATTERNS = ("question bm25", "trace * dense", "trace * bm25", "paraphrase *")


@dataclass(frozen=True, eq=False)
class Tuned:
    """The outcome of a search over weights.

    Attributes
    ----------
    method : Method
        The one that was tuned, with the best weights.
    patterns : tuple of str
        The lists that each weight is for.
    grid : float64[candidates, patterns]
        Every combination that was tried.
    recall : float64[candidates]
        The share of questions with a target among the first `at` hits.
    reciprocal_rank : float64[candidates]
        The mean of 1 / rank of the first target, 0 where none is found.
    best : int
        The place of the best: the most recall, then the largest reciprocal rank, then the weights nearest to
        1 (the least sum of ``|log2 w|``, a weight of 0 counting as 2^-8), then the first.
    """

    method: Method
    patterns: tuple[str, ...]
    grid: NDArray[np.float64]
    recall: NDArray[np.float64]
    reciprocal_rank: NDArray[np.float64]
    best: int

    @property
    def weights(self) -> dict[str, float]:
        """The best weights by pattern."""
        return dict(zip(self.patterns, self.grid[self.best].tolist(), strict=True))


def tune_weights(
    engine: Engine,
    questions: Iterable[str],
    targets: Iterable[str | Collection[str]],
    method: str | Method,
    grid: Mapping[str, Sequence[float]] | None = None,
    at: int = 5,
) -> Tuned:
    """Find the weights of a method's lists that find the most.

    Every combination is a method of one `Engine.search_methods`: each text is encoded, generated and looked
    up once, and each question's score rows are made once. What fusion, gate and acceptance do is what they do
    in a search.

    Parameters
    ----------
    questions, targets
        n questions, and the id or ids that answer each.
    method
        With several lists; its own weights are replaced.
    grid : mapping of str to sequence of float, optional
        For each pattern of names of lists (see `Method.weights`) the weights to be tried, at most 4,096
        combinations. By default 0.5, 1 and 2 for the lists of BM25 of the question, dense and BM25 lists of
        traces, and paraphrases, as far as the method has them, against the question's dense list.
    at : int
        Hits that count, at most the method's k.

    Raises
    ------
    InvalidInputError, InvalidTypeError
        An argument is not allowed, or there are no questions.

    Examples
    --------
    >>> tuned = tune_weights(engine, questions, targets, "hybrid")  # doctest: +SKIP
    >>> engine.search(others, tuned.method)  # doctest: +SKIP
    """
    chosen = get_method(method)
    check_int("at", at, 1, chosen.k)
    values = _grid(chosen, grid)
    patterns = tuple(values)
    table = np.array(list(product(*values.values())), np.float64).reshape(-1, len(patterns))
    candidates = [
        replace(chosen, name=str(number), weights=dict(zip(patterns, weights, strict=True)))
        for number, weights in enumerate(table.tolist())
    ]
    asked, aims = list(questions), [_ids(position, aim) for position, aim in enumerate(targets)]
    if not asked or len(asked) != len(aims):
        raise InvalidInputError(
            f"questions and targets must be of one length, at least 1; got {len(asked)} and {len(aims)}"
        )
    found = engine.search_methods(asked, candidates, targets=aims)
    ranks = np.array([_ranks(batch.ids, aims) for batch in found.values()])
    recall = ((ranks > 0) & (ranks <= at)).mean(1)
    reciprocal = np.where(ranks > 0, 1.0 / np.maximum(ranks, 1), 0.0).mean(1)
    effort = np.array([sum(abs(log2(max(w, 2.0**-8))) for w in weights) for weights in table.tolist()])
    # Sums of so many shares may differ in the last bit and still be equal.
    best = int(np.lexsort((effort.round(9), -reciprocal.round(9), -recall.round(9)))[0])
    return Tuned(
        replace(chosen, weights=dict(zip(patterns, table[best].tolist(), strict=True))),
        patterns,
        table,
        recall,
        reciprocal,
        best,
    )


def _grid(method: Method, grid: Mapping[str, Sequence[float]] | None) -> dict[str, list[float]]:
    if len(method.list_names) < 2:
        raise InvalidInputError(f"{method.name} has one list, so there is nothing to weigh")
    if grid is None:
        there = [pattern for pattern in PATTERNS if _moves(method, pattern)]
        return {pattern: list(GRID) for pattern in there}
    if not isinstance(grid, Mapping):
        raise InvalidTypeError(f"grid must map names of lists to weights; got {describe(grid)}")
    values = {
        pattern: [check_number(f"grid[{pattern!r}]", weight, 0, MAX_WEIGHT) for weight in weights]
        for pattern, weights in grid.items()
    }
    for pattern in values:
        if not isinstance(pattern, str) or not _moves(method, pattern):
            names = ", ".join(method.list_names)
            raise InvalidInputError(f"grid: {pattern!r} fits no list of {method.name}; there are {names}")
    number = prod(len(weights) for weights in values.values())
    if not values or not 1 <= number <= MAX_CANDIDATES:
        raise InvalidInputError(f"grid must hold 1 to {MAX_CANDIDATES} combinations; got {number}")
    return values


def _moves(method: Method, pattern: str) -> bool:
    """Whether any list has this pattern's weight."""
    # 2 for what fits, beside a positive weight for all others, so that any pattern is legal here.
    return 2.0 in replace(method, weights=((pattern, 2.0), ("*", 1.0))).list_weights


def _ids(position: int, aim: str | Collection[str]) -> tuple[str, ...]:
    ids = (aim,) if isinstance(aim, str) else tuple(aim) if isinstance(aim, Collection) else (aim,)
    if not all(isinstance(one, str) for one in ids):
        raise InvalidTypeError(
            f"targets[{position}] must be an id or a collection of ids; got {describe(aim)}"
        )
    return ids


def _ranks(ids: Sequence[Sequence[str]], aims: Sequence[Sequence[str]]) -> list[int]:
    """Return the rank of the first target of each question, 0 where none is among the hits."""
    return [
        next((rank for rank, name in enumerate(row, 1) if name in wanted), 0)
        for row, wanted in zip(ids, map(set, aims), strict=True)
    ]
