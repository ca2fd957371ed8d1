"""Stands between the engine and what it asks: keeps expansions and vectors, counts what is paid.

The engine tells hits and costs. An experiment also wants the probes themselves, and afterwards every method
alone with its expansions at hand; none of that is to be made twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sqe_fast._store.settings import Encoder
from sqe_fast.expand import Expander, Expansion
from sqe_fast.generate.base import Generation, Generator, Request
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
    generator : Generator
        The one that is asked.
    closed : bool
        Ask the generator nothing more: what failed stays failed, and what is not known fails.
    """

    def __init__(self, generator: Generator) -> None:
        self.name = generator.name
        self.requests = 0
        self.failed = 0
        self.seconds = 0.0
        self.totals = Usage.zeros(1).totals()
        self.closed = False
        self.generator = generator
        self._failures: dict[Request, Generation] = {}

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """See `Generator.generate`; each answer has its share of the wall time."""
        if self.closed:
            return [self._failures.get(request) or _unknown() for request in requests]
        start = time.perf_counter()
        made = self.generator.generate(requests)
        seconds = time.perf_counter() - start
        made = [replace(answer, seconds=seconds / len(requests)) for answer in made]
        self.seconds += seconds
        self.requests += len(requests)
        for request, answer in zip(requests, made, strict=True):
            if answer.error is not None:
                self.failed += 1
                self._failures[request] = answer
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


def _unknown() -> Generation:
    return Generation(error="the generator failed", calls=0, seconds=float("nan"))


class KeptExpansions:
    """An expander that remembers what it made, and how long that took when it was made.

    Attributes
    ----------
    made : dict of str to Expansion
        By question, the most traces and paraphrases that it was given by any method.
    generator, joint, requests
        What a gate with a budget asks to know costs beforehand; see `Expander`.
    """

    def __init__(self, expander: Expander, generator: Generator, done: Callable[[int], None]) -> None:
        self.made: dict[str, Expansion] = {}
        self.generator = generator
        self.joint = expander.joint
        self.requests = expander.requests
        self._seconds: dict[str, dict[tuple[int, int, int], float]] = {}
        self._expander = expander
        self._done = done
        self._paid: set[str] = set()
        self._alone = False

    def expand(
        self, questions: Sequence[str], K: Sequence[int], P: Sequence[int], after: int | Sequence[int] = 0
    ) -> list[Expansion]:
        """Return one expansion a question; see `Expander.expand`."""
        made = self._expander.expand(questions, K=K, P=P, after=after)
        before = after if isinstance(after, Sequence) else [after] * len(questions)
        if self._alone:
            counts = zip(questions, made, K, P, strict=True)
            made = [one if one.error is None else self._part(one, *count) for _, one, *count in counts]
        known = len(self.made)
        for question, expansion, *asked in zip(questions, made, K, P, before, strict=True):
            if not self._alone:
                self.made[question] = _widest(self.made.get(question), expansion, asked[2])
            # By what was asked: a question that comes again is the same generation.
            spent = self._seconds.setdefault(question, {})
            spent[asked[0], asked[1], asked[2]] = sum(expansion.seconds.values())
            if not (expansion.cached or self._alone):
                self._paid.add(question)
        if len(self.made) > known:
            self._done(len(self.made))
        return made

    def _part(self, failed: Expansion, K: int, P: int) -> Expansion:
        """Return the first probes of what was made for a method that took more, where alone they fail."""
        kept = self.made[failed.question]
        part = replace(kept, traces=kept.traces[:K], paraphrases=kept.paraphrases[:P])
        if len(part.probes) <= len(failed.probes):
            return failed
        counts = {"traces": (K, len(kept.traces)), "paraphrases": (P, len(kept.paraphrases))}
        shares = {kind: min(1.0, wish / max(1, had)) for kind, (wish, had) in counts.items()}
        # An answer with both kinds: alone, it would have been another one.
        seconds = {kind: shares.get(kind, float("nan")) * value for kind, value in kept.seconds.items()}
        return replace(part, seconds=seconds, problems={}, error=None)

    def start(self) -> None:
        """Begin to measure `seconds` anew: of a method that now runs alone, and asks for nothing new."""
        self._alone = True
        self._seconds.clear()

    def seconds(self, questions: Sequence[str], gated: NDArray[np.bool_]) -> NDArray[np.float64]:
        """float64[n]: the generation time of each question that is expanded, else 0; nan: not known."""
        unknown = {(0, 0, 0): float("nan")}
        pairs = zip(questions, gated.tolist(), strict=True)
        return np.array([sum(self._seconds.get(one, unknown).values()) if yes else 0.0 for one, yes in pairs])

    def cached(self, questions: Sequence[str], gated: NDArray[np.bool_]) -> list[bool]:
        """Return where a question is expanded, and none of its expansions was paid for here."""
        pairs = zip(questions, gated.tolist(), strict=True)
        return [yes and one in self.made and one not in self._paid for one, yes in pairs]


def _widest(old: Expansion | None, new: Expansion, after: int) -> Expansion:
    """Return the more of two expansions of a question; `new` follows `after` traces of an earlier call."""
    if old is None:
        return new
    if after and len(old.traces) == after:
        return replace(old, traces=old.traces + new.traces, paraphrases=old.paraphrases or new.paraphrases)
    return new if len(new.probes) > len(old.probes) else old


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
