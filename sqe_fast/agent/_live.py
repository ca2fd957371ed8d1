"""One question on its way: what was said so far, what may still be said, and how it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from sqe_fast.agent.dialect import Turn
from sqe_fast.agent.observe import Observation
from sqe_fast.agent.passages import fitting
from sqe_fast.agent.presets import Preset
from sqe_fast.agent.prompts import ANSWER_NOW, LAST_SEARCH
from sqe_fast.agent.squeeze import usage_of
from sqe_fast.agent.values import ROOMS, Asking, Budgets, Rollout, SearchTurn, Segment
from sqe_fast.expansion.parsing import without_thinking
from sqe_fast.generate.base import Generation, Message, Request
from sqe_fast.usage import Usage

__all__ = ["TEMPLATE", "Course", "Live"]

TEMPLATE = 64  # tokens that a chat template may put around the messages
_ANSWER, _END = "<answer>", "</answer>"


@dataclass(frozen=True)
class Course:
    """What all questions of a run have in common; `context` is a limit on everything together, or None."""

    preset: Preset
    budgets: Budgets
    context: int | None
    temperature: float
    seed: int | None
    chat: bool
    force: bool


@dataclass
class Live:
    """The state of one question.

    A step is `request`, `take`, and, where `searching` is then not None, `observe`; after `take` and
    `observe` the texts in `pending` become segments once they are counted (`settle`). `finish` is None while
    it lives.
    """

    course: Course
    id: str
    question: str
    copy: int  # earlier rollouts of the same question in this run
    segments: list[Segment]
    turns: list[SearchTurn] = field(default_factory=list)
    pending: list[tuple[Literal["policy", "observation"], str]] = field(default_factory=list)
    searching: tuple[str, ...] | None = None
    forcing: bool = False
    strict: bool = True  # no closing tag had to be added
    answer: str | None = None
    finish: str | None = None
    problem: str | None = None
    said: list[Generation] = field(default_factory=list)  # one a turn of the policy
    compressor: list[Usage] = field(default_factory=list)
    search: list[Usage] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(ROOMS, 0.0))
    row: int = 0  # its place in the run

    @property
    def asking(self) -> Asking:
        """For whom the search of this step is."""
        return Asking(self.id, self.question, len(self.turns))

    def request(self) -> Request | None:
        """Return what to generate next; None where a budget ends the rollout here."""
        budgets, force = self.course.budgets, self.course.force
        left = budgets.response - sum(one.tokens for one in self.segments if one.role == "policy")
        left = min(left, self._room())
        if not self.forcing:
            free = min(left - (budgets.answer if force else 0), budgets.turn or left)
            if free >= 1:
                if opening := self.course.preset.opening:
                    self.pending.append(("observation", opening))
                return self._request(free, f"turn {len(self.said)}")
            self._dead_end("length")
        if self.forcing and min(left, budgets.answer) >= 1:
            return self._request(min(left, budgets.answer), "answer")
        self.finish = "length"
        return None

    def take(self, answer: Generation) -> None:
        """Read what the policy said."""
        self.said.append(answer)
        if answer.error is not None or not answer.texts:
            self.finish, self.problem = "failed", answer.error or "the generator gave no text"
            return
        text = answer.texts[0] + ((answer.stopped_at[0] or "") if answer.stopped_at else "")
        cut = bool(answer.finish_reasons) and answer.finish_reasons[0] == "length"
        # An engine that does not tell its stop text, and did not run out of tokens, stopped at the tag that
        # is missing; or at its own end without it, which cannot be told apart.
        trusted = not answer.stopped_at and not cut
        if self.forcing:
            self._take_forced(text, trusted)
        else:
            preset = self.course.preset
            self._take_turn(preset.dialect.turn(preset.opening + text), trusted, cut)

    def shown(self, made: Observation) -> str:
        """Return the segment that shows what a search found, uncut."""
        return self._shown(made.turn.observation + self._end())

    def observe(
        self, made: Observation, text: str, tokens: int, count: Callable[[str], int]
    ) -> tuple[str, int]:
        """Show the policy what its search found, cut to what fits; return what is shown, and its tokens.

        `text` is `shown` and counts `tokens`.
        """
        budgets, turn, size = self.course.budgets, made.turn, tokens
        limit = min(budgets.observation, self._room() - (budgets.answer if self.course.force else 1))
        if tokens > limit:
            inner = self.course.preset.dialect.neutral(turn.observation)
            around = size = count(self._shown(self._end()))
            room = limit - around
            while room > 0:  # tokens of the parts need not sum to those of the whole
                text = self._shown(fitting(inner, tokens - around, room, count) + self._end())
                if (size := count(text)) <= limit:
                    break
                room -= size - limit
            else:
                text, size = self._shown(self._end().lstrip("\n")), around
            problem = f"observation of {tokens} tokens cut to {size}"
            turn = replace(turn, problem=f"{turn.problem}; {problem}" if turn.problem else problem)
        self.search += [made.usage_search] if made.usage_search is not None else []
        self.compressor += [made.usage_compressor] if made.usage_compressor is not None else []
        self.searching = None
        self.turns.append(turn)
        self.pending.append(("observation", text))
        return text, size

    def settle(self, tokens: list[int]) -> None:
        """Turn the pending texts, which count `tokens`, into segments."""
        for (role, text), size in zip(self.pending, tokens, strict=True):
            self.segments.append(Segment(role, text, size))
        self.pending.clear()

    def rollout(self, estimated: bool) -> Rollout:
        """Return the finished rollout."""
        response = "".join(segment.text for segment in self.segments[1:])
        nothing = Usage.zeros(1)
        return Rollout(
            id=self.id,
            question=self.question,
            segments=tuple(self.segments),
            turns=tuple(self.turns),
            answer=self.answer,
            valid=self.finish == "answer" and self.strict and self.course.preset.dialect.valid(response),
            finish=self.finish or "none",
            usage_policy=usage_of(self.said),
            usage_compressor=sum(self.compressor, nothing),
            usage_search=sum(self.search, nothing),
            seconds=dict(self.seconds),
            problem=self.problem,
            estimated=estimated,
        )

    def _room(self) -> int:
        """Return the tokens that still fit the model's window."""
        if self.course.context is None:
            return 2**31 - 1
        return self.course.context - sum(segment.tokens for segment in self.segments) - TEMPLATE

    def _request(self, limit: int, kind: str) -> Request:
        course = self.course
        messages, prefill = [Message("user", self.segments[0].text)], ""
        if course.chat:
            messages += _messages([*((one.role, one.text) for one in self.segments[1:]), *self.pending])
        else:
            prefill = "".join([one.text for one in self.segments[1:]] + [text for _, text in self.pending])
        seed = course.seed
        if seed is not None:  # copies of one question must differ; equal seeds let a batch run together
            seed = (seed + 1_000_003 * self.copy + len(self.said)) % 2**63
        return Request(
            tuple(messages),
            temperature=course.temperature,
            max_new_tokens=limit,
            seed=seed,
            stop=(_END,) if self.forcing else course.preset.dialect.stops,
            question=self.question,
            kind=kind,
            prefill=prefill,
            key=self.id,
        )

    def _take_turn(self, turn: Turn, trusted: bool, cut: bool) -> None:
        self._say(turn.text[len(self.course.preset.opening) :], turn.missing, trusted)
        if turn.action == "answer":
            self.answer, self.finish = turn.answer, "answer"
        elif (
            turn.action == "search"
            and self.course.preset.searches
            and (len(self.turns) < self.course.preset.turns)
        ):
            self.searching = tuple(dict.fromkeys(turn.queries))[: self.course.preset.queries]
        else:
            self._dead_end("length" if cut else "none")

    def _take_forced(self, text: str, trusted: bool) -> None:
        dialect = self.course.preset.dialect
        if self.course.chat and _ANSWER in text:
            turn = dialect.turn(text)
            if turn.action == "answer":
                self._say(turn.text, turn.missing, trusted)
                self.answer = turn.answer
            else:  # it searches once more, which cannot be, and answers all the same
                self._say(text, "", trusted)
                self.answer = dialect.answer(text)
        else:  # the answer was begun for it; or it leaves out the tags, asked in a chat
            body, end, _ = text.partition(_END)
            self._say(body + end, "" if end or self.course.chat else _END, trusted)
            body = without_thinking(body)
            self.answer = dialect.turn(f"{_ANSWER}{body}{_END}").answer or dialect.plain(body)
        self.answer = (self.answer or "").strip() or None
        self.finish = "none" if self.answer is None else "forced"

    def _say(self, text: str, missing: str, trusted: bool) -> None:
        """Add the policy's words; a closing tag that it did not write is not its own."""
        if missing and trusted:
            text, missing = text + missing, ""
        self.pending.append(("policy", text))
        if missing:
            self.strict = False
            self.pending.append(("observation", missing))

    def _dead_end(self, why: str) -> None:
        """Open the answer for the policy, or end here."""
        if not self.course.force:
            self.finish = why
            return
        self.forcing = True
        self.pending.append(("observation", f"\n{ANSWER_NOW}\n" if self.course.chat else f"\n{_ANSWER}"))

    def _end(self) -> str:
        """Return what an observation ends with: that it was the last, where it is."""
        return f"\n{LAST_SEARCH}" if len(self.turns) + 1 >= self.course.preset.turns else ""

    def _shown(self, observation: str) -> str:
        return f"\n\n{self.course.preset.dialect.show(observation)}\n\n"


def _messages(spoken: Iterable[tuple[str, str]]) -> list[Message]:
    """Return the turns of a chat: the policy as assistant, observations as user; neighbours are joined."""
    messages: list[Message] = []
    for role, text in spoken:
        author = "assistant" if role == "policy" else "user"
        if messages and messages[-1].role == author:
            messages[-1] = Message(author, messages[-1].content + text)
        else:
            messages.append(Message(author, text))
    return [Message(message.role, message.content.strip()) for message in messages]
