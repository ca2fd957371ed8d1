"""Router-R1's pool: a query names a language model and asks it a question (arXiv 2506.09033)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqe_fast._checks import check_int, check_number, describe
from sqe_fast.agent.squeeze import usage_of
from sqe_fast.agent.values import Found, Passage
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.expansion.parsing import without_thinking
from sqe_fast.generate.base import Generation, Generator, Request

__all__ = ["PoolRetriever"]


class PoolRetriever:
    """Sends ``model: question`` to the model of that name; the questions for each model in one call.

    Parameters
    ----------
    models : mapping of str to Generator
        By the names that the policy is told (`names`). A query may write them in any case; one that fits the
        end of a single name, such as "qwen" for "openai/qwen", will do. Anything else is a problem told to
        the policy, not a guess.
    prices : mapping of str to float, optional
        By name, money for a million new tokens; for the cost reward.
    max_new_tokens : int
        Limit of an answer.
    """

    def __init__(
        self,
        models: Mapping[str, Generator],
        *,
        prices: Mapping[str, float] | None = None,
        max_new_tokens: int = 512,
    ) -> None:
        if not models:
            raise InvalidInputError("models must hold at least one model")
        for name, model in models.items():
            if not isinstance(model, Generator):
                raise InvalidTypeError(f"models[{name!r}] must be a Generator; got {describe(model)}")
            if not name.strip() or ":" in name:
                raise InvalidInputError(f"a model's name must be a text without a colon; got {name!r}")
        self._models = dict(models)
        self._prices = {name: check_number(f"prices[{name!r}]", p, 0) for name, p in (prices or {}).items()}
        if unknown := set(self._prices) - set(self._models):
            raise InvalidInputError(f"prices names no model of the pool: {min(unknown)!r}")
        self._max_new_tokens = check_int("max_new_tokens", max_new_tokens, 1)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the models, for the policy's prompt."""
        return tuple(self._models)

    def search(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        """Return the one answer to each query as a passage titled with the model's name; k is not used."""
        routed = [self._route(query) for query in queries]
        found: list[list[Passage]] = [
            Found(
                [Passage("", "", f"No such model; name one of: {', '.join(self._models)}.", 0.0)],
                problem=f"no model of the pool in {query[:80]!r}",
            )
            for query in queries
        ]
        for name, model in self._models.items():
            rows = [row for row, route in enumerate(routed) if route is not None and route[0] == name]
            requests = [self._request(route[1]) for row in rows if (route := routed[row]) is not None]
            if requests:
                for row, answer in zip(rows, model.generate(requests), strict=True):
                    found[row] = self._found(name, queries[row], answer)
        return found

    def _route(self, query: str) -> tuple[str, str] | None:
        """Return (model, question) of a query, or None."""
        wish, colon, question = query.partition(":")
        wish, question = wish.strip().casefold(), question.strip()
        if not colon or not wish or not question:
            return None
        exact = [name for name in self._models if name.casefold() == wish]
        ends = [name for name in self._models if name.casefold().endswith(wish)]
        names = exact or ends
        return (names[0], question) if len(names) == 1 else None

    def _request(self, question: str) -> Request:
        text = f"Answer shortly and precisely; say so if you do not know.\n\n{question}"
        return Request.of(text, max_new_tokens=self._max_new_tokens, question=question, kind="pool")

    def _found(self, name: str, query: str, answer: Generation) -> Found:
        text = without_thinking(answer.texts[0]).strip() if answer.texts else ""
        usage = usage_of([answer])
        cost = self._prices.get(name, 0.0) * answer.completion_tokens / 1e6
        if not text:
            problem = f"{name} failed ({answer.error or 'it said nothing'})"
            return Found(
                [Passage(f"{name}:", name, "No answer.", 0.0)], problem=problem, usage=usage, cost=cost
            )
        return Found([Passage(f"{name}:{query}", name, text, 0.0)], usage=usage, cost=cost)
