"""What expanding questions can cost at most, for gates that keep to a budget of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqe_fast.errors import InvalidInputError
from sqe_fast.gate.gates import Quote, Quoter, TokenCounter
from sqe_fast.generate.base import Bounded, Generator, Request
from sqe_fast.methods import Method

__all__ = ["quoter"]


def quoter(expander: object, method: Method, methods: Sequence[Method], questions: Sequence[str]) -> Quoter:
    """Return what tells the cost of expanding some of `questions` by `method`, beside other methods.

    A prompt counts once, or once a sample where the generator may ask again for samples that are missing.
    Methods without stages share generations, so each kind that the method wants is reckoned with the largest
    number that any of them wants. A cascade is reckoned with every step in full: where a step fails, the next
    one makes all that is wanted.
    """
    steps = [(stage.K, stage.P) for stage in method.stages]
    shared = [method] if steps else [other for other in methods if not other.stages]
    most = tuple(max(counts) for counts in zip(*(other.wants for other in shared), strict=True))
    # One answer for both kinds is charged in full to a method that takes either.
    joint = getattr(expander, "joint", False) and any(method.wants)
    wants = [count if wish or joint else 0 for count, wish in zip(most, method.wants, strict=True)]

    def quote(places: NDArray[np.int64], counter: TokenCounter | None) -> Quote:
        tells: Any = expander
        if not hasattr(tells, "requests"):
            raise InvalidInputError(
                f"{method.name} has a budget of tokens, and {type(expander).__name__} does not tell its "
                "requests: give the Engine a generator or an Expander"
            )
        asked = [
            [request for step in (*steps, wants) for request in tells.requests(questions[place], *step)]
            for place in places.tolist()
        ]
        flat = [request for requests in asked for request in requests]
        owner = np.repeat(np.arange(len(asked)), [len(requests) for requests in asked])
        costs = np.array(_most(flat, tells.generator, counter, method.name), np.int64).reshape(-1, 2)
        sums = np.zeros((len(asked), 2), np.int64)
        np.add.at(sums, owner, costs)
        return Quote(sums[:, 0], sums[:, 1])

    return quote


def _most(
    requests: Sequence[Request], generator: Generator, counter: TokenCounter | None, name: str
) -> list[tuple[int, int]]:
    """Return (prompt, completion) of each request at most."""
    if counter is None and not isinstance(generator, Bounded):
        raise InvalidInputError(
            f"{name} has a budget of tokens, and {generator.name!r} cannot count: give the gate a counter"
        )
    if isinstance(generator, Bounded):
        costs = generator.most_tokens(requests)
    else:
        costs = [(0, request.n * request.max_new_tokens) for request in requests]
    if counter is None:
        return costs
    sends = [1 if isinstance(generator, Bounded) else request.n for request in requests]
    lengths = [sum(counter(message.content) for message in request.messages) for request in requests]
    return [(times * length, most) for times, length, (_, most) in zip(sends, lengths, costs, strict=True)]
