"""Rollouts in step over a batch: one generation, one search and one squeeze a turn for all live questions."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from sqe_fast._checks import check_choice, check_int, check_number, check_texts, describe
from sqe_fast.agent._live import Course, Live
from sqe_fast.agent.observe import Observer
from sqe_fast.agent.presets import Preset, get_preset
from sqe_fast.agent.squeeze import Squeezer
from sqe_fast.agent.values import Budgets, Passage, Retriever, Rollout, SearchTurn, Segment
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.generate.base import Generator, TokenCounter

__all__ = ["CONTINUATIONS", "Budgets", "Passage", "Retriever", "Roller", "Rollout", "SearchTurn", "Segment"]

CONTINUATIONS = ("prefill", "chat")


class Roller:
    """Runs one system over batches of questions, all of a batch in step.

    A step is one call of the policy for all live questions, one call of the retriever for all their queries,
    and one call of the compressor for all that was found. A question that answers leaves the batch.

    Parameters
    ----------
    policy : Generator
        The model that thinks, searches and answers. Where it counts tokens (`TokenCounter`) budgets are
        exact, else a token is taken to be four bytes, and rollouts say so.
    retriever : Retriever or None
        None for a system that does not search.
    preset : Preset or str
        The system.
    compressor : Squeezer or Generator, optional
        For a system that squeezes; needed there.
    budgets : Budgets, optional
        In place of the preset's.
    temperature, seed
        How the policy is sampled. With a seed, copies of one question still differ from each other.
    continuation : "prefill" or "chat"
        How the policy goes on after an observation: its answer is continued (as Search-R1 trains; the prompt
        of a step begins with that of the step before, so a prefix cache holds it), or observations are
        messages of a chat, for endpoints that cannot continue an answer.
    force_answer : bool
        Ask once more, with the answer begun, where the policy neither searches nor answers, runs out of
        searches, or comes to the end of its budget.

    Notes
    -----
    A generator that fails on one question ends that question (`finish` "failed"); an exception of the
    retriever ends the run.

    Examples
    --------
    >>> from sqe_fast.agent.replay import RecordedPolicy
    >>> policy = RecordedPolicy({}, default=["<think>I know it.</think><answer>1815</answer>"])
    >>> rollout = Roller(policy, None, "r1").run(["When was Emma published?"])[0]
    >>> rollout.answer, rollout.valid, rollout.finish
    ('1815', True, 'answer')
    """

    def __init__(
        self,
        policy: Generator,
        retriever: Retriever | None,
        preset: Preset | str,
        *,
        compressor: Squeezer | Generator | None = None,
        budgets: Budgets | None = None,
        temperature: float = 0.0,
        seed: int | None = None,
        continuation: Literal["prefill", "chat"] = "prefill",
        force_answer: bool = True,
    ) -> None:
        if not isinstance(policy, Generator):
            raise InvalidTypeError(f"policy must have name, generate and close; got {describe(policy)}")
        preset = get_preset(preset)
        if preset.searches and retriever is None:
            raise InvalidInputError(f"{preset.name} searches: give a retriever")
        if preset.squeeze != (compressor is not None):
            raise InvalidInputError(
                f"{preset.name} squeezes what it finds: give a compressor"
                if preset.squeeze
                else f"{preset.name} shows passages as they are; a compressor is for squeeze=True"
            )
        if preset.opening and continuation == "chat":
            raise InvalidInputError(
                "opening: a chat cannot begin the policy's turn; use continuation='prefill'"
            )
        if budgets is not None and not isinstance(budgets, Budgets):
            raise InvalidTypeError(f"budgets must be Budgets; got {describe(budgets)}")
        budgets = budgets or preset.budgets
        squeezer = (
            compressor if isinstance(compressor, Squeezer) or compressor is None else Squeezer(compressor)
        )
        self.preset = preset
        self.policy = policy
        self.squeezer = squeezer
        self._counter = policy if isinstance(policy, TokenCounter) else None
        self._models: tuple[str, ...] = tuple(getattr(retriever, "names", ()))
        self._observer = (
            Observer(retriever, preset.k, squeezer) if retriever is not None and preset.searches else None
        )
        window = getattr(policy, "window", None)
        self._course = Course(
            preset=preset,
            budgets=budgets,
            context=budgets.context or (window if isinstance(window, int) else None),
            temperature=check_number("temperature", temperature, 0, 10),
            seed=None if seed is None else check_int("seed", seed, 0, 2**62),
            chat=check_choice("continuation", continuation, CONTINUATIONS) == "chat",
            force=bool(force_answer),
        )

    def run(self, questions: Iterable[str], ids: Sequence[str] | None = None) -> list[Rollout]:
        """Return one rollout a question, in order.

        Parameters
        ----------
        questions : iterable of str
            n questions; the same one may be asked several times.
        ids : sequence of str, optional
            n names for them; by default their positions. What is recorded is looked up by these.

        Raises
        ------
        InvalidInputError, InvalidTypeError
            An argument is not allowed; a retriever may raise what it likes.
        """
        asked = list(check_texts("questions", questions))
        for position, question in enumerate(asked):
            if not isinstance(question, str):
                raise InvalidTypeError(f"questions[{position}] must be a str; got {describe(question)}")
        names = [str(position) for position in range(len(asked))] if ids is None else list(ids)
        if len(names) != len(asked):
            raise InvalidInputError(f"ids must have one entry a question, {len(asked)}; got {len(names)}")
        states = self._begin(asked, names)
        live = [state for state in states if state.finish is None]
        while live:
            self._speak(live)
            self._search([state for state in live if state.searching is not None])
            live = [state for state in live if state.finish is None]
        return [state.rollout(self._counter is None) for state in states]

    def _begin(self, questions: list[str], ids: list[str]) -> list[Live]:
        prompts = [self.preset.ask(question, self._models) for question in questions]
        copies: Counter[str] = Counter()
        states = []
        for id, question, prompt, tokens in zip(ids, questions, prompts, self._count(prompts), strict=True):
            state = Live(self._course, id, question, copies[question], [Segment("prompt", prompt, tokens)])
            copies[question] += 1
            if tokens > self._course.budgets.prompt:
                state.finish = "failed"
                state.problem = (
                    f"prompt of {tokens} tokens exceeds the budget of {self._course.budgets.prompt}"
                )
            states.append(state)
        return states

    def _speak(self, live: list[Live]) -> None:
        """Let each question's policy take its turn, in one call."""
        began = time.perf_counter()
        wanted = [(state, request) for state in live if (request := state.request()) is not None]
        if wanted:
            answers = self.policy.generate([request for _, request in wanted])
            for (state, _), answer in zip(wanted, answers, strict=True):
                state.take(answer)
        self._settle(live)
        _share([state for state, _ in wanted], "policy", time.perf_counter() - began)

    def _search(self, searching: list[Live]) -> None:
        """Answer all searches of this step."""
        if not searching or self._observer is None:
            return
        searches = [state.searching or () for state in searching]
        found = self._observer.observe(searches, [state.asking for state in searching])
        pairs = list(zip(searching, found, strict=True))
        tokens = self._count([state.shown(one) for state, one in pairs])
        for (state, one), size in zip(pairs, tokens, strict=True):
            state.observe(one, size, lambda text: self._count([text])[0])
        self._settle(searching)
        for room, seconds in self._observer.seconds.items():
            _share(searching, room, seconds)

    def _settle(self, states: list[Live]) -> None:
        """Count all new texts at once."""
        tokens = iter(self._count([text for state in states for _, text in state.pending]))
        for state in states:
            state.settle([next(tokens) for _ in state.pending])

    def _count(self, texts: list[str]) -> list[int]:
        if self._counter is not None:
            return self._counter.count_tokens(texts)
        return [-(-len(text.encode("utf-8", "surrogatepass")) // 4) for text in texts]


def _share(states: list[Live], room: str, seconds: float) -> None:
    for state in states:
        state.seconds[room] += seconds / len(states)
