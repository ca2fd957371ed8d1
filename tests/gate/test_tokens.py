"""The token budget: never exceeded, whatever is written; what is left over can be spent."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.gate import (
    Asking,
    KeptGate,
    NeverGate,
    OracleGate,
    StreamingGate,
    ThresholdGate,
    TokenBudgetGate,
)
from sqe_fast.gate.gates import Quote, choose
from sqe_fast.usage import Usage

MOST = 100


def asking(values, prompts, is_open=None):
    """Questions with these signals and prompt lengths, each of which may write up to 100 tokens."""
    prompts = np.array(prompts, np.int64)

    def quote(places, counter):
        assert counter is None
        return Quote(prompts[places], np.full(len(places), MOST, np.int64))

    is_open = np.ones(len(values), bool) if is_open is None else np.array(is_open, bool)
    return Asking({"spread": np.array(values, np.float32)}, is_open, quote)


def usage(chosen, prompts, written):
    zeros = [0] * len(chosen)
    return Usage.of(
        zeros,
        [p if yes else 0 for yes, p in zip(chosen, prompts, strict=True)],
        zeros,
        [w if yes else 0 for yes, w in zip(chosen, written, strict=True)],
    )


QUESTION = st.tuples(
    st.floats(-1, 1, width=32), st.integers(0, 60), st.integers(0, MOST), st.booleans()
)  # signal, prompt, what it writes, open


@settings(deadline=None)
@given(
    st.lists(st.lists(QUESTION, max_size=8), max_size=8),
    st.integers(0, 2000),
    st.integers(0, 2),
    st.none() | st.integers(1, 60),
)
def test_the_total_is_never_exceeded(chunks, total, ahead, questions):
    """`ahead` chunks are decided before the earliest of them is paid, as in the engine."""
    decide = TokenBudgetGate(total, questions=questions).start()
    unpaid, paid, done = [], 0, 0

    def pay():
        nonlocal paid
        costs = unpaid.pop(0)
        decide.paid(costs)
        paid += costs.total_tokens

    for chunk in chunks:
        values, prompts, written, is_open = zip(*chunk, strict=True) if chunk else ((), (), (), ())
        chosen = choose(decide, asking(values, prompts, is_open)).tolist()
        assert not any(yes for yes, may in zip(chosen, is_open, strict=True) if not may)
        done += sum(chosen)
        unpaid.append(usage(chosen, prompts, written))
        assert decide.spent + decide.reserved <= total
        if len(unpaid) > ahead:
            pay()
        assert paid == decide.spent <= total
    while unpaid:
        pay()
    assert decide.reserved == 0
    assert decide.spent == paid <= total
    assert decide.left == total - paid


def test_the_neediest_come_first_until_the_next_does_not_fit():
    decide = TokenBudgetGate(300).start()
    chosen = choose(decide, asking([0.3, 0.1, 0.2, 0.1], [10, 20, 30, 40]))
    # 0.1 (120), then its equal (140); 130 more do not fit.
    assert chosen.tolist() == [False, True, False, True]
    assert (decide.reserved, decide.left) == (260, 40)


def test_what_was_not_written_can_be_spent():
    decide = TokenBudgetGate(260).start()
    assert choose(decide, asking([0, 0, 0], [30, 30, 30])).tolist() == [True, True, False]
    assert not choose(decide, asking([0], [30])).any()
    decide.paid(usage([1, 1, 0], [30, 30, 30], [5, 5, 0]))
    assert (decide.spent, decide.left) == (70, 190)
    assert choose(decide, asking([0, 0], [30, 30])).tolist() == [True, False]


def test_a_bill_above_what_was_set_aside_ends_the_spending():
    decide = TokenBudgetGate(200).start()
    assert choose(decide, asking([0], [50])).all()
    decide.paid(Usage.of([1], [50], [0], [500]))  # a counter that was wrong
    assert decide.left == 0
    assert not choose(decide, asking([0], [0])).any()


def test_known_numbers_of_questions_are_paced():
    total, n, cost = 4000, 100, 130
    greedy, paced = TokenBudgetGate(total), TokenBudgetGate(total, questions=n)
    for gate in (greedy, paced):
        decide = gate.start()
        taken = []
        for _ in range(n):
            chosen = choose(decide, asking([0], [30])).tolist()
            decide.paid(usage(chosen, [30], [100]))
            taken.append(chosen[0])
        assert sum(taken) == total // cost
        half = sum(taken[: n // 2])
        assert half == (total // cost if gate is greedy else pytest.approx(total // cost / 2, abs=1))


def test_pacing_learns_how_much_is_written():
    decide = TokenBudgetGate(4000, questions=100).start()
    taken = 0
    for _ in range(100):
        chosen = choose(decide, asking([0], [30])).tolist()
        taken += chosen[0]
        decide.paid(usage(chosen, [30], [10]))  # 40 in all, where 130 were feared
    assert taken >= 95
    assert decide.spent <= 4000


def test_wishes_of_another_gate():
    gate = TokenBudgetGate(260, wish=ThresholdGate(0.5, "top1"), signal="spread")
    assert gate.signals == ("spread", "top1")
    decide = gate.start()
    question = asking([0.3, 0.2, 0.1], [30, 30, 30])
    signals = {**question.signals, "top1": np.array([0.4, 0.6, 0.4], np.float32)}
    assert choose(decide, Asking(signals, question.open, question.quote)).tolist() == [True, False, True]
    assert not choose(TokenBudgetGate(10**6, wish=NeverGate()).start(), question).any()


def test_a_kept_account_is_one_over_all_searches():
    kept = KeptGate(TokenBudgetGate(500, wish=StreamingGate(1.0)))
    first, second = kept.start(), kept.start()
    assert choose(first, asking([0, 0, 0], [50, 50, 50])).tolist() == [True] * 3
    assert not choose(second, asking([0], [50])).any()
    second.paid(usage([0], [50], [0]))  # its own decision, which cost nothing: not that of the first
    assert kept.run.reserved == 450
    first.paid(usage([1, 1, 1], [50] * 3, [0] * 3))
    assert (kept.run.spent, kept.run.left) == (150, 350)
    assert choose(kept.start(), asking([0], [50])).all()


def test_refuses():
    with pytest.raises(InvalidTypeError, match="total must be an int"):
        TokenBudgetGate(1.5)
    with pytest.raises(InvalidInputError, match="questions must be from 1"):
        TokenBudgetGate(5, questions=0)
    with pytest.raises(InvalidTypeError, match="wish must be a gate; got int 3"):
        TokenBudgetGate(5, wish=3)
    with pytest.raises(InvalidInputError, match="inner: the oracle works as the gate of a method only"):
        KeptGate(OracleGate())
    with pytest.raises(InvalidTypeError, match="counter must be a function"):
        TokenBudgetGate(5, counter="minilm")
    with pytest.raises(InvalidInputError, match="needs to know what an expansion can cost"):
        TokenBudgetGate(5).start()({"spread": np.zeros(1, np.float32)}, 1)
    with pytest.raises(InvalidInputError, match="paid more often than chosen"):
        TokenBudgetGate(5).start().paid(Usage.zeros(1))
