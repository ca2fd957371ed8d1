"""The rate gates: exactly the share, the neediest of a chunk, and a stream however it is cut."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.gate import Asking, KeptGate, RateGate, StreamingGate
from sqe_fast.gate.gates import choose

RATES = st.floats(0, 1) | st.sampled_from([0.0, 0.1, 0.25, 0.46, 0.48, 0.5, 1.0])
VALUES = st.lists(
    st.sampled_from([-np.inf, 0.0, 0.1, 0.1, 0.2, 0.3, np.inf]) | st.floats(-1, 1, width=32), max_size=60
)


def asking(values, is_open=None, name="spread"):
    values = np.array(values, np.float32)
    is_open = np.ones(len(values), bool) if is_open is None else np.array(is_open, bool)
    return Asking({name: values}, is_open)


def cuts(n, draw):
    """Random chunk borders of n questions."""
    inner = sorted(draw(st.lists(st.integers(0, n), max_size=5)))
    return list(zip([0, *inner], [*inner, n], strict=True))


def run(gate, values, is_open, borders):
    decide = gate.start()
    return [
        yes
        for start, end in borders
        for yes in choose(decide, asking(values[start:end], is_open[start:end])).tolist()
    ]


@settings(deadline=None)
@given(st.data(), VALUES, RATES)
def test_the_share_is_exact_after_every_chunk(data, values, rate):
    is_open = data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
    borders = cuts(len(values), data.draw)
    got = run(RateGate(rate), values, is_open, borders)
    for _, end in borders:
        assert sum(got[:end]) == math.floor(rate * sum(is_open[:end]) + 0.5)
    assert not any(yes for yes, may in zip(got, is_open, strict=True) if not may)


@settings(deadline=None)
@given(VALUES, RATES, st.sampled_from(["below", "above"]))
def test_the_neediest_are_taken_and_equals_by_place(values, rate, direction):
    gate = RateGate(rate, direction=direction)
    got = gate.start()({"spread": np.array(values, np.float32)}, len(values)).tolist()
    sign = 1 if direction == "below" else -1
    order = sorted(range(len(values)), key=lambda i: (sign * float(np.float32(values[i])), i))
    number = math.floor(rate * len(values) + 0.5)
    assert [i for i, yes in enumerate(got) if yes] == sorted(order[:number])


@settings(deadline=None)
@given(st.permutations(range(20)), st.floats(0, 1))
def test_the_order_of_a_batch_does_not_matter(order, rate):
    values = np.linspace(0, 1, 20, dtype=np.float32)
    whole = RateGate(rate).start()({"spread": values}, 20)
    assert RateGate(rate).start()({"spread": values[order]}, 20).tolist() == whole[order].tolist()


@settings(deadline=None)
@given(st.data(), VALUES, RATES, st.integers(1, 12))
def test_a_stream_may_be_cut_anywhere(data, values, rate, window):
    is_open = data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
    gate = StreamingGate(rate, window=window)
    whole = run(gate, values, is_open, [(0, len(values))])
    assert run(gate, values, is_open, cuts(len(values), data.draw)) == whole
    assert run(gate, values, is_open, [(i, i + 1) for i in range(len(values))]) == whole
    assert not any(yes for yes, may in zip(whole, is_open, strict=True) if not may)


def plain_stream(values, rate, window, history=()):
    """The rules as the docstring has them, with whole lists."""
    last, taken, out = list(history), 0, []
    for seen, value in enumerate(values, 1):
        behind = rate * (seen - 1) - taken
        last = [*last, value][-window:]
        quota = min(max(rate + behind / window, 0), 1) * len(last)
        if sum(other <= value for other in last) <= quota:
            yes = True
        elif sum(other < value for other in last) >= quota:
            yes = False
        else:
            yes = taken < rate * seen
        taken += yes
        out.append(yes)
    return out


@settings(deadline=None)
@given(VALUES, RATES, st.integers(1, 12), st.lists(st.floats(-1, 1, width=32), max_size=20))
def test_a_stream_follows_its_rules(values, rate, window, history):
    values = np.array(values, np.float32).tolist()
    gate = StreamingGate(rate, window=window, history=history)
    assert run(gate, values, [True] * len(values), [(0, len(values))]) == plain_stream(
        values, rate, window, history[-window:]
    )


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([0.0, 1.0, 2.0]) | st.integers(-100, 100), max_size=200),
    RATES,
    st.integers(1, 9),
)
def test_no_stream_leaves_the_rate_by_more_than_its_window(values, rate, window):
    got = run(StreamingGate(rate, window=window), values, [True] * len(values), [(0, len(values))])
    ahead = np.cumsum(got) - rate * np.arange(1, len(got) + 1)
    assert ahead.max(initial=0) <= rate * window + 1 + 1e-9
    assert ahead.min(initial=0) >= -(1 - rate) * window - 1 - 1e-9


@pytest.mark.parametrize("rate", [0.05, 0.25, 0.48, 0.9])
@pytest.mark.parametrize("kind", ["independent", "needier and needier", "all equal"])
def test_a_stream_converges_to_the_rate(rate, kind):
    n = 6000
    values = {
        "independent": np.random.default_rng(3).standard_normal(n),
        "needier and needier": -np.arange(n),
        "all equal": np.zeros(n),
    }[kind].astype(np.float32)
    got = StreamingGate(rate, window=500).start()({"spread": values}, n)
    drift = rate * 500 / n if kind == "needier and needier" else 0.01  # what the window allows
    assert got.mean() == pytest.approx(rate, abs=drift + 1e-3)
    if kind == "independent":
        # And those that it takes are the needy ones: nearly all are below the true quantile.
        below = values < np.quantile(values, rate)
        assert (got == below).mean() > 0.95


def test_the_first_questions_of_a_stream_keep_the_share():
    values = np.random.default_rng(0).standard_normal(20).astype(np.float32)
    got = StreamingGate(0.5).start()({"spread": values}, 20)
    assert got[0]
    assert (np.abs(np.cumsum(got) - 0.5 * np.arange(1, 21)) <= 2.5).all()


def test_a_kept_gate_goes_on():
    values = np.random.default_rng(1).standard_normal(50).astype(np.float32)
    for gate in (RateGate(0.3), StreamingGate(0.3)):
        kept = KeptGate(gate)
        one_run = gate.start()
        for value in values:
            signals = {"spread": np.array([value])}
            assert kept.start()(signals, 1).tolist() == one_run(signals, 1).tolist()
        assert kept.signals == ("spread",)
    fresh = [bool(RateGate(0.3).start()({"spread": np.array([value])}, 1)[0]) for value in values]
    assert not any(fresh)  # a search of one question by itself: floor(0.3 + 0.5)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: RateGate(1.5), InvalidInputError, "rate must be a finite number from 0 to 1"),
        (lambda: RateGate("half"), InvalidTypeError, "rate must be a number"),
        (lambda: RateGate(signal="top2"), InvalidInputError, "signal must be one of top1, margin"),
        (lambda: RateGate(direction="up"), InvalidInputError, "direction must be one of below, above"),
        (lambda: RateGate(model=3), InvalidTypeError, "model must be a GainModel; got int 3"),
        (lambda: StreamingGate(window=0), InvalidInputError, "window must be from 1"),
        (lambda: StreamingGate(history=[math.nan]), InvalidInputError, "history must not hold NaN"),
    ],
)
def test_refuses(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_refuses_nan():
    with pytest.raises(InvalidInputError, match="signals must not hold NaN"):
        RateGate().start()({"spread": np.array([np.nan], np.float32)}, 1)
