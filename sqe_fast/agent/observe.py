"""The search room and the squeeze room: all queries of a step in one search, all observations in one call."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from sqe_fast._checks import describe
from sqe_fast.agent.passages import format_found
from sqe_fast.agent.squeeze import Squeezed, Squeezer
from sqe_fast.agent.values import Asking, ContextRetriever, Found, Passage, Retriever, SearchTurn
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.usage import Usage

__all__ = ["NO_QUERY", "Observation", "Observer"]

NO_QUERY = "The search held no query."


@dataclass(frozen=True)
class Observation:
    """One search turn, and what it cost in language models; None where none was asked."""

    turn: SearchTurn
    usage_search: Usage | None = None
    usage_compressor: Usage | None = None


class Observer:
    """Answers the searches of many questions together.

    Parameters
    ----------
    retriever : Retriever
    k : int
        Passages a query.
    squeezer : Squeezer, optional
        Writes the observations; None: they are the passages.

    Attributes
    ----------
    retriever, k, squeezer
        As given.
    seconds : dict of str to float
        Wall time of the last call in "search" and "squeeze".
    """

    def __init__(self, retriever: Retriever, k: int, squeezer: Squeezer | None = None) -> None:
        if not hasattr(retriever, "search") and not isinstance(retriever, ContextRetriever):
            raise InvalidTypeError(f"retriever must have a method search; got {describe(retriever)}")
        self.retriever = retriever
        self.k = k
        self.squeezer = squeezer
        self.seconds = {"search": 0.0, "squeeze": 0.0}

    def observe(self, searches: Sequence[tuple[str, ...]], askings: Sequence[Asking]) -> list[Observation]:
        """Return one observation for each search, which is a tuple of queries.

        One call of the retriever for all queries, repeated ones once where the retriever does not look at who
        asks; one call of the compressor. A search without queries finds nothing and says so.
        """
        began = time.perf_counter()
        found = self._found(searches, askings)
        searched = time.perf_counter()
        turns = list(zip(searches, found, strict=True))
        squeezed = self._squeezed(turns)
        self.seconds = {"search": searched - began, "squeeze": time.perf_counter() - searched}
        return [_observation(*turn, one) for turn, one in zip(turns, squeezed, strict=True)]

    def _found(
        self, searches: Sequence[tuple[str, ...]], askings: Sequence[Asking]
    ) -> list[list[list[Passage]]]:
        queries = list(chain.from_iterable(searches))
        if not queries:
            return [[] for _ in searches]
        lists: Sequence[list[Passage]]
        if isinstance(self.retriever, ContextRetriever):
            owners = [asking for search, asking in zip(searches, askings, strict=True) for _ in search]
            lists = self.retriever.search_for(queries, self.k, owners)
            self._check(lists, queries)
        else:
            unique = list(dict.fromkeys(queries))
            answers = self.retriever.search(unique, self.k)
            self._check(answers, unique)
            known: Mapping[str, list[Passage]] = dict(zip(unique, answers, strict=True))
            lists = [known[query] for query in queries]
        rest = iter(lists)
        return [[next(rest) for _ in search] for search in searches]

    def _check(self, lists: Sequence[list[Passage]], queries: Sequence[str]) -> None:
        if len(lists) != len(queries):
            raise InvalidInputError(
                f"retriever: {type(self.retriever).__name__} must return one list a query, {len(queries)}; "
                f"got {len(lists)}"
            )

    def _squeezed(self, turns: Sequence[tuple[tuple[str, ...], list[list[Passage]]]]) -> list[Squeezed]:
        if self.squeezer is not None:
            return self.squeezer.squeeze(turns)
        return [Squeezed(format_found(*turn)) for turn in turns]


def _observation(queries: tuple[str, ...], hits: list[list[Passage]], squeezed: Squeezed) -> Observation:
    told = [found for found in hits if isinstance(found, Found)]
    problems = [found.problem for found in told if found.problem]
    problems += [squeezed.problem] if squeezed.problem else []
    problems += [] if queries else ["no query"]
    turn = SearchTurn(
        queries,
        tuple(map(tuple, hits)),
        squeezed.text if queries else NO_QUERY,
        squeezed.squeezed,
        "; ".join(problems) or None,
        sum(found.cost for found in told),
        squeezed.fallback,
    )
    usages = [found.usage for found in told if found.usage is not None]
    return Observation(turn, sum(usages, Usage.zeros(1)) if usages else None, squeezed.usage)
