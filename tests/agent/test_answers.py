"""EM, F1 and containment against a plain re-statement of SQuAD's, and by example (records: test_replay)."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqe_fast.agent.answers import contains_match, exact_match, f1, normalise

words = st.lists(
    st.sampled_from(["the", "A", "an", "Emma", "emma,", "1815.", "yes", "no", "of"]), max_size=6
).map(" ".join)


def plain(text):
    kept = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return [word for word in kept.split() if word not in ("a", "an", "the")]


@settings(deadline=None)
@given(answer=words, golden=st.lists(words, max_size=3))
def test_metrics(answer, golden):
    mine = plain(answer)
    assert normalise(answer) == " ".join(mine)
    assert exact_match(answer, golden) == float(any(plain(text) == mine for text in golden))
    assert contains_match(answer, golden) == float(any(" ".join(plain(t)) in " ".join(mine) for t in golden))
    best = 0.0
    for theirs in map(plain, golden):
        left, common = list(theirs), 0
        for word in mine:
            if word in left:
                left.remove(word)
                common += 1
        closed = any(" ".join(side) in ("yes", "no", "noanswer") for side in (mine, theirs))
        if common and not (closed and mine != theirs):
            precision, recall = common / len(mine), common / len(theirs)
            best = max(best, 2 * precision * recall / (precision + recall))
    assert f1(answer, golden) == pytest.approx(best)


def test_no_answer():
    assert exact_match(None, ["x"]) == contains_match(None, ["x"]) == f1(None, ["x"]) == 0
    assert exact_match("x", []) == f1("x", []) == 0
    assert normalise("A theatre, an Anthem") == "theatre anthem"
