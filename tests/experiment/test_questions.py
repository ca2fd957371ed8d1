"""Questions: what is made of a model's answer, asking again, the cache, and files of questions."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqe_fast.episode import Episode
from sqe_fast.errors import InvalidInputError, RecordError
from sqe_fast.expansion.cache import ExpansionCache
from sqe_fast.experiment.questions import (
    Question,
    Writer,
    load_questions,
    parse_question,
    question_request,
    save_questions,
)
from sqe_fast.generate.base import Generation

TARGETS = [Episode(f"e{i}", f"[ACTION] bash: step {{{i}}} of many") for i in range(7)]


class Scripted:
    """Answers each target with the next text of its script, then with a good question."""

    name = "scripted"

    def __init__(self, script=None):
        self.script = {name: list(answers) for name, answers in (script or {}).items()}
        self.calls = []

    def generate(self, requests):
        self.calls.append([request.question for request in requests])
        return [self.answer(request) for request in requests]

    def answer(self, request):
        left = self.script.get(request.question)
        made = left.pop(0) if left else f"What was {request.question}?"
        if isinstance(made, Generation):
            return made
        return Generation((made,), 40, 8, 6, ("stop",))

    def close(self):
        pass


@pytest.mark.parametrize(
    ("answer", "question"),
    [
        ("Why did it fail?", "Why did it fail?"),
        ('"Why did it fail?"', "Why did it fail?"),
        ("“Why did it fail?”", "Why did it fail?"),
        ("<think>\nWhat then?\n</think>\n\nWhy did it fail?", "Why did it fail?"),
        ("Question: Why did it fail?\nAnswer: The disk was full.", "Why did it fail?"),
        ("**Question:** *Why did it fail?* It was late.", "Why did it fail?"),
        ("Here is a question that fits:\n\nWhy did it fail?", "Why did it fail?"),
        ("Sure! Here you go: Why did it fail?", "Why did it fail?"),
        ("1. Why did it fail?\n2. Who did it?", "Why did it fail?"),
        ("The step lists files.\nWhy did it fail?", "Why did it fail?"),
        ("Why did it fail? And where?", "Why did it fail?"),
        ("Why did a?b and x.y? fail?", "Why did a?b and x.y?"),
        ("どうして失敗したの？", "どうして失敗したの？"),
        ("The question you are asking is: Why did it fail?", "Why did it fail?"),
        ("I wonder where the limit is set.", ""),
        ("True", ""),
        ("Q-learning or not?", "Q-learning or not?"),
        ("", ""),
        ("```\n```", ""),
        ("<think>never ends", ""),
        ("...", ""),
    ],
)
def test_one_question_of_an_answer(answer, question):
    assert parse_question(answer) == question


@given(st.text(max_size=60))
def test_any_answer_gives_one_line(answer):
    text = parse_question(answer)
    assert "\n" not in text
    assert text == text.strip()
    assert not text or text.rstrip("\"'”’*_)")[-1] in "?？؟"


def test_the_request_is_the_protocols():
    request = question_request(TARGETS[0], 42)
    assert (request.temperature, request.max_new_tokens, request.n) == (0.7, 128, 1)
    assert TARGETS[0].text in request.messages[0].content
    seeds = {question_request(t, s, a).seed for t in TARGETS for s in (42, 43) for a in (0, 1)}
    assert len(seeds) == 28  # no two targets, seeds or attempts share their random numbers
    assert question_request(TARGETS[0], 42) == request


def test_failures_are_asked_again_and_counted():
    cut = Generation(("Why did the long",), 40, 8, 128, ("length",))
    generator = Scripted(
        {
            "e1": ["...", Generation.failed("time-out", calls=1)],
            "e2": [Generation.failed("time-out", calls=1)] * 3,
            "e3": [cut, cut, cut],
            "e5": [Generation((), 40, 0, 0)] * 3,
        }
    )
    done = []
    writer = Writer(generator, seed=1, chunk=4)
    questions = writer.write(TARGETS, done.append)
    assert [one.id for one in questions] == [f"q000{i}" for i in range(7)]
    assert [one.target for one in questions] == [target.id for target in TARGETS]
    assert [bool(one.text) for one in questions] == [True, True, False, False, True, False, True]
    assert [one.problem for one in questions] == [
        *(None, None, "time-out", "the answer was cut after 128 tokens, before a question ended"),
        *(None, "the model gave no answer", None),
    ]
    first = [["e0", "e1", "e2", "e3"], ["e1", "e2", "e3"], ["e1", "e2", "e3"]]
    assert generator.calls == [*first, ["e4", "e5", "e6"], ["e5"], ["e5"]]
    assert done == [4, 7]
    assert writer.usage["calls"] == sum(map(len, generator.calls))


def test_what_was_answered_is_not_asked_again(tmp_path):
    cache = ExpansionCache(tmp_path / "c.sqlite")
    script = {"e1": ["..."], "e2": [Generation.failed("down")] * 3}
    first = Writer(Scripted(script), cache, seed=1).write(TARGETS)
    generator = Scripted()
    writer = Writer(generator, cache, seed=1)
    again = writer.write(TARGETS)
    assert generator.calls == [["e2"]]  # the one that failed to the end; e1 has its second answer
    assert [one for one in again if one.target != "e2"] == [one for one in first if one.target != "e2"]
    assert writer.usage["calls"] == 1
    cache.close()


def test_equal_targets_are_asked_once():
    twins = [Episode("e1", "same"), Episode("e1", "same")]
    generator = Scripted()
    assert [one.text for one in Writer(generator).write(twins)] == ["What was e1?"] * 2
    assert generator.calls == [["e1"]]


def test_a_file_of_questions_round_trips(tmp_path):
    path = tmp_path / "questions.jsonl"
    questions = [Question("q0", "où?", "a"), Question("q1", "", "b", "time-out"), Question("q2", "why?", "a")]
    save_questions(path, questions)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[1] == {"query_id": "q1", "query": "", "target_id": "b", "problem": "time-out"}
    read = load_questions(path, {"a", "b"})
    assert read[::2] == questions[::2]
    assert read[1].problem is not None


@pytest.mark.parametrize(
    ("lines", "error", "message"),
    [
        ([{"query": "a", "query_id": "1"}], RecordError, "question '1' must have one target; got 0"),
        ([{"query": "a", "targets": ["x", "y"]}], RecordError, "must have one target; got 2"),
        ([{"query": "a", "target_id": "z"}], RecordError, "its target 'z' is not in the store"),
        ([{"query": "a", "id": "1", "target": "x"}] * 2, RecordError, "question '1' stands there twice"),
        ([{"target": "x"}], RecordError, "questions.jsonl:1: needs the question"),
        ([], InvalidInputError, "holds no question"),
    ],
)
def test_questions_that_do_not_fit_are_named(tmp_path, lines, error, message):
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(error, match=message):
        load_questions(path, {"x", "y"})
