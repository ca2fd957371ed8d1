"""The compressor: many passages of several queries to one short observation, all questions in one call.

A compressor that fails is counted and said: the observation is then what `fallback` names, marked with the
reason, never a silent cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqe_fast._checks import check_choice, check_int, describe
from sqe_fast.agent.passages import NOTHING, format_found, shortened
from sqe_fast.agent.prompts import squeeze_prompt
from sqe_fast.agent.values import Passage
from sqe_fast.errors import InvalidTypeError
from sqe_fast.expansion.parsing import without_thinking
from sqe_fast.generate.base import Generation, Generator, Request
from sqe_fast.usage import Usage

__all__ = ["FALLBACKS", "Squeezed", "Squeezer", "usage_of"]

FALLBACKS = ("raw", "truncated", "drop")

Search = tuple[Sequence[str], Sequence[Sequence[Passage]]]
"""The queries of one search turn, and the passages of each."""


@dataclass(frozen=True)
class Squeezed:
    """One observation: its text, whether the compressor wrote it, why not, its cost, what stands for it.

    `usage` is None where the compressor was not asked, `fallback` where it did not fail.
    """

    text: str
    squeezed: bool = False
    problem: str | None = None
    usage: Usage | None = None
    fallback: str | None = None


class Squeezer:
    """Squeezes search turns with any generator, greedily.

    Parameters
    ----------
    generator : Generator
        The frozen compressor; may be the policy's own.
    max_new_tokens : int
        Limit of an observation.
    fallback : "raw", "truncated" or "drop"
        What is shown where the compressor fails or says nothing: the passages; their beginning, about as long
        as an observation may be; or only that there is none.

    Attributes
    ----------
    asked, failed : int
        Observations wanted of the compressor so far, and those it did not give.

    Examples
    --------
    >>> from sqe_fast.agent.replay import RecordedPolicy
    >>> squeezer = Squeezer(RecordedPolicy({}, default=["Emma came out in 1815."]))
    >>> passages = [Passage("e", "Emma", "Emma is a novel, published in December 1815.", 1.0)]
    >>> squeezer.squeeze([(["when was Emma written"], [passages])])[0].text
    'Emma came out in 1815.'
    """

    def __init__(
        self,
        generator: Generator,
        *,
        max_new_tokens: int = 512,
        fallback: Literal["raw", "truncated", "drop"] = "raw",
    ) -> None:
        if not isinstance(generator, Generator):
            raise InvalidTypeError(f"generator must have name, generate and close; got {describe(generator)}")
        self.generator = generator
        self.max_new_tokens = check_int("max_new_tokens", max_new_tokens, 1)
        self.fallback = check_choice("fallback", fallback, FALLBACKS)
        self.asked = 0
        self.failed = 0

    def squeeze(self, searches: Sequence[Search]) -> list[Squeezed]:
        """Return one observation for each search turn, in one call of the generator.

        A turn whose queries found nothing is not sent. The compressor sees all queries and all passages of a
        turn, each passage once, and not the question behind them.
        """
        requests = {
            row: Request.of(
                squeeze_prompt(queries, format_found(queries, hits)),
                max_new_tokens=self.max_new_tokens,
                question="\n".join(queries),
                kind="squeeze",
            )
            for row, (queries, hits) in enumerate(searches)
            if any(hits)
        }
        made = self.generator.generate(list(requests.values())) if requests else []
        answers = dict(zip(requests, made, strict=True))
        self.asked += len(answers)
        return [
            self._observation(search, answers[row]) if row in answers else Squeezed(NOTHING)
            for row, search in enumerate(searches)
        ]

    def _observation(self, search: Search, answer: Generation) -> Squeezed:
        text = without_thinking(answer.texts[0]).strip() if answer.texts else ""
        if text:
            return Squeezed(text, True, None, usage_of([answer]))
        self.failed += 1
        reason = answer.error or "it said nothing"
        raw = format_found(*search)
        shown = {"raw": raw, "truncated": shortened(raw, 4 * self.max_new_tokens), "drop": NOTHING}
        problem = f"compressor failed ({reason}); fallback: {self.fallback}"
        return Squeezed(shown[self.fallback], False, problem, usage_of([answer]), self.fallback)


def usage_of(answers: Sequence[Generation]) -> Usage:
    """Return what some generations of one question cost together (length 1)."""
    return Usage.of(
        [sum(one.calls for one in answers)],
        [sum(one.prompt_tokens for one in answers)],
        [sum(one.cached_tokens for one in answers)],
        [sum(one.completion_tokens for one in answers)],
        any(one.estimated for one in answers),
    )
