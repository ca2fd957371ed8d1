"""Gates on the dev set: what independent code measured (the README of the shared data), and a real budget."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sqe_fast.engine import Engine
from sqe_fast.gate import SIGNALS, KeptGate, RandomGate, RateGate, StreamingGate, TokenBudgetGate
from sqe_fast.generate.recorded import RecordedGenerator
from sqe_fast.methods import get_method

RATE = 0.48


def gated(gate, name):
    return replace(get_method("always", k=5, depth=10), name=name, gate=gate)


@pytest.fixture(scope="module")
def engine(dev):
    return Engine(dev.store, generator=RecordedGenerator(dev.recorded))


@pytest.fixture(scope="module")
def found(dev, engine):
    gates = {name: RateGate(RATE, signal=name) for name in ("spread", "top1")}
    gates["stream"] = StreamingGate(RATE)
    methods = [gated(gate, name) for name, gate in gates.items()]
    plain = [
        get_method("dense", k=5),
        get_method("always", k=5, depth=10),
        get_method("oracle", k=5, depth=10),
    ]
    return engine.search_methods(dev.questions, [*methods, *plain], targets=dev.targets, signals=SIGNALS)


def hits(dev, batch):
    return np.array([target in ids for target, ids in zip(dev.targets, batch.ids, strict=True)])


@pytest.mark.parametrize(("gate", "percent"), [("spread", 75.6), ("top1", 71.7), ("Oracle", 82.5)])
def test_recall_at_48_percent_is_what_independent_code_measured(dev, found, gate, percent):
    assert 100 * hits(dev, found[gate]).mean() == pytest.approx(percent, abs=0.6)
    if gate != "Oracle":
        assert found[gate].gated.sum() == 173  # floor(0.48 * 360 + 0.5)


def test_a_random_gate_is_as_far_below_as_measured(dev, found):
    without, always = hits(dev, found["Dense-Only"]), hits(dev, found["Always-Expand"])
    masks = [RandomGate(RATE, seed).start()({}, len(without)) for seed in range(200)]
    recall = np.mean([np.where(mask, always, without).mean() for mask in masks])
    assert 100 * recall == pytest.approx(67.7, abs=0.3)
    assert hits(dev, found["spread"]).mean() - recall > 0.06


def test_one_question_at_a_time_loses_little(dev, found):
    assert found["stream"].gated.mean() == pytest.approx(RATE, abs=0.03)
    assert hits(dev, found["stream"]).mean() > hits(dev, found["top1"]).mean()


def test_signals_of_real_questions_are_sane(found):
    signals = found["Dense-Only"].signals
    assert set(signals) == set(SIGNALS)
    for name, values in signals.items():
        assert np.isfinite(values).all(), name
        assert len(np.unique(values)) > 1, name
    for name in ("agreement", "top1_agreement", "overlap", "rbo", "feedback", "stability", "oov"):
        assert (signals[name] >= 0).all()
        assert (signals[name] <= 1 + 1e-6).all()


@pytest.mark.parametrize("chunk", [1, 45, 360])
def test_a_budget_of_real_tokens_is_spent_and_not_exceeded(dev, chunk):
    total = 40_000
    engine = Engine(dev.store, generator=RecordedGenerator(dev.recorded), chunk=chunk)
    batch = engine.search(dev.questions, gated(TokenBudgetGate(total), "budget"))
    assert 0.98 * total < batch.usage.total_tokens <= total  # a recording knows its length beforehand


def test_agents_that_ask_one_question_at_a_time_share_a_budget(dev, engine):
    total, n = 20_000, 120
    gate = KeptGate(TokenBudgetGate(total, wish=StreamingGate(0.9), questions=n))
    method = gated(gate, "agent")
    spent = [engine.search([question], method).usage.total_tokens for question in dev.questions[:n]]
    assert sum(spent) == gate.run.spent <= total
    assert sum(spent) > 0.9 * total
    assert 0.4 * total < sum(spent[: n // 2]) < 0.6 * total
