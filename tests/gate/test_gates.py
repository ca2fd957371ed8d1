"""Gates against the protocol."""

from __future__ import annotations

import random

import numpy as np
import pytest

from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.gate import AlwaysGate, NeverGate, OracleGate, RandomGate, ThresholdGate


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
