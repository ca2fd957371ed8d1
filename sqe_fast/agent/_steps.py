"""All questions of a run in step: what each policy is to say next, what is searched, what is shown.

The loop without a policy: `Roller` drives it with a generator, the training environment with token ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from sqe_fast._checks import check_int, check_number, describe
from sqe_fast.agent._live import Course, Live
from sqe_fast.agent.observe import Observation, Observer
from sqe_fast.agent.presets import Preset, get_preset
from sqe_fast.agent.squeeze import Squeezer
from sqe_fast.agent.values import Asking, Budgets, Retriever, Segment
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.generate.base import Generation, Generator, Request

__all__ = ["Steps", "plan"]


def plan(
    retriever: Retriever | None,
    preset: Preset | str,
    *,
    compressor: Squeezer | Generator | None = None,
    budgets: Budgets | None = None,
    window: int | None = None,
    temperature: float = 0.0,
    seed: int | None = None,
    chat: bool = False,
    force: bool = True,
) -> tuple[Course, Observer | None]:
    """Return what all questions of a run have in common, and who answers their searches.

    Raises
    ------
    InvalidInputError, InvalidTypeError
        The parts do not fit the system.
    """
    preset = get_preset(preset)
    if preset.searches and retriever is None:
        raise InvalidInputError(f"{preset.name} searches: give a retriever")
    if preset.squeeze != (compressor is not None):
        raise InvalidInputError(
            f"{preset.name} squeezes what it finds: give a compressor"
            if preset.squeeze
            else f"{preset.name} shows passages as they are; a compressor is for squeeze=True"
        )
    if preset.opening and chat:
        raise InvalidInputError("opening: a chat cannot begin the policy's turn; use continuation='prefill'")
    if budgets is not None and not isinstance(budgets, Budgets):
        raise InvalidTypeError(f"budgets must be Budgets; got {describe(budgets)}")
    budgets = budgets or preset.budgets
    squeezer = compressor if isinstance(compressor, Squeezer) or compressor is None else Squeezer(compressor)
    observer = None
    if retriever is not None and preset.searches:
        observer = Observer(retriever, preset.k, squeezer)
    course = Course(
        preset=preset,
        budgets=budgets,
        context=budgets.context or window,
        temperature=check_number("temperature", temperature, 0, 10),
        seed=None if seed is None else check_int("seed", seed, 0, 2**62),
        chat=chat,
        force=bool(force),
    )
    return course, observer


class Steps:
    """The states of all questions, and what moves them.

    A step is `requests`, `take`, and where `searching` holds anything, `search` (or `show`, for who asks the
    observer in its own way).

    Parameters
    ----------
    course : Course
    observer : Observer or None
        None where the system does not search.
    count : callable
        Tokens of each of a list of texts.
    """

    def __init__(
        self, course: Course, observer: Observer | None, count: Callable[[list[str]], list[int]]
    ) -> None:
        self.course = course
        self.observer = observer
        self.states: list[Live] = []
        self.live: list[Live] = []
        self._count = count
        self._known: dict[str, int] = {}  # tokens of what is being shown

    def begin(self, questions: Sequence[str], ids: Sequence[str], models: Sequence[str] = ()) -> None:
        """Start a rollout for each question; `models` are those of a pool."""
        prompts = [self.course.preset.ask(question, models) for question in questions]
        copies: Counter[str] = Counter()
        for id, question, prompt, tokens in zip(ids, questions, prompts, self._sizes(prompts), strict=True):
            begun = [Segment("prompt", prompt, tokens)]
            state = Live(self.course, id, question, copies[question], begun, row=len(self.states))
            copies[question] += 1
            if tokens > self.course.budgets.prompt:
                state.finish = "failed"
                state.problem = (
                    f"prompt of {tokens} tokens exceeds the budget of {self.course.budgets.prompt}"
                )
            self.states.append(state)
        self._drop_finished()

    def requests(self) -> list[tuple[Live, Request]]:
        """Return what each live question's policy is to say next; nothing where all are over."""
        wanted = [(state, request) for state in self.live if (request := state.request()) is not None]
        self._settle(self.live)
        self._drop_finished()
        return wanted

    def take(self, answers: Sequence[Generation]) -> None:
        """Read what the policies said, in the order of the requests."""
        for state, answer in zip(self.live, answers, strict=True):
            state.take(answer)
        self._settle(self.live)
        self._drop_finished()

    @property
    def searching(self) -> list[Live]:
        """The questions that search in this step."""
        return [state for state in self.live if state.searching is not None]

    def searches(self) -> tuple[list[tuple[str, ...]], list[Asking]]:
        """Return the queries of this step's searches, and for whom they are asked."""
        searching = self.searching
        return [state.searching or () for state in searching], [state.asking for state in searching]

    def search(self) -> list[Live]:
        """Answer all searches of this step, and return whose they were."""
        searching = self.searching
        if searching and self.observer is not None:
            self.show(self.observer.observe(*self.searches()))
        return searching

    def show(self, found: Sequence[Observation]) -> None:
        """Show each searching question what was found."""
        pairs = list(zip(self.searching, found, strict=True))
        texts = [state.shown(one) for state, one in pairs]
        for (state, one), text, tokens in zip(pairs, texts, self._count(texts), strict=True):
            shown, size = state.observe(one, text, tokens, lambda part: self._count([part])[0])
            self._known[shown] = size
        self._settle([state for state, _ in pairs])
        self._known = {}

    def _sizes(self, prompts: list[str]) -> list[int]:
        return self._count(prompts)

    def _settle(self, states: list[Live]) -> None:
        """Count all new texts at once; what was shown was counted when it was cut to fit."""
        texts = [text for state in states for _, text in state.pending if text not in self._known]
        sizes = self._known | dict(zip(texts, self._count(texts) if texts else (), strict=True))
        for state in states:
            state.settle([sizes[text] for _, text in state.pending])

    def _drop_finished(self) -> None:
        self.live = [state for state in self.states if state.finish is None]
