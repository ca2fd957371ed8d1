"""Cascades: which questions take the dear step, what it costs, and that the probes are those of one step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("faiss")

from oracles.methods import Plain, Probes
from oracles.small import WORDS, ScriptedGenerator, TextEncoder, small_store

from sqe_fast.engine import Engine
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.expand import Expander
from sqe_fast.gate import Accept, AlwaysGate
from sqe_fast.generate.recorded import RecordedGenerator
from sqe_fast.methods import PARAPHRASES, QUESTION_BOTH, TRACES, Method, Stage, get_method
from sqe_fast.text import tokenize

NEVER, EVER = "top1 >= 5", "top1 >= -5"
HALF = "top1 >= 0.53"  # about the middle of what the first traces have in the small store
ALL = Method("all", "all", AlwaysGate(), (QUESTION_BOTH,), (TRACES, PARAPHRASES), k=10, fusion="zscore")
QUESTIONS = [f"where is the {a} of the {b}" for a in WORDS[:5] for b in WORDS[5:8]]


def cascade(*stages, **changes):
    return replace(ALL, stages=stages, **{"name": "cascade", **changes})


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with small_store(tmp_path_factory.mktemp("small") / "memory", TextEncoder()) as store:
        yield store


@pytest.fixture
def generator():
    return ScriptedGenerator()


@pytest.fixture
def engine(store, generator):
    return Engine(store, generator=generator)


# -- the dev set -----------------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["strong", "weak"])
def test_equals_the_restatement(code_dev, who):
    done, worth = Accept.parse("top1 >= question + 0.1"), Accept.parse("bm25_z >= 8")
    two = replace(ALL, added=(TRACES,), accept="top1 >= 0.5")
    method = replace(two, name="cascade", stages=(Stage(1, 0, done, worth=worth),))
    engine = Engine(code_dev.store, generator=RecordedGenerator(code_dev.recorded[who]), chunk=100)
    batch = engine.search(code_dev.questions, method)
    plain = Plain(code_dev.ids, code_dev.store.bm25, code_dev.vectors, code_dev.vector_of)
    probes = Probes(plain, code_dev.texts, lambda text: tokenize(text, "code"))
    steps = []
    for row in range(0, 360, 9):
        question = code_dev.questions[row]
        traces = code_dev.expansions[who][question]["traces"]
        ends = probes.weight(done, traces[0], question, []) > 0
        ends = ends or not probes.weight(worth, traces[0], question, [])
        steps.append(1 if ends else 2)
        kept = traces[: steps[-1]]
        lists, weights = [("dense", question), ("bm25", question)], [1, 1]
        for text in kept:
            lists += [("dense", text), ("bm25", text)]
            weights += [probes.weight(method.accept, text, question, [])] * 2
        assert batch.ids[row] == plain.answer(lists, weights)
    assert batch.steps[::9].tolist() == steps
    assert {1, 2} == set(batch.steps)
    assert batch.usage.calls.tolist() == batch.steps.tolist()
    # A second call pays for the prompt again, and the words are those of one call.
    single = engine.search(code_dev.questions, two).usage
    assert batch.usage.completion_tokens.sum() < single.completion_tokens.sum()
    both = batch.steps == 2
    assert (batch.usage.completion_tokens[both] == single.completion_tokens[both]).all()
    assert (batch.usage.prompt_tokens[both] == 2 * single.prompt_tokens[both]).all()


# -- steps and calls -------------------------------------------------------------------------------


def test_the_dear_step_is_one_call_for_those_that_are_not_done(engine, generator):
    batch = engine.search(QUESTIONS, cascade(Stage(1, 0, HALF)))
    first, second = generator.calls
    assert [kind for kind, _, _ in first] == ["traces"] * 15
    undone = [question for question, steps in zip(QUESTIONS, batch.steps, strict=True) if steps == 2]
    assert 0 < len(undone) < 15
    assert second == [call for q in undone for call in (("traces", q, 1), ("paraphrases", q, 1))]
    assert batch.usage.calls.tolist() == [1 if steps == 1 else 3 for steps in batch.steps]
    assert batch.usage.completion_tokens.tolist() == [3 if steps == 1 else 12 for steps in batch.steps]
    assert batch.problems == (None,) * 15
    assert (batch.lengths[batch.steps == 1, 4:] == -1).all()
    assert (batch.lengths[batch.steps == 2] == 60).all()


@pytest.mark.parametrize("fusion", ["rrf", "zscore"])
def test_the_ends_are_the_methods_of_one_step(engine, fusion):
    whole = engine.search(QUESTIONS, replace(ALL, fusion=fusion))
    dear = engine.search(QUESTIONS, cascade(Stage(1, 0, NEVER), Stage(1, 2, NEVER), fusion=fusion))
    assert dear.ids == whole.ids
    assert np.array_equal(dear.lengths, whole.lengths)
    assert dear.steps.tolist() == [3] * 15
    cheap = engine.search(QUESTIONS, cascade(Stage(1, 0, EVER), fusion=fusion))
    assert cheap.ids == engine.search(QUESTIONS, replace(ALL, added=(TRACES,), K=1, fusion=fusion)).ids
    assert cheap.steps.tolist() == [1] * 15


def test_where_nothing_is_worth_it_the_dear_step_is_spared(engine, generator):
    batch = engine.search(QUESTIONS, cascade(Stage(1, 0, NEVER, worth=NEVER)))
    assert len(generator.calls) == 1
    assert batch.steps.tolist() == [1] * 15
    assert engine.search(QUESTIONS, cascade(Stage(1, 0, NEVER, worth=EVER))).steps.tolist() == [2] * 15


def test_enough_probes_must_be_accepted(engine):
    rule = Accept.parse(HALF)
    counts = []
    for enough in (1, 2, 3):
        batch = engine.search(QUESTIONS, cascade(Stage(1, 2, rule, enough)))
        counts.append(int((batch.steps == 2).sum()))
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


def test_each_text_is_encoded_once(store, generator):
    encoder = TextEncoder()
    Engine(store, encoder, generator).search(QUESTIONS, cascade(Stage(1, 0, HALF)))
    texts = [text for _, texts in encoder.calls for text in texts]
    assert len(texts) == len(set(texts))


@settings(max_examples=20, deadline=None)
@given(order=st.permutations(range(15)), chunk=st.integers(1, 16))
def test_neither_order_nor_chunks_count(store, order, chunk):
    method = cascade(Stage(1, 0, HALF))
    whole = Engine(store, generator=ScriptedGenerator()).search(QUESTIONS, method)
    engine = Engine(store, generator=ScriptedGenerator(), chunk=chunk)
    moved = engine.search([QUESTIONS[i] for i in order], method)
    assert moved.ids == tuple(whole.ids[i] for i in order)
    assert moved.steps.tolist() == whole.steps[list(order)].tolist()
    assert moved.usage.calls.tolist() == whole.usage.calls[list(order)].tolist()


def test_methods_beside_it_change_nothing(store):
    methods = [
        cascade(Stage(1, 0, HALF)),
        cascade(Stage(1, 0, HALF), name="same steps, other fusion", fusion="rrf"),
        cascade(Stage(0, 2, "top1 >= 0.6"), name="paraphrases first"),
        replace(cascade(Stage(1, 0, HALF)), name="gated", gate=get_method("random").gate),
        ALL,
        get_method("sqe"),
    ]
    found = Engine(store, generator=ScriptedGenerator()).search_methods(QUESTIONS, methods)
    for method in methods:
        alone = Engine(store, generator=ScriptedGenerator()).search(QUESTIONS, method)
        among = found[method.name]
        assert among.ids == alone.ids
        assert among.steps.tolist() == alone.steps.tolist()
        assert among.usage.totals() == alone.usage.totals()
        assert among.problems == alone.problems


# -- odd questions and failures --------------------------------------------------------------------


def test_blank_and_repeated_questions(engine):
    asked = ["", QUESTIONS[0], QUESTIONS[1], QUESTIONS[0], " "]
    batch = engine.search(asked, cascade(Stage(1, 0, NEVER)))
    assert batch.steps.tolist() == [0, 2, 2, 2, 0]
    assert batch.ids[1] == batch.ids[3]
    assert batch.usage.calls.tolist() == [0, 3, 3, 0, 0]
    assert engine.search([""], cascade(Stage(1, 0, NEVER))).ids == ((),)
    assert len(engine.search([], cascade(Stage(1, 0, NEVER)))) == 0


def test_a_step_that_fails_leaves_all_to_the_next(store):
    class Fickle(ScriptedGenerator):
        def answer(self, request):
            self.fail = set(QUESTIONS[:2]) if len(self.calls) == 1 else set(QUESTIONS[:1])
            return super().answer(request)

    batch = Engine(store, generator=Fickle()).search(QUESTIONS[:3], cascade(Stage(1, 0, EVER)))
    assert batch.steps.tolist() == [2, 2, 1]
    assert batch.problems == ("traces: time-out; paraphrases: time-out", None, None)
    assert (batch.lengths[1] == 60).all()
    assert batch.usage.calls.tolist() == [3, 3, 1]


def test_one_answer_for_both_kinds(store):
    generator = ScriptedGenerator()
    batch = Engine(store, generator=Expander(generator, joint=True)).search(
        QUESTIONS, cascade(Stage(1, 0, HALF))
    )
    plain = Engine(store, generator=ScriptedGenerator()).search(QUESTIONS, cascade(Stage(1, 0, HALF)))
    assert batch.ids == plain.ids
    assert {kind for kind, _, _ in generator.calls[1]} == {"joint"}
    assert batch.usage.calls.tolist() == batch.steps.tolist()


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Stage(0, 0, EVER), InvalidInputError, "a Stage must make something"),
        (lambda: Stage(1, 0, EVER, enough=2), InvalidInputError, "enough must be from 1 to 1; got 2"),
        (lambda: Stage(1, 0, None), InvalidTypeError, "done must be an Accept or a text of rules"),
        (
            lambda: cascade(Stage(2, 2, EVER)),
            InvalidInputError,
            "must make less than the method",
        ),
        (lambda: cascade(Stage(1, 1, EVER)), InvalidInputError, "K up to 2 and P 0 or 2; got K=1, P=1"),
        (
            lambda: cascade(Stage(1, 0, EVER), Stage(1, 0, EVER)),
            InvalidInputError,
            r"\[1\] must make more",
        ),
        (
            lambda: replace(ALL, stages=[Stage(1, 0, EVER)]),
            InvalidTypeError,
            "stages must be a tuple",
        ),
        (
            lambda: get_method("hybrid", stages=(Stage(1, 0, EVER),)),
            InvalidInputError,
            "Hybrid-RRF has no 'stages'",
        ),
    ],
)
def test_refuses_by_name(make, error, message):
    with pytest.raises(error, match=message):
        make()
