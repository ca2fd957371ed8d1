"""Cheaper expansion: both kinds in one answer, traces that end in time, and samples after samples."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.expand import Expander
from sqe_fast.expansion.cache import ExpansionCache
from sqe_fast.expansion.parsing import cut_trace, parse_joint, parse_trace
from sqe_fast.expansion.prompts import STEP_END, Form, joint_request, trace_request
from sqe_fast.generate import make_generator
from sqe_fast.generate.base import Generation

STEP = "[THOUGHT] Look for the limit.\n[ACTION] bash: grep -rn limit\n[OBSERVATION] a.py:3: limit = 1\ndone"
OTHER = "[THOUGHT] Read it.\n[ACTION] cat a.py\n[OBSERVATION] def a():\n    1. not a list"
LIST = "1. Where is the cap set?\n2. Which file holds the cap?"
WORDINGS = ["Where is the cap set?", "Which file holds the cap?"]


class Model:
    """Answers with given texts, cut at the stop texts as an engine does; keeps the requests."""

    name = "model"

    def __init__(self, *texts):
        self.texts = texts
        self.requests = []

    def generate(self, requests):
        self.requests += requests
        return [self.answer(request) for request in requests]

    def answer(self, request):
        first = request.after
        texts = [cut_trace(text, request.stop) for text in self.texts[first : first + request.n]]
        words = sum(len(text.split()) for text in texts)
        return Generation(tuple(texts), prompt_tokens=100, completion_tokens=words)

    def close(self):
        pass


# -- one answer for both kinds ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        f"{LIST}\n\n{STEP}\n\n{OTHER}",
        f"{STEP}\n\n{OTHER}\n\n{LIST}",
        f"Here you are:\n\n{LIST}\n\n**Step 1:**\n{STEP}\n\n**Step 2:**\n{OTHER}",
        f"## Wordings\n{LIST}\n\n## Steps\n{STEP}\n---\n{OTHER}\n---",
        f"<think>1. no\n[THOUGHT] no</think>\n{LIST}\n```\n{STEP}\n```\n```\n{OTHER}\n```",
        f"{LIST}\n\nTrace 1:\n{STEP}\n\nTrace 2\n{OTHER}\n",
        f"{LIST}\n{STEP}\n{OTHER}",
    ],
)
def test_forms_of_a_joint_answer(answer):
    traces, paraphrases = parse_joint(answer, 2, 2)
    assert traces == [STEP, OTHER]
    assert paraphrases == WORDINGS


def test_joint_answers_that_lack_something():
    assert parse_joint(LIST, 1, 2) == ([], WORDINGS)
    assert parse_joint(STEP, 1, 2) == ([STEP], [])
    assert parse_joint("", 1, 1) == ([], [])
    assert parse_joint(f"{LIST}\n{STEP}\n{OTHER}", 1, 1) == ([STEP], WORDINGS[:1])
    # Blank lines and numbers inside an observation are its own, where no list from 1 begins behind them.
    step = "[THOUGHT] a\n[ACTION] b\n[OBSERVATION] c\n\n    2. d\n\ne"
    assert parse_joint(f"{LIST}\n\n{step}", 1, 2) == ([step], WORDINGS)


@given(answer=st.text(alphabet="[THOUG]ACIN BSERV123.)\n-*#`:a", max_size=300), K=st.integers(1, 3))
def test_any_answer_gives_at_most_what_is_wanted(answer, K):
    traces, paraphrases = parse_joint(answer, K, 2)
    assert len(traces) <= K
    assert len(paraphrases) <= 2
    assert all(trace in answer for trace in traces)


def test_one_call_and_one_prompt():
    model = Model(f"{LIST}\n\n{STEP}")
    (made,) = Expander(model, K=1, P=2, joint=True).expand(["Where is the limit?"])
    assert made.traces == (STEP,)
    assert made.paraphrases == tuple(WORDINGS)
    assert made.usage.totals()["calls"] == 1
    assert list(made.costs) == ["joint"]
    (request,) = model.requests
    assert (request.kind, request.n, request.want) == ("joint", 1, (1, 2))
    assert request.messages[0].content.endswith("Question: Where is the limit?")
    assert request.max_new_tokens == 256 + 2 * 48


def test_one_kind_alone_is_asked_as_ever():
    for K, P in ((2, 0), (0, 2)):
        joint, apart = Model(STEP, STEP), Model(STEP, STEP)
        Expander(joint, K=K, P=P, joint=True).expand(["q"])
        Expander(apart, K=K, P=P).expand(["q"])
        assert joint.requests == apart.requests
        assert len(joint.requests) == 1
    nothing = Expander(Model(), K=0, P=0, joint=True).expand(["q"])[0]
    assert nothing.probes == ()
    assert nothing.usage.totals()["calls"] == 0


def test_a_joint_answer_that_is_short_or_failed_says_so():
    (short,) = Expander(Model(STEP), K=2, P=2, joint=True).expand(["q"])
    assert short.notes == ("traces: 1 of 2", "paraphrases: 0 of 2")

    class Broken(Model):
        def answer(self, request):
            return Generation.failed("time-out", calls=1)

    (lost,) = Expander(Broken(), K=2, P=2, joint=True).expand(["q"])
    assert lost.error == "joint: time-out"
    assert lost.problems == {"traces": "time-out", "paraphrases": "time-out"}
    assert lost.usage.totals()["calls"] == 1


@pytest.fixture
def recorded(tmp_path):
    path = tmp_path / "expansions.jsonl"
    rows = [
        {"query": "a", "traces": [STEP, f"{OTHER}\n[THOUGHT] more"], "paraphrases": ["p  1", "p 2", "p 3"]},
        {"query": "b", "traces": [], "paraphrases": ["p"]},
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return make_generator(f"recorded:{path}")


def test_a_recording_serves_joint_requests(recorded):
    both, part = Expander(recorded, K=2, P=2, joint=True).expand(["a", "b"])
    assert both.traces == (STEP, f"{OTHER}\n[THOUGHT] more")
    assert both.paraphrases == ("p  1", "p 2")
    assert both.usage.totals()["completion_tokens"] == sum(len(text.split()) for text in both.probes)
    assert (part.traces, part.paraphrases) == ((), ("p",))
    assert part.notes == ("traces: 0 of 2", "paraphrases: 1 of 2")


def test_real_recordings_serve_joint_requests(shared_data):
    path = shared_data / "agent_memory/dev/expansions.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    questions = [row["query"] for row in rows]
    apart = Expander(make_generator(f"recorded:{path}")).expand(questions)
    joint = Expander(make_generator(f"recorded:{path}"), joint=True).expand(questions)
    assert [made.probes for made in joint] == [made.probes for made in apart]
    tokens = [sum(made.usage.total_tokens for made in side) for side in (apart, joint)]
    assert 0.7 * tokens[0] < tokens[1] < 0.9 * tokens[0]  # one prompt of the two is spared


def test_a_cache_keeps_joint_answers(tmp_path, recorded):
    with_cache = Expander(recorded, ExpansionCache(tmp_path / "cache.sqlite"), joint=True)
    first, again = with_cache.expand(["a"])[0], with_cache.expand(["a"])[0]
    assert again.probes == first.probes
    assert again.traces == first.traces
    assert again.cached
    assert again.usage.totals()["calls"] == 0


# -- where a trace ends ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "lines", "left"),
    [
        ("model", None, f"{STEP}\n\nI hope so.\n[THOUGHT] And then"),
        ("step", None, f"{STEP}\n\nI hope so."),
        ("blank", None, STEP),
        ("blank", 1, STEP.removesuffix("\ndone")),
        ("model", 2, STEP),
    ],
)
def test_ends_of_a_trace(end, lines, left):
    text = f"{STEP}\n\nI hope so.\n[THOUGHT] And then"
    model = Model(text)
    expander = Expander(model, K=1, P=0, trace_end=end, observation_lines=lines)
    (made,) = expander.expand(["q"])
    assert made.traces == (left,)
    assert model.requests[0].stop == STEP_END[end]
    # An engine that does not know stop texts is cut to the same trace.
    model.answer = lambda request: Generation((text,), prompt_tokens=1, completion_tokens=1)
    assert expander.expand(["q"])[0].traces == (left,)
    spent = made.usage.totals()["completion_tokens"]
    assert spent == len(cut_trace(text, STEP_END[end]).split())


def test_a_recording_counts_only_what_would_have_been_generated(recorded):
    whole, cut = (Expander(recorded, K=2, P=0, trace_end=end).expand(["a"])[0] for end in ("model", "step"))
    assert cut.traces == (STEP, OTHER)
    spared = whole.usage.totals()["completion_tokens"] - cut.usage.totals()["completion_tokens"]
    assert spared == len(["[THOUGHT]", "more"])


@given(text=st.text(alphabet="[OBSERVATION]\n a", max_size=80), lines=st.integers(1, 4))
def test_a_cut_trace_is_its_beginning(text, lines):
    for stop in STEP_END.values():
        cut = cut_trace(text, stop, lines)
        assert text.startswith(cut)
        assert cut_trace(cut, stop, lines) == cut
        assert not any(word in cut for word in stop)
        start = cut.find("[OBSERVATION]")
        assert start < 0 or cut[start:].count("\n") < lines


def test_the_prompt_says_what_is_wanted():
    plain = trace_request("q", 1, 0.8, 256, None)
    assert plain == trace_request("q", 1, 0.8, 256, None, Form())
    assert "a few lines of output" in plain.messages[0].content
    form = Form(end="blank", lines=3)
    for request in (
        trace_request("q", 1, 0.8, 256, None, form),
        joint_request("q", (1, 2), 0.8, 256, None, form),
    ):
        text = request.messages[0].content
        assert "at most 3 lines of output" in text
        assert "empty" in text
    # Several steps in one answer: where the second begins the answer is not over.
    assert joint_request("q", (2, 2), 0.8, 256, None, form).stop == ()
    assert joint_request("q", (1, 2), 0.8, 256, None, form).stop == STEP_END["step"]


@pytest.mark.parametrize("joint", [False, True])
def test_a_brief_prompt_asks_for_the_same(joint):
    full, brief = Model(STEP), Model(STEP)
    for model in (full, brief):
        settings = {"brief": model is brief, "observation_lines": 2, "trace_end": "blank"}
        Expander(model, K=1, P=2 if joint else 0, joint=joint, **settings).expand(["Where is it?"])
    long, short = (model.requests[0].messages[0].content for model in (full, brief))
    for part in (
        "[THOUGHT]",
        "[ACTION]",
        "[OBSERVATION] at most 2 lines",
        "150 words",
        "\n\nQuestion: Where is it?",
    ):
        assert part in long
        assert part in short
    assert len(short.split()) < len(long.split()) / 2
    assert full.requests[0].stop == brief.requests[0].stop


# -- samples after samples -------------------------------------------------------------------------


def test_later_samples_are_others(tmp_path, recorded):
    expander = Expander(recorded, ExpansionCache(tmp_path / "cache.sqlite"), K=1, P=0)
    first = expander.expand(["a"])[0]
    second = expander.expand(["a"], after=1)[0]
    assert first.traces + second.traces == Expander(recorded, K=2, P=0).expand(["a"])[0].traces
    assert expander.expand(["a"], after=[1])[0].traces == second.traces  # cached by itself
    beyond = expander.expand(["a"], after=2)[0]
    assert beyond.error == "traces: the recording holds no traces for 'a' after the first 2"


def test_a_seed_moves_on_with_the_samples():
    model = Model(STEP, OTHER, parse_trace(STEP))
    expander = Expander(model, K=1, P=0, seed=7)
    expander.expand(["q"])
    expander.expand(["q"], after=2)
    assert [request.seed for request in model.requests] == [7, 9]


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"joint": 1}, InvalidTypeError, "joint must be a bool; got int"),
        ({"brief": "yes"}, InvalidTypeError, "brief must be a bool; got str"),
        ({"trace_end": "soon"}, InvalidInputError, "trace_end must be one of model, step, blank; got 'soon'"),
        ({"observation_lines": 0}, InvalidInputError, "observation_lines must be from 1"),
    ],
)
def test_refuses_by_name(settings, error, message):
    with pytest.raises(error, match=message):
        Expander(Model(), **settings)
    with pytest.raises(InvalidInputError, match="one int, or one for each of 1 questions; got 2"):
        Expander(Model()).expand(["q"], after=[1, 2])
