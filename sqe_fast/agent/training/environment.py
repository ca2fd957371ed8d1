"""The environment of a search agent, in tokens: reset, step, reward, mask. It knows no training framework.

The turns are those of `Roller`. What is trained on is the tokens that the policy sampled: its words are never
tokenised again, and what it is shown is tokenised apart and put behind them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqe_fast._checks import check_int, check_texts, describe
from sqe_fast.agent._live import TEMPLATE, Course, Live
from sqe_fast.agent._steps import Steps, plan
from sqe_fast.agent.observe import Observation, Observer
from sqe_fast.agent.presets import Preset
from sqe_fast.agent.rewards import Gold, Score, score
from sqe_fast.agent.squeeze import Squeezer
from sqe_fast.agent.training._trail import Sample, Trail, decode
from sqe_fast.agent.values import Asking, Budgets, Retriever, Rollout
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.generate._chat import count_tokens, prompt_ids
from sqe_fast.generate.base import Generation, Generator, Request

__all__ = ["Episode", "Sample", "SearchEnvironment", "Wanted"]


@dataclass(frozen=True)
class Wanted:
    """What one rollout's policy is to continue.

    Attributes
    ----------
    row : int
        Which rollout, by its place in `SearchEnvironment.reset`.
    ids : tuple of int
        Everything so far: the prompt, the sampled tokens, the observations.
    limit : int
        New tokens at most.
    stop : tuple of str
        Texts at which generation stops; the text, or the token that completes it, is part of the sample.
    """

    row: int
    ids: tuple[int, ...]
    limit: int
    stop: tuple[str, ...]


@dataclass(frozen=True)
class Episode:
    """One rollout as a trainer wants it.

    Attributes
    ----------
    rollout : Rollout
        In words: what rewards look at.
    prompt_ids : tuple of int
    completion_ids : tuple of int
        Everything behind the prompt up to the policy's last token.
    mask : tuple of int
        For each of `completion_ids` 1 where the policy sampled it, 0 where it was shown.
    logprobs : tuple of float, or None
        Of the policy's tokens as they were sampled, 0.0 at others; None where the policy gave none.
    turn_ends : tuple of int
        For each search turn the place in `completion_ids` of the policy's last token of it.
    """

    rollout: Rollout
    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]
    mask: tuple[int, ...]
    logprobs: tuple[float, ...] | None
    turn_ends: tuple[int, ...]

    def token_rewards(self, paid: Score) -> tuple[float, ...]:
        """Return the reward of each completion token: the total at the last, steps at the ends of turns."""
        rewards = [0.0] * len(self.completion_ids)
        for place, step in zip(self.turn_ends, paid.steps, strict=False):
            rewards[place] += step
        if rewards:
            rewards[-1] += paid.total
        return tuple(rewards)


class SearchEnvironment:
    """Search agents in step, driven by token ids.

    Parameters
    ----------
    tokenizer
        The policy's, as transformers has them.
    retriever, preset, compressor, budgets
        As of `Roller`. Budgets count the tokens that are really sampled and shown.
    window : int, optional
        What the model can take in all, where `Budgets.context` does not say it.
    completion : int, optional
        Tokens behind the prompt, observations included, at most: where a trainer has one limit for both.
        Observations are cut so that an answer still fits; tags that are closed or opened for the policy may
        pass it by a few tokens.
    ends : collection of int, optional
        End-of-sequence tokens; by default the tokenizer's.
    force_answer : bool
        As of `Roller`.

    Notes
    -----
    Two choices keep every token conditioned on exactly what stood before it when it was sampled. The token
    that completes a stop text stays whole, though a part of it may stand behind the tag; and where the loop
    goes on behind an end-of-sequence token, that token is left out, as a generator would.

    Examples
    --------
    ::

        environment = SearchEnvironment(tokenizer, retriever, "search-r1")
        wanted = environment.reset(questions)
        while wanted:
            wanted = environment.step([sample(one.ids, one.limit, one.stop) for one in wanted])
        scores = environment.reward(golden_answers)
        episodes = environment.episodes()  # prompt_ids, completion_ids, mask, logprobs
    """

    def __init__(
        self,
        tokenizer: Any,
        retriever: Retriever | None,
        preset: Preset | str,
        *,
        compressor: Squeezer | Generator | None = None,
        budgets: Budgets | None = None,
        window: int | None = None,
        completion: int | None = None,
        ends: Collection[int] | None = None,
        force_answer: bool = True,
    ) -> None:
        if not callable(tokenizer) or not hasattr(tokenizer, "decode"):
            raise InvalidTypeError(f"tokenizer must be one of transformers; got {describe(tokenizer)}")
        for name, limit in (("window", window), ("completion", completion)):
            if limit is not None:
                check_int(name, limit, 1)
        course, observer = plan(
            retriever, preset, compressor=compressor, budgets=budgets, window=window, force=force_answer
        )
        if ends is None:
            ends = () if tokenizer.eos_token_id is None else (tokenizer.eos_token_id,)
        self.preset = course.preset
        self.observer = observer
        self._course = course
        self._tokenizer = tokenizer
        self._completion = completion
        self._ends = frozenset(ends)
        self._models: tuple[str, ...] = tuple(getattr(retriever, "names", ()))
        self._steps = self._fresh()
        self._wanted: list[tuple[Live, Request]] = []

    def reset(self, questions: Iterable[str], ids: Sequence[str] | None = None) -> list[Wanted]:
        """Start a rollout for each question, and return what their policies are to continue.

        Parameters
        ----------
        questions : iterable of str
            The same one may be asked several times.
        ids : sequence of str, optional
            Names for the rollouts; by default their places.
        """
        asked = list(check_texts("questions", questions))
        names = [str(place) for place in range(len(asked))] if ids is None else list(ids)
        if len(names) != len(asked):
            raise InvalidInputError(f"ids must have one entry a question, {len(asked)}; got {len(names)}")
        self._steps = self._fresh()
        self._steps.begin(asked, names, self._models)
        return self._next()

    def step(self, samples: Sequence[Sample]) -> list[Wanted]:
        """Take one sample for each that was wanted, in order; search; return what is wanted next.

        An empty list: all rollouts are over.
        """
        self.hear(samples)
        self._steps.search()
        return self._next()

    def hear(self, samples: Sequence[Sample]) -> None:
        """Do the first part of `step`, for who searches in its own way; `searches` and `show` follow."""
        if len(samples) != len(self._wanted):
            raise InvalidInputError(
                f"samples must be one for each that was wanted, {len(self._wanted)}; got {len(samples)}"
            )
        answers = [
            self._generation(state, request, sample)
            for (state, request), sample in zip(self._wanted, samples, strict=True)
        ]
        self._wanted = []
        self._steps.take(answers)

    def searches(self) -> tuple[list[tuple[str, ...]], list[Asking]]:
        """Return the queries of each search of this step, and for whom they are asked."""
        return self._steps.searches()

    def show(self, found: Sequence[Observation]) -> list[Wanted]:
        """Show what was found for each of `searches`, and return what is wanted next."""
        if found:
            self._steps.show(found)
        return self._next()

    @property
    def done(self) -> list[bool]:
        """For each rollout whether it is over."""
        return [state.finish is not None for state in self._steps.states]

    def episodes(self) -> list[Episode]:
        """Return the rollouts, in the order of the questions; one that still runs as it stands."""
        return [
            self._episode(state, trail)
            for state, trail in zip(self._steps.states, self._steps.trails, strict=True)
        ]

    def reward(self, golden: Sequence[Gold | Iterable[str]], name: str | None = None) -> list[Score]:
        """Return the reward of each rollout.

        Parameters
        ----------
        golden : sequence of Gold or iterable of str
            One for each question.
        name : str, optional
            In place of the preset's reward.
        """
        states = self._steps.states
        if len(golden) != len(states):
            raise InvalidInputError(
                f"golden must have one entry a question, {len(states)}; got {len(golden)}"
            )
        return [
            score(name or self.preset.reward, state.rollout(False), gold)
            for state, gold in zip(states, golden, strict=True)
        ]

    def _fresh(self) -> _TokenSteps:
        return _TokenSteps(self._course, self.observer, self._tokenizer, self._completion)

    def _next(self) -> list[Wanted]:
        self._wanted = self._steps.requests()
        trails = self._steps.trails
        return [
            Wanted(
                state.row,
                (*trails[state.row].prompt, *trails[state.row].ids),
                request.max_new_tokens,
                request.stop,
            )
            for state, request in self._wanted
        ]

    def _generation(self, state: Live, request: Request, sample: Sample) -> Generation:
        if not isinstance(sample, Sample):
            raise InvalidTypeError(f"samples must hold Sample; got {describe(sample)}")
        if sample.error is not None:
            return Generation.failed(sample.error, calls=1)
        if sample.logprobs is not None and len(sample.logprobs) != len(sample.ids):
            raise InvalidInputError(
                f"Sample: logprobs must be one a token, {len(sample.ids)}; got {len(sample.logprobs)}"
            )
        trail = self._steps.trails[state.row]
        trail.hear(replace(sample, ids=sample.ids[: request.max_new_tokens]), self._ends)
        text, stop = decode(self._tokenizer, trail.body), None
        found = min(((text.find(word), word) for word in request.stop if word in text), default=None)
        if found is not None:
            text, stop, trail.stopped = text[: found[0]], found[1], True
        cut = stop is None and not trail.end and len(trail.body) >= request.max_new_tokens
        return Generation(
            texts=(text,),
            prompt_tokens=len(trail.prompt) + len(trail.ids),
            completion_tokens=len(trail.body) + len(trail.end),
            finish_reasons=("length" if cut else "stop",),
            stopped_at=(stop,),
        )

    def _episode(self, state: Live, trail: Trail) -> Episode:
        length = trail.length
        return Episode(
            state.rollout(False),
            tuple(trail.prompt),
            tuple(trail.ids[:length]),
            tuple(trail.mask[:length]),
            tuple(trail.logprobs[:length]) if trail.known else None,
            tuple(trail.turn_ends),
        )


class _TokenSteps(Steps):
    """Steps whose segments are counted by the tokens that were sampled and shown."""

    def __init__(
        self, course: Course, observer: Observer | None, tokenizer: Any, completion: int | None
    ) -> None:
        super().__init__(course, observer, lambda texts: count_tokens(tokenizer, texts))
        self.trails: list[Trail] = []
        self._tokenizer = tokenizer
        self._completion = completion

    def begin(self, questions: Sequence[str], ids: Sequence[str], models: Sequence[str] = ()) -> None:
        super().begin(questions, ids, models)
        for state, trail in zip(self.states, self.trails, strict=True):
            limits = [self.course.context] if self.course.context is not None else []
            if self._completion is not None:
                limits.append(len(trail.prompt) + self._completion)
            if limits:  # the template is counted here, so nothing is kept for it
                state.course = replace(self.course, context=min(limits) + TEMPLATE)

    def _sizes(self, prompts: list[str]) -> list[int]:
        self.trails = [Trail(prompt_ids(self._tokenizer, Request.of(prompt))) for prompt in prompts]
        return [len(trail.prompt) for trail in self.trails]

    def _settle(self, states: list[Live]) -> None:
        for state in states:
            trail, sizes = self.trails[state.row], []
            for role, text in state.pending:
                if role == "policy":
                    sizes.append(trail.keep(text, self._tokenizer, last=state.finish is not None))
                    if state.searching is not None:
                        trail.turn_ends.append(len(trail.ids) - 1)
                else:
                    sizes.append(trail.show(self._tokenizer(text, add_special_tokens=False)["input_ids"]))
            state.settle(sizes)
