"""The compressor and how passages are written."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noted import PASSAGES, NotedPolicy

from sqe_fast.agent.passages import fitting, format_found, shortened
from sqe_fast.agent.replay import RecordedPolicy
from sqe_fast.agent.squeeze import Squeezer
from sqe_fast.errors import InvalidInputError, InvalidTypeError

EMMA, AUSTEN, VILLAGE, _ = PASSAGES
TURN = (("when", "who"), ((EMMA, AUSTEN), (AUSTEN, VILLAGE)))


def test_one_call_sees_all_queries_and_each_passage_once():
    model = NotedPolicy(default=["<think>hm</think>\nfacts"])
    made = Squeezer(model).squeeze([TURN, (("nothing",), ((),)), (("when",), ((EMMA,),))])
    assert [len(batch) for batch in model.batches] == [2]
    assert [(one.text, one.squeezed, one.problem) for one in made] == [
        ("facts", True, None), ("Nothing was found.", False, None), ("facts", True, None)
    ]  # fmt: skip
    assert [one.usage and one.usage.totals()["calls"] for one in made] == [1, None, 1]
    assert [one.fallback for one in made] == [None] * 3
    request = model.batches[0][0]
    assert (request.temperature, request.max_new_tokens, request.stop) == (0.0, 512, ())
    prompt = request.messages[0].content
    assert [prompt.count(p.text) for p in (EMMA, AUSTEN, VILLAGE)] == [1, 1, 1]
    assert "- when\n- who" in prompt
    assert Squeezer(model).squeeze([]) == []
    assert len(model.batches) == 1


@pytest.mark.parametrize("fallback", ["raw", "truncated", "drop"])
def test_failures_fall_back_by_name_and_are_counted(fallback):
    model = RecordedPolicy({"when\nwho": ["<think>only thoughts</think>"]})
    squeezer = Squeezer(model, fallback=fallback, max_new_tokens=10)
    silent, failed = squeezer.squeeze([TURN, (("when",), ((EMMA,),))])
    raw = format_found(*TURN)
    assert (
        silent.text == {"raw": raw, "truncated": shortened(raw, 40), "drop": "Nothing was found."}[fallback]
    )
    assert silent.problem == f"compressor failed (it said nothing); fallback: {fallback}"
    assert failed.problem == f"compressor failed (nothing is recorded for 'when'); fallback: {fallback}"
    assert not silent.squeezed
    assert silent.fallback == failed.fallback == fallback
    assert (squeezer.asked, squeezer.failed) == (2, 2)
    assert [one.usage.totals()["calls"] for one in (silent, failed)] == [1, 0]


def test_arguments():
    model = RecordedPolicy({})
    with pytest.raises(InvalidInputError, match="fallback must be one of raw, truncated, drop"):
        Squeezer(model, fallback="silent")
    with pytest.raises(InvalidTypeError, match="generator"):
        Squeezer(None)
    with pytest.raises(InvalidInputError, match="max_new_tokens"):
        Squeezer(model, max_new_tokens=0)


@settings(deadline=None)
@given(text=st.text(), size=st.integers(4, 60))
def test_shortened_is_a_beginning(text, size):
    short = shortened(text, size)
    assert len(short) <= max(size, 4)
    if len(text) <= size:
        assert short == text
    else:
        assert short.endswith(" ...") or short == "..."
        assert text.startswith(short[:-4])


@settings(deadline=None)
@given(words=st.lists(st.text("abc", min_size=1), max_size=60), limit=st.integers(0, 40))
def test_fitting_keeps_what_fits(words, limit):
    def count(text):
        return len(text.split())

    text = " ".join(words)
    kept = fitting(text, count(text), limit, count)
    assert count(kept) <= limit
    if count(text) <= limit:
        assert kept == text
    elif kept:
        assert text.startswith(kept.removesuffix(" ..."))
