"""Signals against plain Python, gates against the protocol."""

from __future__ import annotations

import math
import random
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.gate import (
    DENSE_SIGNALS,
    SIGNALS,
    AlwaysGate,
    NeverGate,
    OracleGate,
    RandomGate,
    ThresholdGate,
    compute_signals,
)
from sqe_fast.hits import Hits


def hits_of(lists, depth):
    ids = np.full((len(lists), depth), -1, np.int32)
    scores = np.full((len(lists), depth), -np.inf, np.float32)
    for row, pairs in enumerate(lists):
        for column, (one, score) in enumerate(pairs):
            ids[row, column], scores[row, column] = one, score
    return Hits(ids, scores)


@st.composite
def ranked(draw, most=14):
    scores = draw(st.lists(st.floats(-1, 1, width=32), max_size=most))
    ids = draw(st.permutations(range(20)))[: len(scores)]
    return list(zip(ids, sorted(scores, reverse=True), strict=True))


def plain(name, dense, bm25):
    scores = [score for _, score in dense]
    if name == "top1":
        return scores[0] if scores else -math.inf
    if name == "margin":
        return scores[0] - scores[1] if len(scores) > 1 else math.inf
    if name == "spread":
        return statistics.pstdev(scores[:10]) if len(scores) > 1 else 0.0
    if name == "concentration":
        best = scores[:5]
        if len(best) < 2:
            return 1.0
        weights = [math.exp(score) for score in best]
        shares = [weight / sum(weights) for weight in weights]
        return 1 + sum(share * math.log(share) for share in shares) / math.log(len(best))
    assert name == "agreement"
    return float(bool(dense) and dense[0][0] in [one for one, _ in bm25[:10]])


@given(st.lists(st.tuples(ranked(), ranked()), max_size=5), st.integers(14, 20))
def test_every_signal_equals_plain_python(pairs, depth):
    dense = hits_of([pair[0] for pair in pairs], depth)
    bm25 = hits_of([pair[1] for pair in pairs], depth)
    found = compute_signals(SIGNALS, dense, bm25)
    assert list(found) == list(SIGNALS)
    for name, values in found.items():
        assert values.dtype == np.float32
        assert values.shape == (len(pairs),)
        wanted = [plain(name, *pair) for pair in pairs]
        assert values.tolist() == pytest.approx(wanted, abs=2e-6)


def test_shallow_lists_are_enough():
    hits = hits_of([[(3, 0.5)], []], 1)
    found = compute_signals(SIGNALS, hits, hits)
    assert found["top1"].tolist() == [0.5, -math.inf]
    assert found["margin"].tolist() == [math.inf, math.inf]
    assert found["spread"].tolist() == [0, 0]
    assert found["concentration"].tolist() == [1, 1]
    assert found["agreement"].tolist() == [1, 0]


def test_refuses_signals():
    hits = hits_of([[(3, 0.5)]], 1)
    with pytest.raises(InvalidInputError, match="signal must be one of top1"):
        compute_signals(["top2"], hits)
    with pytest.raises(InvalidInputError, match="'agreement' needs the BM25 hits"):
        compute_signals(["agreement"], hits)
    with pytest.raises(InvalidInputError, match="of one length; got 1 and 2"):
        compute_signals(["agreement"], hits, hits_of([[], []], 1))
    assert "agreement" not in DENSE_SIGNALS


def test_the_random_gate_draws_as_the_protocol_over_any_chunks():
    rng = random.Random(43)
    wanted = [rng.random() < 0.46 for _ in range(500)]
    decide = RandomGate(seed=43).start()
    got = [yes for n in (0, 1, 99, 300, 100) for yes in decide({}, n).tolist()]
    assert got == wanted
    assert RandomGate(seed=43).start()({}, 500).tolist() == wanted  # a run begins anew
    assert RandomGate(rate=0).start()({}, 50).tolist() == [False] * 50
    assert RandomGate(rate=1).start()({}, 50).tolist() == [True] * 50


def test_the_threshold_is_compared_in_double_precision():
    at = np.float32(0.65)  # 0.64999998 as a double: below 0.65
    assert ThresholdGate(0.65).start()({"top1": np.array([at, 0.66, 0.5], np.float32)}, 3).tolist() == [
        True,
        False,
        True,
    ]
    assert ThresholdGate(float(at)).start()({"top1": np.array([at])}, 1).tolist() == [False]
    spread = ThresholdGate(0.1, signal="spread")
    assert spread.signals == ("spread",)
    assert spread.start()({"spread": np.array([0.05], np.float32)}, 1).tolist() == [True]


def test_always_never_and_the_oracle():
    assert AlwaysGate().start()({}, 2).tolist() == [True, True]
    assert NeverGate().start()({}, 2).tolist() == [False, False]
    assert OracleGate().start()({}, 2).tolist() == [True, True]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ThresholdGate(float("nan")), InvalidInputError, "threshold must be a finite number"),
        (lambda: ThresholdGate("0.6"), InvalidTypeError, "threshold must be a number"),
        (lambda: ThresholdGate(signal="top2"), InvalidInputError, "signal must be one of top1, margin"),
        (lambda: RandomGate(rate=1.5), InvalidInputError, "rate must be a finite number from 0 to 1"),
        (lambda: RandomGate(seed=1.5), InvalidTypeError, "seed must be an int"),
        (lambda: OracleGate(at=0), InvalidInputError, "at must be from 1"),
    ],
)
def test_refuses_numbers(make, error, message):
    with pytest.raises(error, match=message):
        make()
