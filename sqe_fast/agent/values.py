"""What passes between the rooms of a rollout: passages, segments, search turns, rollouts, budgets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import Literal, Protocol, runtime_checkable

from sqe_fast._checks import check_int
from sqe_fast.errors import InvalidInputError
from sqe_fast.usage import Usage

__all__ = [
    "FINISHES",
    "ROOMS",
    "Asking",
    "Budgets",
    "ContextRetriever",
    "Found",
    "Passage",
    "Retriever",
    "Rollout",
    "SearchTurn",
    "Segment",
]

ROOMS = ("policy", "search", "squeeze")

FINISHES: Mapping[str, str] = {
    "answer": "the policy answered",
    "forced": "it answered only when the answer tag was opened for it",
    "none": "it stopped without an answer",
    "length": "a token budget ended it before an answer",
    "failed": "its generator failed; `problem` says how",
}


@dataclass(frozen=True)
class Passage:
    """One passage that a search found.

    Attributes
    ----------
    id : str
        The retriever's own id; two passages of one id are the same passage.
    title, text : str
        The title may be empty.
    score : float
        Higher is better; of what scale is the retriever's business. NaN where it gave none.
    """

    id: str
    title: str
    text: str
    score: float


class Found(list[Passage]):
    """The passages of one query, best first, with what a retriever has to say about that query.

    Attributes
    ----------
    problem : str or None
        Why the list is empty or poor.
    usage : Usage or None
        What the query cost where a language model answered it (length 1).
    cost : float
        The same in money, where the retriever knows prices.
    """

    def __init__(
        self,
        passages: Iterable[Passage] = (),
        *,
        problem: str | None = None,
        usage: Usage | None = None,
        cost: float = 0.0,
    ) -> None:
        super().__init__(passages)
        self.problem = problem
        self.usage = usage
        self.cost = cost


class Retriever(Protocol):
    """Anything that finds passages for a batch of queries."""

    def search(self, queries: Sequence[str], k: int) -> Sequence[list[Passage]]:
        """Return at most `k` passages for each query, best first, in the order of the queries.

        One call a step of a rollout, for all its questions. A list may be a `Found`, which tells what went
        wrong with its query; an exception ends the whole rollout.
        """
        ...


@dataclass(frozen=True)
class Asking:
    """For whom a query is asked: the rollout's id, its question, and its search turn, from 0."""

    id: str
    question: str
    turn: int


@runtime_checkable
class ContextRetriever(Protocol):
    """A retriever that also wants to know for whom each query is asked."""

    def search_for(
        self, queries: Sequence[str], k: int, askings: Sequence[Asking]
    ) -> Sequence[list[Passage]]:
        """Do as `Retriever.search`; ``queries[i]`` is asked for ``askings[i]``."""
        ...


@dataclass(frozen=True)
class Segment:
    """A stretch of a transcript by one author.

    Attributes
    ----------
    role : "prompt", "policy" or "observation"
        Only the policy's own words are to be learned: mask 1, others 0.
    text : str
    tokens : int
        Of the text alone, as the policy's tokenizer counts (`Rollout.estimated` where it is not known).
    """

    role: Literal["prompt", "policy", "observation"]
    text: str
    tokens: int

    @property
    def mask(self) -> int:
        """1 for the policy's own words, else 0."""
        return int(self.role == "policy")


@dataclass(frozen=True)
class SearchTurn:
    """One search of a rollout: what was asked, found and shown.

    Attributes
    ----------
    queries : tuple of str
        As they were searched.
    hits : tuple of tuple of Passage
        What each query found, best first.
    observation : str
        What the policy was shown, without its tags.
    squeezed : bool
        The compressor wrote it.
    problem : str or None
        What went wrong: a failed compressor and what was done instead, a retriever's complaint, a cut.
    cost : float
        Money, where the retriever knows prices.
    fallback : str or None
        What was shown in place of a squeeze that failed, a name of `FALLBACKS`; None: none failed.
    """

    queries: tuple[str, ...]
    hits: tuple[tuple[Passage, ...], ...]
    observation: str
    squeezed: bool = False
    problem: str | None = None
    cost: float = 0.0
    fallback: str | None = None

    @property
    def passages(self) -> tuple[Passage, ...]:
        """The distinct passages of all queries, in order of first appearance."""
        distinct: dict[str, Passage] = {}
        for passage in chain.from_iterable(self.hits):
            distinct.setdefault(passage.id, passage)
        return tuple(distinct.values())


@dataclass(frozen=True)
class Rollout:
    """One question's way from prompt to answer.

    Attributes
    ----------
    id, question : str
    segments : tuple of Segment
        The whole transcript; the first is the prompt.
    turns : tuple of SearchTurn
        One for each search that was made.
    answer : str or None
        The last one the policy gave.
    valid : bool
        The response keeps the format strictly (see `Dialect.valid`), and the policy opened the answer itself.
    finish : str
        Why it ended, a key of `FINISHES`.
    usage_policy, usage_compressor, usage_search : Usage
        Each of length 1: calls, prompt, cached and completion tokens. `usage_search` is of retrievers that
        are language models; others cost nothing.
    seconds : mapping of str to float
        This question's equal share of each room's (`ROOMS`) wall time: over all rollouts of a run they sum
        to the time it took.
    problem : str or None
        What its generator said where `finish` is "failed".
    estimated : bool
        The tokens of the segments are estimates: the policy's generator does not count.
    """

    id: str
    question: str
    segments: tuple[Segment, ...]
    turns: tuple[SearchTurn, ...]
    answer: str | None
    valid: bool
    finish: str
    usage_policy: Usage
    usage_compressor: Usage
    usage_search: Usage
    seconds: Mapping[str, float] = field(default_factory=dict)
    problem: str | None = None
    estimated: bool = False

    @property
    def prompt(self) -> str:
        """The first segment's text."""
        return self.segments[0].text if self.segments else ""

    @property
    def response(self) -> str:
        """Everything after the prompt, the policy's words and the observations, as one text."""
        return "".join(segment.text for segment in self.segments[1:])

    @property
    def queries(self) -> tuple[tuple[str, ...], ...]:
        """The queries of each search turn."""
        return tuple(turn.queries for turn in self.turns)


@dataclass(frozen=True)
class Budgets:
    """Limits of a rollout, in tokens of the policy.

    Attributes
    ----------
    prompt : int
        The prompt; a question whose prompt is longer fails.
    response : int
        What the policy writes, all turns together.
    observation : int
        One observation; what is longer is cut, and its turn says so.
    answer : int
        The part of `response` that is kept for a forced answer.
    turn : int or None
        What the policy writes in one turn; None: what is left.
    context : int or None
        Everything together; None: the generator's `window` where it has one, else no limit.
    """

    prompt: int = 4096
    response: int = 3000
    observation: int = 4096
    answer: int = 128
    turn: int | None = None
    context: int | None = None

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if value is not None:
                check_int(f"Budgets: {one.name}", value, 1)
        if self.answer > self.response:
            raise InvalidInputError(
                f"Budgets: answer is a part of response, {self.response}; got answer={self.answer}"
            )
