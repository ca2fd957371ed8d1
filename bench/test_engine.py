"""The engine over a memory: the batched pass, all methods at once, and the reference's way."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from bench import memories, ours
from bench.peers import EngineUnavailableError
from bench.rows.engine import QUESTIONS, check_answers, recorded_sides

WAYS = ["one pass", "all methods", "reference"]
FEW = 8  # questions that the reference answers, and that are compared


@pytest.mark.benchmark(group="selective query expansion, recorded expansions")
@pytest.mark.parametrize("way", WAYS)
def test_engine(timed: Callable[..., None], way: str) -> None:
    def prepare() -> tuple[Callable[[], object], int]:
        found = memories.load()
        try:
            engine, answer = recorded_sides(found)
        except ImportError as error:
            raise EngineUnavailableError(str(error)) from error
        few = found.questions(FEW)
        check_answers(engine, answer, few)
        questions = found.questions(QUESTIONS)
        if way == "reference":
            return lambda: [answer(question) for question in few], len(few)
        if way == "one pass":
            return partial(engine.search, questions), len(questions)
        return partial(engine.search_methods, questions, ours.methods()), len(questions)

    timed(prepare, "queries", way=way)
