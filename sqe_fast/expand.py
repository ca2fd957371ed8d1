"""Questions to probes: hypothetical traces and paraphrases, all questions in one generation call."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

from sqe_fast._checks import check_choice, check_int, check_number, check_texts
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.expansion.cache import ExpansionCache, cache_key
from sqe_fast.expansion.expansion import KINDS, Expansion
from sqe_fast.expansion.parsing import cut_trace, parse_joint, parse_list, parse_trace
from sqe_fast.expansion.prompts import (
    STEP_END,
    VERSION,
    Form,
    joint_request,
    paraphrase_request,
    trace_request,
)
from sqe_fast.generate.base import Generation, Generator, Request
from sqe_fast.usage import Usage

__all__ = ["KINDS", "Expander", "Expansion"]

_ANSWERS = (*KINDS, "joint")
MAX_K, MAX_P = 1000, 99


class Expander:
    """Expand questions with a generator, through an optional cache.

    Examples
    --------
    >>> from sqe_fast.generate import make_generator
    >>> expander = Expander(make_generator("recorded:expansions.jsonl"))  # doctest: +SKIP
    >>> expander.expand(["Where is the retry limit?"])[0].paraphrases  # doctest: +SKIP
    """

    def __init__(
        self,
        generator: Generator,
        cache: ExpansionCache | None = None,
        K: int = 2,
        P: int = 2,
        *,
        trace_temperature: float = 0.8,
        paraphrase_temperature: float = 0.5,
        max_new_tokens: int = 256,
        seed: int | None = None,
        joint: bool = False,
        trace_end: Literal["model", "step", "blank"] = "model",
        observation_lines: int | None = None,
        brief: bool = False,
        count_cached: bool = False,
    ) -> None:
        """Set what is asked for.

        Parameters
        ----------
        generator
            See `sqe_fast.generate.make_generator`.
        cache
            Kept generations; None: every question is generated.
        K, P
            Hypothetical traces and paraphrases of each question; 0 leaves a kind out.
        trace_temperature, paraphrase_temperature, max_new_tokens, seed
            How they are sampled. The limit is of each trace; a joint answer has as much for each of its
            traces, and 48 for each paraphrase.
        joint
            Ask for traces and paraphrases in one answer where both are wanted, at the temperature of traces:
            one call, and the instruction is paid for once.
        trace_end
            What ends a trace: the model; "step", also where it begins a second step; "blank", also an empty
            line, which the prompt then asks it not to write (a model that writes one all the same loses what
            is behind; for joint answers this is "step").
        observation_lines
            Ask for observations of so many lines at most, and keep no more. None: as they come.
        brief
            Ask for traces, alone or jointly, in few words: the instruction is most of a prompt, and here less
            than half as long. How well a model follows it is for that model to show.
        count_cached
            Let what the cache answers cost what it did when it was made, as the tables of an experiment need
            after a run that was taken up again; `Expansion.cached` still tells that nothing was paid.
        """
        if not isinstance(generator, Generator):
            raise InvalidTypeError(
                f"generator must have name, generate and close; got {type(generator).__name__}"
            )
        self.generator = generator
        self.cache = cache
        self.K = check_int("K", K, 0, MAX_K)
        self.P = check_int("P", P, 0, MAX_P)
        self._temperatures = (
            check_number("trace_temperature", trace_temperature, 0, 10),
            check_number("paraphrase_temperature", paraphrase_temperature, 0, 10),
        )
        self._max_new_tokens = check_int("max_new_tokens", max_new_tokens, 1)
        for name, value in (("joint", joint), ("brief", brief)):
            if not isinstance(value, bool):
                raise InvalidTypeError(f"{name} must be a bool; got {type(value).__name__}")
        self.joint = joint
        self._brief = brief
        self._end = check_choice("trace_end", trace_end, tuple(STEP_END))
        self._lines = (
            None if observation_lines is None else check_int("observation_lines", observation_lines, 1)
        )
        self._seed = None if seed is None else check_int("seed", seed, 0, 2**63 - 1)
        self._count_cached = bool(count_cached)

    def expand(
        self,
        questions: Iterable[str],
        K: int | Sequence[int] | None = None,
        P: int | Sequence[int] | None = None,
        after: int | Sequence[int] = 0,
    ) -> list[Expansion]:
        """Return one expansion a question, in order; one call of the generator for all that is not cached.

        Parameters
        ----------
        questions
            A list of str; repeats are generated once.
        K, P
            For this call, in place of the expander's own: one number, or one a question.
        after
            Traces that earlier calls gave for the question; K others are wanted.
        """
        asked = list(check_texts("questions", questions))
        for position, question in enumerate(asked):
            if not isinstance(question, str):
                raise InvalidTypeError(f"questions[{position}] must be a str; got {type(question).__name__}")
        traces = _counts("K", K, self.K, MAX_K, len(asked))
        paraphrases = _counts("P", P, self.P, MAX_P, len(asked))
        had = _counts("after", after, 0, MAX_K, len(asked))
        counts = list(zip(traces, paraphrases, strict=True))
        wanted = [
            self._requests(question, *count, before)
            for question, count, before in zip(asked, counts, had, strict=True)
        ]
        keyed = dict(pair for pairs in wanted for pair in pairs if pair is not None)
        kept = self.cache.get(list(keyed)) if self.cache is not None else {}
        missing = {key: request for key, request in keyed.items() if key not in kept}
        made = dict(zip(missing, self._generate(list(missing.values())), strict=True))
        if self.cache is not None:
            self.cache.put(made)
        unpaid = set(made)
        uncounted = {*made, *kept} if self._count_cached else set(made)
        expansions = []
        for question, pairs, count in zip(asked, wanted, counts, strict=True):
            keys = [None if pair is None else pair[0] for pair in pairs]
            answers = [None if key is None else made.get(key) or kept[key] for key in keys]
            paid = any(key in unpaid for key in keys)
            counted = [key in uncounted for key in keys]
            unpaid.difference_update(key for key in keys if key is not None)
            uncounted.difference_update(key for key in keys if key is not None)
            expansions.append(self._expansion(question, answers, count, counted, paid))
        return expansions

    def requests(self, question: str, K: int | None = None, P: int | None = None) -> list[Request]:
        """Return what `expand` asks the generator about one question, where nothing of it is cached."""
        pairs = self._requests(question, self.K if K is None else K, self.P if P is None else P, 0)
        return [pair[1] for pair in pairs if pair is not None]

    def _requests(self, question: str, K: int, P: int, after: int = 0) -> list[tuple[bytes, Request] | None]:
        """Return (cache key, request) for traces, for paraphrases and for both; None: not wanted."""
        trace, paraphrase = self._temperatures
        limit, seed = self._max_new_tokens, self._seed
        form = Form(after, self._end, self._lines, self._brief)
        both = self.joint and K > 0 and P > 0
        requests = (
            trace_request(question, K, trace, limit, seed, form) if K and not both else None,
            paraphrase_request(question, P, paraphrase, limit, seed) if P and not both else None,
            joint_request(question, (K, P), trace, limit, seed, form) if both else None,
        )
        name = self.generator.name
        return [None if r is None else (cache_key(name, VERSION, r), r) for r in requests]

    def _generate(self, requests: Sequence[Request]) -> list[Generation]:
        if not requests:
            return []
        start = time.perf_counter()
        made = self.generator.generate(requests)
        share = (time.perf_counter() - start) / len(requests)
        return [one if one.seconds is not None else replace(one, seconds=share) for one in made]

    def _expansion(
        self,
        question: str,
        answers: Sequence[Generation | None],
        counts: tuple[int, int],
        counted: Sequence[bool],
        paid: bool,
    ) -> Expansion:
        """Parse the answers; `counted` tells whose cost counts here, `paid` whether any was made."""
        made: dict[str, tuple[str, ...]] = dict.fromkeys(KINDS, ())
        errors, notes = [], []
        costs, problems, seconds = {}, {}, {}
        for kind, answer, new in zip(_ANSWERS, answers, counted, strict=True):
            if answer is None:
                continue
            costs[kind] = _usage([answer] if new else [])
            if answer.seconds is not None:
                seconds[kind] = answer.seconds
            if kind == "joint":
                found = self._both(answer, counts)
            elif kind == "traces":
                found = {"traces": self._traces(answer, counts[0])}
            else:
                found = {"paraphrases": _paraphrases(answer, counts[1])}
            made |= found
            for one, texts in found.items():
                wish = counts[KINDS.index(one)]
                if len(texts) < wish:
                    notes.append(f"{one}: {len(texts)} of {wish}")
                    problems[one] = f"{len(texts)} of {wish}"
                if answer.error is not None:
                    problems[one] = answer.error
            if answer.error is not None:
                errors.append(f"{kind}: {answer.error}")
        return Expansion(
            question,
            made["traces"],
            made["paraphrases"],
            _usage([answer for answer, new in zip(answers, counted, strict=True) if answer and new]),
            cached=bool(costs) and not paid,
            error="; ".join(errors) or None,
            notes=tuple(notes),
            costs=costs,
            problems=problems,
            seconds=seconds,
        )

    def _traces(self, answer: Generation, count: int) -> tuple[str, ...]:
        return self._cut(answer.texts if answer.verbatim else map(parse_trace, answer.texts), count)

    def _both(self, answer: Generation, counts: tuple[int, int]) -> dict[str, tuple[str, ...]]:
        """Return the traces and paraphrases of a joint answer."""
        K, P = counts
        if answer.verbatim:
            traces, paraphrases = answer.texts[: answer.traces], answer.texts[answer.traces :]
        else:
            found = parse_joint("\n".join(answer.texts), K, P)
            traces, paraphrases = tuple(found[0]), tuple(found[1])
        kept = tuple(text for text in paraphrases if text.strip())[:P]
        return {"traces": self._cut(traces, K, joint=True), "paraphrases": kept}

    def _cut(self, traces: Iterable[str], count: int, joint: bool = False) -> tuple[str, ...]:
        """Return the first traces that hold anything, each ended as an engine with stop texts ends it."""
        end = "step" if joint and self._end == "blank" else self._end
        if end != "model" or self._lines is not None:
            traces = (cut_trace(text, STEP_END[end], self._lines) for text in traces)
        return tuple(text for text in traces if text.strip())[:count]


def _counts(name: str, value: int | Sequence[int] | None, own: int, most: int, n: int) -> list[int]:
    """Return a count for each of n questions."""
    if value is None:
        return [own] * n
    if not isinstance(value, Sequence):
        return [check_int(name, value, 0, most)] * n
    if len(value) != n:
        raise InvalidInputError(f"{name} must be one int, or one for each of {n} questions; got {len(value)}")
    return [check_int(f"{name}[{position}]", count, 0, most) for position, count in enumerate(value)]


def _paraphrases(answer: Generation, count: int) -> tuple[str, ...]:
    texts = answer.texts if answer.verbatim else parse_list("\n".join(answer.texts), count)
    return tuple(text for text in texts if text.strip())[:count]


def _usage(paid: Sequence[Generation]) -> Usage:
    return Usage.of(
        calls=[sum(g.calls for g in paid)],
        prompt_tokens=[sum(g.prompt_tokens for g in paid)],
        cached_tokens=[sum(g.cached_tokens for g in paid)],
        completion_tokens=[sum(g.completion_tokens for g in paid)],
        estimated=any(g.estimated for g in paid),
    )
