"""Rollouts without a model: a policy that says what was recorded, a retriever that finds what was found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from sqe_fast.agent.values import Asking, Found, Passage, Rollout
from sqe_fast.generate.base import Generation, Request, check_requests

__all__ = ["RecordedPolicy", "RecordedRetriever"]

_TURN = re.compile(r"turn (\d+)")
_Turn = Sequence[Passage] | Mapping[str, Sequence[Passage]]
_WORD = re.compile(r"\S+")


class RecordedPolicy:
    """Says recorded turns, one after the other.

    A rollout is found by its id, else by its question. A turn that the recording lacks is a failure value.
    What follows a stop text within a turn, or its limit of new tokens, is cut, as an engine would. A token is
    a word.

    Parameters
    ----------
    turns : mapping of str to sequence of str
        By id or question, what the policy says in each turn; what a forced answer is comes last.
    default : sequence of str, optional
        The turns of all others.
    """

    def __init__(
        self,
        turns: Mapping[str, Sequence[str]],
        *,
        default: Sequence[str] | None = None,
        name: str = "recorded policy",
    ) -> None:
        self.name = name
        self._turns = dict(turns)
        self._default = default
        self.calls = 0

    @classmethod
    def of(cls, rollouts: Iterable[Rollout]) -> RecordedPolicy:
        """Say again what the policy said in these rollouts."""
        return cls({one.id: [s.text for s in one.segments if s.role == "policy"] for one in rollouts})

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Return the recorded turn of each request, which its `kind` numbers."""
        self.calls += 1
        return [self._answer(request) for request in check_requests(requests)]

    def _answer(self, request: Request) -> Generation:
        turns = self._turns.get(request.key, self._turns.get(request.question, self._default))
        if turns is None:
            return Generation.failed(f"nothing is recorded for {request.key or request.question!r}")
        numbered = _TURN.fullmatch(request.kind)
        number = int(numbered[1]) if numbered else len(turns) - 1
        if not 0 <= number < len(turns):
            return Generation.failed(f"the recording of {request.key or request.question!r} ends")
        text, stop = turns[number], None
        found = min(((text.find(word), word) for word in request.stop if word in text), default=None)
        if found is not None:
            text, stop = text[: found[0] + len(found[1])], found[1]
        words, most = len(text.split()), request.max_new_tokens
        cut = words > most
        if cut:
            text, stop = text[: [word.end() for word in _WORD.finditer(text)][most - 1]], None
        prompt = [*(message.content for message in request.messages), request.prefill]
        return Generation(
            texts=(text.removesuffix(stop or ""),),
            prompt_tokens=sum(len(part.split()) for part in prompt),
            completion_tokens=min(words, most),
            finish_reasons=("length" if cut else "stop",),
            estimated=True,
            stopped_at=(stop,),
        )

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the words of each text."""
        return [len(text.split()) for text in texts]

    def close(self) -> None:
        """Do nothing: no model is held."""


class RecordedRetriever:
    """Finds, for each search turn of a rollout, the passages that were recorded for it.

    Parameters
    ----------
    found : mapping of str to sequence of (sequence of Passage, or mapping of str to sequence of Passage)
        By rollout id, for each search turn its passages; or, by query, those of each of its queries.
    """

    def __init__(self, found: Mapping[str, Sequence[_Turn]]) -> None:
        self._found = dict(found)

    @classmethod
    def of(cls, rollouts: Iterable[Rollout]) -> RecordedRetriever:
        """Find again what these rollouts found."""
        return cls(
            {
                one.id: [dict(zip(turn.queries, turn.hits, strict=True)) for turn in one.turns]
                for one in rollouts
            }
        )

    def search(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        """Find nothing: who asks is not known here."""
        return [Found(problem="a recording is looked up by who asks") for _ in queries]

    def search_for(self, queries: Sequence[str], k: int, askings: Sequence[Asking]) -> list[list[Passage]]:
        """Return at most k of the passages recorded for each asking's turn."""
        return [self._of(query, asking, k) for query, asking in zip(queries, askings, strict=True)]

    def _of(self, query: str, asking: Asking, k: int) -> list[Passage]:
        turns = self._found.get(asking.id, ())
        found = turns[asking.turn] if asking.turn < len(turns) else None
        if isinstance(found, Mapping):
            found = found.get(query)
        if found is None:
            return Found(problem=f"nothing is recorded for {query!r} in turn {asking.turn} of {asking.id!r}")
        return list(found[:k])
