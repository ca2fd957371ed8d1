"""Rules of acceptance: their text form, their weights, and the signals over made-up lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.gate.accept import Accept, Rule, judge
from sqe_fast.gate.probe_signals import PROBE_SIGNALS
from sqe_fast.hits import Hits

LEVELS = st.integers(-400, 400).map(lambda n: n / 16)
RULES = st.builds(
    Rule,
    st.sampled_from([name for name, signal in PROBE_SIGNALS.items() if signal.of_question]),
    LEVELS,
    st.booleans(),
    st.integers(0, 64).map(lambda n: n / 16),
)


@settings(deadline=None)
@given(rule=RULES)
def test_a_rule_is_read_from_its_own_text(rule):
    assert Rule.parse(str(rule)) == rule


@settings(deadline=None)
@given(rules=st.lists(RULES, min_size=1, max_size=3), either=st.booleans())
def test_so_are_several(rules, either):
    accept = Accept(tuple(rules), "any" if either and len(rules) > 1 else "all")
    assert Accept.parse(str(accept)) == accept


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("top1>=0.6", Rule("top1", 0.6)),
        (" top1 >= question ", Rule("top1", 0, True)),
        ("top1>=question-0.5", Rule("top1", -0.5, True)),
        ("bm25_z >= -1e1~2.5", Rule("bm25_z", -10, width=2.5)),
    ],
)
def test_forms_of_a_rule(text, rule):
    assert Rule.parse(text) == rule


@pytest.mark.parametrize(
    "text", ["", "top1", "top1 > 0.6", "top1 >= ", "top1 >= x", "top1 >= 0.6 ~", "0.6 >= top1"]
)
def test_texts_that_are_no_rule(text):
    with pytest.raises(InvalidInputError, match="a rule must read as"):
        Accept.parse(text)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Rule("luck", 1), InvalidInputError, "signal must be one of top1"),
        (lambda: Rule("top1", float("nan")), InvalidInputError, "at_least must be a finite number"),
        (lambda: Rule("top1", 0, width=-1), InvalidInputError, "width must be a finite number >= 0"),
        (lambda: Rule("overlap", 0, True), InvalidInputError, "a question has no 'overlap'"),
        (lambda: Accept(()), InvalidInputError, "at least one Rule"),
        (lambda: Accept("top1 >= 1"), InvalidTypeError, "rules must be a tuple of Rule"),
        (lambda: Accept((Rule("top1", 0),), "some"), InvalidInputError, "combine must be one of all, any"),
        (
            lambda: Accept((Rule("top1", 0),), probes=("question",)),
            InvalidInputError,
            "probes must be one of",
        ),
        (lambda: Accept.parse(3), InvalidTypeError, "accept must be an Accept or a text of rules"),
    ],
)
def test_refuses_by_name(make, error, message):
    with pytest.raises(error, match=message):
        make()


@settings(deadline=None)
@given(rule=RULES, values=st.lists(LEVELS, min_size=2, max_size=20))
def test_weights_rise_from_0_to_1(rule, values):
    values = np.sort(np.array([*values, rule.at_least - rule.width, rule.at_least + rule.width]))
    weights = rule.weigh(values)
    assert (np.diff(weights) >= 0).all()
    assert ((weights >= 0) & (weights <= 1)).all()
    assert (weights[values >= rule.at_least + rule.width] == 1).all()
    below = values <= rule.at_least - rule.width if rule.width else values < rule.at_least
    assert (weights[below] == 0).all()
    assert rule.weigh(np.array([np.nan, -np.inf])).tolist() == [1, 0]


class Made:
    """Evidence of four probes: three of one question, one of another."""

    family = np.array([0, 2, 0, 0])

    def __init__(self):
        self.ids = {
            ("probe", "dense"): [[1, 2, 3, 4], [1, 2, -1, -1], [3, 4, 5, 6], [-1, -1, -1, -1]],
            ("question", "dense"): [[1, 9, 8, 7], [5, 6, 7, 8], [1, 9, 8, 7], [1, 9, 8, 7]],
            ("probe", "bm25"): [[4, 3, 0, 0], [-1, -1, -1, -1], [3, 4, 5, 6], [1, 2, 3, 4]],
            ("question", "bm25"): [[-1] * 4, [1, 2, 3, 4], [-1] * 4, [-1] * 4],
        }

    def hits(self, side, index):
        ids = np.array(self.ids[side, index], np.int32)
        scores = np.array([4, 3, 2, 1], np.float32) + np.arange(4, dtype=np.float32)[:, None]
        return Hits(ids, np.where(ids < 0, -np.inf, scores).astype(np.float32))

    def moments(self, side, index):
        return np.ones(4), np.array([1.0, 2.0, 0.0, 3.0])

    def idf_share(self, side):
        return np.array([0.0, 0.25, 0.5, 1.0])


@pytest.mark.parametrize(
    ("rule", "values"),
    [
        ("top1 >= 0", [4, 5, 6, -np.inf]),
        ("top1_z >= 0", [3, 2, 0, -np.inf]),  # 0 where all documents score alike
        ("bm25_top1 >= 0", [4, -np.inf, 6, 7]),
        ("bm25_z >= 0", [3, -np.inf, 0, 2]),
        ("lift >= 0", [np.inf, -np.inf, np.inf, -np.inf]),
        ("idf_share >= 0", [0, 0.25, 0.5, 1]),
        ("dense_bm25 >= 0", [0.5, 0, 1, 0]),
        ("overlap >= 0", [0.25, 0, 0, 0]),
        ("agreement >= 0", [0.5, np.nan, 0.5, 0]),
        ("top1 >= question", [0, 0, 0, -np.inf]),
        ("bm25_top1 >= question", [np.inf, -np.inf, np.inf, np.inf]),
    ],
)
def test_signals(rule, values):
    verdict = judge(Accept.parse(rule), Made())
    assert verdict.values[str(Rule.parse(rule))] == pytest.approx(np.array(values, float), nan_ok=True)


def test_every_signal_is_tried():
    assert len(PROBE_SIGNALS) == 9


def test_lift_has_no_unit():
    made = Made()
    made.ids["question", "bm25"] = [[1, 2, 3, 4]] * 4
    own, moments = made.hits, made.moments

    def scored(scale, shift):
        def hits(side, index):
            found = own(side, index)
            scores = found.scores + (2 if side == "probe" and index == "dense" else 0)
            scores = scores * scale + shift if index == "dense" else scores * (4 if side == "probe" else 1)
            return Hits(found.ids, scores.astype(np.float32))

        made.hits = hits
        made.moments = lambda side, index: (moments(side, index)[0], moments(side, index)[1] * scale)
        return judge(Accept.parse("lift >= 0"), made).values["lift >= 0"].tolist()

    # A rise of 2 deviations of 1, none where all documents score alike; four times the BM25 score.
    assert scored(1, 0) == [4, -np.inf, 2, -np.inf]
    assert scored(0.25, 7) == [4, -np.inf, 2, -np.inf]


def test_all_or_any_and_why():
    every = judge(Accept.parse("top1 >= 4.5, agreement >= 0.6"), Made())
    assert every.weights.tolist() == [0, 1, 0, 0]
    assert every.reasons == (
        "top1 4.000 < 4.5; agreement 0.500 < 0.6",
        None,
        "agreement 0.500 < 0.6",
        "top1: no hits; agreement 0.000 < 0.6",
    )
    some = judge(Accept.parse("top1 >= 4.5 or idf_share >= 0.75 ~ 0.5"), Made())
    assert some.weights.tolist() == [0, 1, 1, pytest.approx(3 * 0.75**2 - 2 * 0.75**3)]
    assert some.reasons[0] == "top1 4.000 < 4.5; idf_share 0.000 <= 0.25"
    over = judge(Accept.parse("top1 >= question + 1"), Made())
    assert over.reasons[0] == "top1 less the question's 0.000 < 1"
