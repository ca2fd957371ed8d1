"""Expander: one call for all questions, partial failure, repeats, and the cache."""

from __future__ import annotations

import pytest

from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.expand import Expander
from sqe_fast.expansion.cache import ExpansionCache
from sqe_fast.generate import Generation


class Scripted:
    """A generator that answers from the request, and remembers what it was asked."""

    name = "scripted:1"

    def __init__(self, fail=()):
        self.calls = []
        self.fail = set(fail)

    def generate(self, requests):
        self.calls.append(list(requests))
        return [self.answer(request) for request in requests]

    def answer(self, request):
        if (request.kind, request.question) in self.fail:
            return Generation.failed("time-out", calls=1)
        if request.kind == "traces":
            texts = tuple(f"[THOUGHT] {request.question} {i}" for i in range(request.n))
        else:
            texts = (f"Here you go:\n1) first {request.question}\n2) second {request.question}",)
        return Generation(texts, 100, 64, 10 * request.n, ("stop",) * len(texts))

    def close(self):
        pass


def test_one_call_for_all_questions():
    generator = Scripted()
    made = Expander(generator).expand(["a", "b", "c"])
    assert len(generator.calls) == 1
    assert len(generator.calls[0]) == 6
    assert made[1].traces == ("[THOUGHT] b 0", "[THOUGHT] b 1")
    assert made[1].paraphrases == ("first b", "second b")
    assert made[1].probes == made[1].traces + made[1].paraphrases
    assert made[1].usage.totals() == {
        "calls": 2, "prompt_tokens": 200, "cached_tokens": 128, "completion_tokens": 30,
    }  # fmt: skip
    assert (made[1].error, made[1].notes, made[1].cached) == (None, (), False)


def test_prompts_put_the_instruction_first_and_the_question_last():
    generator = Scripted()
    Expander(generator, K=3, seed=4).expand(["where {is} it?", "why?"])
    traces, paraphrases, other, _ = generator.calls[0]
    assert (traces.n, traces.temperature, traces.max_new_tokens, traces.seed) == (3, 0.8, 256, 4)
    assert (paraphrases.n, paraphrases.temperature, paraphrases.max_new_tokens) == (1, 0.5, 256)
    for request in (traces, paraphrases):
        assert request.messages[-1].content.endswith("Question: where {is} it?")
    shared = traces.messages[0].content.removesuffix("where {is} it?")
    assert other.messages[0].content == shared + "why?"


def test_kinds_can_be_left_out():
    generator = Scripted()
    expander = Expander(generator)
    assert expander.expand(["a"], P=0)[0].paraphrases == ()
    assert expander.expand(["a"], K=0)[0].traces == ()
    nothing = expander.expand(["a"], K=0, P=0)[0]
    assert (nothing.probes, nothing.cached, nothing.usage.total_tokens) == ((), False, 0)
    assert expander.expand([]) == []
    assert len(generator.calls) == 2


def test_a_partial_failure_is_kept_and_marked():
    made = Expander(Scripted(fail=[("paraphrases", "a"), ("traces", "b"), ("paraphrases", "b")])).expand(
        ["a", "b", "c"]
    )
    assert made[0].traces
    assert made[0].paraphrases == ()
    assert made[0].error == "paraphrases: time-out"
    assert made[0].notes == ("paraphrases: 0 of 2",)
    assert made[1].error == "traces: time-out; paraphrases: time-out"
    assert made[1].usage.totals()["calls"] == 2
    assert made[2].error is None


def test_too_few_is_reported_without_being_an_error():
    made = Expander(Scripted(), P=3).expand(["a"])[0]
    assert len(made.paraphrases) == 2
    assert made.error is None
    assert made.notes == ("paraphrases: 2 of 3",)


def test_a_repeated_question_is_generated_once_and_paid_once():
    generator = Scripted()
    made = Expander(generator).expand(["a", "a"])
    assert len(generator.calls[0]) == 2
    assert made[0].probes == made[1].probes
    assert [m.usage.totals()["calls"] for m in made] == [2, 0]
    assert [m.cached for m in made] == [False, True]


def test_a_cache_hit_costs_nothing_and_says_so(tmp_path):
    generator = Scripted(fail=[("traces", "b")])
    cache = ExpansionCache(tmp_path / "folder" / "cache.sqlite")
    first = Expander(generator, cache).expand(["a", "b"])
    again = Expander(generator, cache).expand(["a", "b"])
    assert again[0].probes == first[0].probes
    assert again[0].cached
    assert again[0].usage.totals()["calls"] == again[0].usage.total_tokens == 0
    assert [request.kind for request in generator.calls[1]] == ["traces"]  # a failure is asked again
    assert not again[1].cached
    assert again[1].usage.totals()["calls"] == 1
    assert len(cache) == 3
    cache.close()


@pytest.mark.parametrize(
    "change",
    [
        {"K": 3, "P": 1},
        {"trace_temperature": 0.9, "paraphrase_temperature": 0.1},
        {"max_new_tokens": 8},
        {"seed": 1},
    ],
)
def test_other_settings_are_other_entries(tmp_path, change):
    cache = ExpansionCache(tmp_path / "c.sqlite")
    generator = Scripted()
    Expander(generator, cache).expand(["a"])
    Expander(generator, cache, **change).expand(["a"])
    assert len(generator.calls) == 2
    assert len(generator.calls[1]) == 2
    generator.name = "scripted:2"
    Expander(generator, cache).expand(["a"])
    assert len(generator.calls) == 3
    cache.close()


def test_what_a_cache_answers_can_cost_what_it_did(tmp_path):
    cache = ExpansionCache(tmp_path / "cache.sqlite")
    first = Expander(Scripted(), cache, count_cached=True).expand(["a", "a"])
    again = Expander(Scripted(), cache, count_cached=True).expand(["a", "a"])
    for made in (first, again):
        assert [m.usage.totals()["calls"] for m in made] == [2, 0]  # a repeat costs once
        assert made[0].costs["traces"].totals()["completion_tokens"] == 20
        assert set(made[0].seconds) == {"traces", "paraphrases"}
    assert [m.cached for m in first] == [False, True]
    assert [m.cached for m in again] == [True, True]
    assert again[0].seconds == first[0].seconds  # of when it was made
    assert Expander(Scripted(), cache).expand(["a"])[0].usage.totals()["calls"] == 0
    cache.close()


def test_surrogates_in_a_question_do_not_break_the_cache(tmp_path):
    cache = ExpansionCache(tmp_path / "c.sqlite")
    expander = Expander(Scripted(), cache)
    assert expander.expand(["a\ud800"])[0].probes == expander.expand(["a\ud800"])[0].probes
    cache.close()


def test_wrong_input_is_refused_by_name():
    with pytest.raises(InvalidTypeError, match="generator"):
        Expander(object())
    with pytest.raises(InvalidInputError, match="K must be"):
        Expander(Scripted(), K=-1)
    with pytest.raises(InvalidInputError, match="trace_temperature"):
        Expander(Scripted(), trace_temperature=-0.1)
    with pytest.raises(InvalidTypeError, match="questions must be a list"):
        Expander(Scripted()).expand("one")
    with pytest.raises(InvalidTypeError, match=r"questions\[1\]"):
        Expander(Scripted()).expand(["a", None])


def test_each_question_may_want_its_own_number():
    generator = Scripted(fail=[("traces", "b")])
    made = Expander(generator).expand(["a", "b", "c"], K=[1, 2, 0], P=[0, 2, 1])
    assert len(generator.calls) == 1
    assert [(request.kind, request.question) for request in generator.calls[0]] == [
        ("traces", "a"),
        ("traces", "b"),
        ("paraphrases", "b"),
        ("paraphrases", "c"),
    ]
    assert [(len(one.traces), len(one.paraphrases)) for one in made] == [(1, 0), (0, 2), (0, 1)]
    assert [set(one.costs) for one in made] == [{"traces"}, {"traces", "paraphrases"}, {"paraphrases"}]
    assert made[1].problems == {"traces": "time-out"}
    for one in made:
        parts = list(one.costs.values())
        total = parts[0] if len(parts) == 1 else parts[0] + parts[1]
        assert total.totals() == one.usage.totals()
    with pytest.raises(InvalidInputError, match="K must be one int, or one for each of 2 questions; got 3"):
        Expander(generator).expand(["a", "b"], K=[1, 2, 3])
    with pytest.raises(InvalidInputError, match=r"P\[1\] must be from 0"):
        Expander(generator).expand(["a", "b"], P=[1, -1])
