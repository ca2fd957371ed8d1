"""Rollouts in step over a batch: one generation, one search and one squeeze a turn for all live questions."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Literal

from sqe_fast._checks import check_choice, check_texts, describe
from sqe_fast.agent._live import Live
from sqe_fast.agent._steps import Steps, plan
from sqe_fast.agent.presets import Preset
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
        window = getattr(policy, "window", None)
        self._course, self._observer = plan(
            retriever,
            preset,
            compressor=compressor,
            budgets=budgets,
            window=window if isinstance(window, int) else None,
            temperature=temperature,
            seed=seed,
            chat=check_choice("continuation", continuation, CONTINUATIONS) == "chat",
            force=force_answer,
        )
        self.preset = self._course.preset
        self.policy = policy
        self.squeezer = self._observer.squeezer if self._observer is not None else None
        self._counter = policy if isinstance(policy, TokenCounter) else None
        self._models: tuple[str, ...] = tuple(getattr(retriever, "names", ()))

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
        steps = Steps(self._course, self._observer, self._count)
        steps.begin(asked, names, self._models)
        while self._speak(steps):
            searching = steps.search()
            if searching and self._observer is not None:
                for room, seconds in self._observer.seconds.items():
                    _share(searching, room, seconds)
        return [state.rollout(self._counter is None) for state in steps.states]

    def _speak(self, steps: Steps) -> bool:
        """Let each question's policy take its turn, in one call; return whether any could."""
        began = time.perf_counter()
        wanted = steps.requests()
        if wanted:
            steps.take(self.policy.generate([request for _, request in wanted]))
            _share([state for state, _ in wanted], "policy", time.perf_counter() - began)
        return bool(wanted)

    def _count(self, texts: list[str]) -> list[int]:
        if self._counter is not None:
            return self._counter.count_tokens(texts)
        return [-(-len(text.encode("utf-8", "surrogatepass")) // 4) for text in texts]


def _share(states: list[Live], room: str, seconds: float) -> None:
    for state in states:
        state.seconds[room] += seconds / len(states)
