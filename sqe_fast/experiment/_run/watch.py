"""Stands between the engine and what it asks: keeps expansions and vectors, counts what is paid.

The engine tells hits and costs. An experiment also wants the probes themselves, what each cost when it was
made, and afterwards every method alone with its expansions at hand; none of that is to be made twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sqe_fast._store.settings import Encoder
from sqe_fast.expand import KINDS, Expander, Expansion
from sqe_fast.generate.base import Generation, Generator, Request
from sqe_fast.methods import Method
from sqe_fast.usage import Usage

__all__ = ["KeptExpansions", "KeptVectors", "Paid"]


class Paid:
    """A generator that counts what it is asked and what that costs.

    Attributes
    ----------
    requests, failed : int
    seconds : float
        Wall time of the calls.
    totals : dict of str to int
        Calls and tokens.
    """

    def __init__(self, generator: Generator) -> None:
        self.name = generator.name
        self.requests = 0
        self.failed = 0
        self.seconds = 0.0
        self.totals = Usage.zeros(1).totals()
        self._generator = generator

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """See `Generator.generate`."""
        start = time.perf_counter()
        made = self._generator.generate(requests)
        self.seconds += time.perf_counter() - start
        self.requests += len(requests)
        self.failed += sum(answer.error is not None for answer in made)
        for name in self.totals:
            self.totals[name] += sum(getattr(answer, name) for answer in made)
        return made

    def close(self) -> None:
        """Leave the generator to whoever made it."""

    def told(self) -> dict[str, Any]:
        """Return what a manifest says."""
        return {
            "requests": self.requests,
            "failed": self.failed,
            "seconds": round(self.seconds, 3),
            **self.totals,
        }


class KeptExpansions:
    """An expander whose expansions stay at hand.

    Attributes
    ----------
    made : dict of str to Expansion
        By question, as they were made first.
    replay : bool
        Give only what is at hand, and ask nobody.
    """

    def __init__(self, expander: Expander, done: Callable[[int], None]) -> None:
        self.made: dict[str, Expansion] = {}
        self.replay = False
        self._expander = expander
        self._done = done

    def expand(self, questions: Sequence[str], K: Sequence[int], P: Sequence[int]) -> list[Expansion]:
        """Return one expansion a question; see `Expander.expand`."""
        if self.replay:
            return [self.made.get(question) or _nothing(question) for question in questions]
        made = self._expander.expand(questions, K=K, P=P)
        for question, expansion in zip(questions, made, strict=True):
            self.made.setdefault(question, expansion)
        self._done(len(self.made))
        return made

    def usage(self, method: Method, questions: Sequence[str], gated: NDArray[np.bool_]) -> Usage:
        """Return what the expansions of each gated question cost when they were made.

        A question that is asked twice costs so much at both places: what it would cost by itself.
        """
        nothing = Usage.zeros(1)
        parts = [nothing] * len(questions)
        for at in np.flatnonzero(gated).tolist():
            costs = self._made(questions[at]).costs
            for kind in _wanted(method):
                parts[at] = parts[at] + costs.get(kind, nothing)
        return Usage.concat(parts)

    def seconds(
        self, method: Method, questions: Sequence[str], gated: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """float64[n]: the generation time of each question, nan where it was not measured."""
        out = np.zeros(len(questions))
        for at in np.flatnonzero(gated).tolist():
            seconds = self._made(questions[at]).seconds
            out[at] = sum(seconds.get(kind, float("nan")) for kind in _wanted(method))
        return out

    def cached(self, questions: Sequence[str], gated: NDArray[np.bool_]) -> list[bool]:
        """Return where a question is expanded and nothing of that was paid for here."""
        pairs = zip(questions, gated.tolist(), strict=True)
        return [yes and self._made(question).cached for question, yes in pairs]

    def _made(self, question: str) -> Expansion:
        return self.made.get(question) or _nothing(question)


def _wanted(method: Method) -> list[str]:
    return [kind for kind, wish in zip(KINDS, method.wants, strict=True) if wish]


def _nothing(question: str) -> Expansion:
    """Return the expansion of a question for which the generator raised an error."""
    problems = dict.fromkeys(KINDS, "the generator failed")
    return Expansion(question, (), (), Usage.zeros(1), problems=problems)


class KeptVectors:
    """An encoder that encodes a text once.

    Attributes
    ----------
    name, dim, settings
        Those of the encoder.
    keep : bool
        False: encode everything anew, as a method by itself would.
    """

    def __init__(self, encoder: Encoder) -> None:
        self.name = encoder.name
        self.dim = encoder.dim
        self.settings: Mapping[str, Any] = encoder.settings
        self.keep = True
        self._encoder = encoder
        self._vectors: dict[tuple[str, str], NDArray[np.float32]] = {}

    def encode(
        self, texts: Sequence[str], kind: Literal["document", "query"] = "document"
    ) -> NDArray[np.float32]:
        """Return float32[n, dim]; see `Encoder.encode`."""
        if not self.keep:
            return self._encoder.encode(texts, kind=kind)
        new = [text for text in dict.fromkeys(texts) if (kind, text) not in self._vectors]
        if new:
            made = self._encoder.encode(new, kind=kind)
            if len(made) != len(new):  # the engine says what is wrong with it
                return made
            self._vectors.update(zip(((kind, text) for text in new), made, strict=True))
        out = np.empty((len(texts), self.dim), np.float32)
        for row, text in enumerate(texts):
            out[row] = self._vectors[kind, text]
        return out
