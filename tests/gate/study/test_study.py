"""The study of gates against plain loops, and its laws."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import gate_study as plain

from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.gate import (
    SIGNALS,
    LearnedGate,
    RandomGate,
    RateGate,
    StreamingGate,
    ThresholdGate,
    fit_gain,
)
from sqe_fast.gate.study import (
    Outcomes,
    auc,
    best_signal,
    budget_weights,
    by_gate,
    by_signal,
    contrast,
    contrast_with_random,
    cross_validate,
    expected_hits,
    fit_cut,
    folds_of,
    hits_of,
    learned,
    oracle_curve,
    outcomes_of_rows,
    power,
    random_band,
    score_curve,
)

SCORES = st.sampled_from([0.0, 0.5, 1.0, 2.0, math.nan])


@st.composite
def questions(draw, most=6, least=1):
    """Scores with ties, hits, costs in tokens, and a budget."""
    n = draw(st.integers(least, most))
    column = lambda values: draw(st.lists(values, min_size=n, max_size=n))  # noqa: E731
    return SimpleNamespace(
        scores=column(SCORES),
        base=column(st.booleans()),
        expanded=column(st.booleans()),
        costs=column(st.integers(1, 5)),
        budget=draw(st.floats(0, 1)),
    )


def outcomes_of(asked, **signals):
    return Outcomes(signals, asked.base, asked.expanded, asked.costs)


@given(questions())
@settings(max_examples=60, deadline=None)
def test_a_curve_is_the_mean_over_all_orders_that_the_scores_allow(asked):
    outcomes = outcomes_of(asked)
    gain = outcomes.gain.tolist()
    found = float(score_curve(outcomes, asked.scores).at(asked.budget)[0])
    n = len(asked.base)
    assert found == pytest.approx(
        plain.expected_recall(asked.scores, asked.base, gain, [1] * n, asked.budget)
    )


@given(questions(most=12))
@settings(max_examples=150, deadline=None)
def test_weights_fill_the_budget_group_by_group(asked):
    found = budget_weights(asked.scores, asked.costs, asked.budget)
    assert found.tolist() == pytest.approx(plain.weights(asked.scores, asked.costs, asked.budget))
    assert float(found @ np.array(asked.costs)) == pytest.approx(asked.budget * sum(asked.costs))


@given(questions(most=12))
@settings(max_examples=150, deadline=None)
def test_a_curve_says_what_its_weights_answer(asked):
    outcomes = outcomes_of(asked)
    for axis in ("questions", "tokens"):
        weights = budget_weights(asked.scores, outcomes.costs(axis), asked.budget)
        found = score_curve(outcomes, asked.scores, axis).at(asked.budget)
        assert found[0] == pytest.approx(expected_hits(outcomes, weights).mean())


@given(questions(most=12))
@settings(max_examples=150, deadline=None)
def test_the_oracle_is_the_best_and_no_gate_is_above_it(asked):
    outcomes = outcomes_of(asked)
    for axis, costs in (("questions", [1] * len(asked.base)), ("tokens", asked.costs)):
        oracle = oracle_curve(outcomes, axis)
        best = plain.best_recall(asked.base, outcomes.gain.tolist(), costs, asked.budget)
        assert oracle.at(asked.budget)[0] == pytest.approx(best)
        gate = score_curve(outcomes, asked.scores, axis)
        budgets = np.linspace(0, 1, 9)
        assert (gate.at(budgets) <= oracle.at(budgets) + 1e-9).all()
        assert gate.at([0, 1]).tolist() == pytest.approx([outcomes.recall, np.mean(asked.expanded)])


@given(questions(most=20))
@settings(max_examples=150, deadline=None)
def test_auc_counts_pairs(asked):
    expected = plain.auc(asked.scores, asked.base)
    assert auc(asked.scores, asked.base) == pytest.approx(expected, nan_ok=True)
    if not math.isnan(expected) and not any(map(math.isnan, asked.scores)):
        assert auc([-score for score in asked.scores], asked.base) == pytest.approx(1 - expected)


def test_difficulty_and_gain_are_two_things():
    # The hardest questions are those that expansion does not help either.
    base = [False, False, False, False, True, True]
    expanded = [False, False, True, True, True, True]
    found = power(Outcomes({}, base, expanded), [0, 1, 2, 3, 4, 5])
    assert found.difficulty == 1.0
    assert found.gain == pytest.approx(4 / 8)


@given(questions(most=12), st.integers(0, 5))
@settings(max_examples=40, deadline=None)
def test_a_constant_score_is_a_random_gate(asked, seed):
    outcomes = outcomes_of(asked)
    flat = np.zeros(len(outcomes))
    curve = score_curve(outcomes, flat)
    band = random_band(outcomes, [0.0, 0.3, 1.0], draws=20, seed=seed)
    ends = [outcomes.recall, float(np.mean(asked.expanded))]
    assert curve.at([0, 1]).tolist() == pytest.approx(ends)
    assert band.mean[[0, 2]].tolist() == pytest.approx(ends)
    assert band.area == pytest.approx(curve.area) == pytest.approx(sum(ends) / 2)
    assert contrast_with_random(outcomes, flat, asked.budget, resamples=20).mean == pytest.approx(0)


def test_random_gates_scatter_around_the_straight_line():
    rng = np.random.default_rng(1)
    outcomes = Outcomes({}, rng.random(300) < 0.5, rng.random(300) < 0.7)
    band = random_band(outcomes, [0.2, 0.48, 0.8])
    line = outcomes.recall + np.array([0.2, 0.48, 0.8]) * outcomes.gain.mean()
    assert np.abs(band.mean - line).max() < 0.005
    assert (band.low < line).all()
    assert (line < band.high).all()
    assert (random_band(outcomes, [0.2, 0.48, 0.8]).low == band.low).all()


def test_contrasts_are_paired():
    outcomes = Outcomes({}, [False] * 10 + [True] * 10, [True] * 10 + [False] * 10)
    good, bad = np.arange(20.0), -np.arange(20.0)
    assert contrast(outcomes, good, bad, 0.5).mean == pytest.approx(1.0)
    assert contrast(outcomes, good, good, 0.5) == (0.0, 0.0, 0.0, 1.0, 1.0)
    against = contrast_with_random(outcomes, good, 0.5)
    assert against.mean == pytest.approx(0.5)
    assert against.low > 0.4


@given(st.lists(SCORES, min_size=1, max_size=15), st.floats(0, 1))
@settings(max_examples=100, deadline=None)
def test_a_cut_expands_its_share_of_what_it_was_fitted_on(scores, share):
    score = np.array(scores)
    known = np.count_nonzero(~np.isnan(score))
    found = fit_cut(score, share).weights(score).sum()
    assert found == pytest.approx(min(share * len(score), known))


def test_folds_are_partitions():
    seen = list(folds_of(13, 5, 3, seed=0))
    assert len(seen) == 3
    for parts in seen:
        assert sorted(np.concatenate(parts).tolist()) == list(range(13))
        assert {len(part) for part in parts} == {2, 3}
    assert any((a != b).any() for a, b in zip(seen[0][:3], seen[1][:3], strict=True))


def noisy(n=240, seed=0):
    """A signal that tells the gain, one that tells nothing, and many that are noise."""
    rng = np.random.default_rng(seed)
    gain = rng.random(n)
    base = rng.random(n) < 0.5
    signals = {"true": gain + 0.1 * rng.random(n), "none": rng.random(n)}
    signals |= {f"noise{i}": rng.random(n) for i in range(30)}
    return Outcomes(signals, base, base | (gain < 0.4))


def test_cross_validation_does_not_pay_for_a_lucky_choice():
    outcomes = noisy()
    noise = [name for name in outcomes.signals if name.startswith("noise")]
    rules = {"true": by_signal("true"), "chosen noise": best_signal(noise, 0.4)}
    held = cross_validate(outcomes, rules, 0.4, repeats=4)
    assert held["true"].against_random.low > 0
    assert held["true"].share == pytest.approx(0.4, abs=0.03)
    score = best_signal(noise, 0.4)(outcomes)
    lucky = contrast_with_random(outcomes, score(outcomes), 0.4).mean
    assert lucky > 0.02
    assert held["chosen noise"].against_random.mean < lucky / 2
    assert held["chosen noise"].recall == pytest.approx(held["chosen noise"].recalls.mean())


def test_choosing_finds_the_signal_and_its_direction():
    outcomes = noisy()
    turned = Outcomes(
        {"none": outcomes.signal("none"), "turned": -outcomes.signal("true")},
        outcomes.base_hit,
        outcomes.expanded_hit,
    )
    score = best_signal(["none", "turned"], 0.4)(turned)
    assert (score(turned) == outcomes.signal("true")).all()


def test_a_rule_ranks_by_what_a_gate_ranks_by():
    pytest.importorskip("sklearn")
    outcomes = noisy()
    turned = Outcomes(
        {"spread": outcomes.signal("true"), "top1": outcomes.signal("none")},
        outcomes.base_hit,
        outcomes.expanded_hit,
    )
    values = {name: turned.signal(name).astype(np.float32) for name in turned.signals}
    model = fit_gain(values, turned.gain)
    for gate in (
        ThresholdGate(threshold=0.4, signal="spread"),
        ThresholdGate(threshold=0.4, signal="spread", direction="above"),
        LearnedGate(model, 0.1),
        RateGate(rate=0.3, signal="spread", direction="above"),
        StreamingGate(rate=0.3, model=model),
    ):
        score = by_gate(gate)(turned)(turned)
        chosen = RateGate(rate=0.3, model=getattr(gate, "model", None), **_ranks_by(gate)).start()(
            values, 240
        )
        assert set(np.argsort(score, kind="stable")[:72]) == set(np.flatnonzero(chosen))
    with pytest.raises(InvalidTypeError, match="gate must rank questions; got RandomGate"):
        by_gate(RandomGate())


def _ranks_by(gate):
    return {name: getattr(gate, name) for name in ("signal", "direction") if hasattr(gate, name)}


def test_a_learned_rule_is_fitted_on_the_other_folds():
    pytest.importorskip("sklearn")
    outcomes = noisy()
    renamed = dict(zip(SIGNALS, outcomes.signals.values(), strict=False))
    held = cross_validate(
        Outcomes(renamed, outcomes.base_hit, outcomes.expanded_hit), {"learned": learned()}, 0.4, repeats=2
    )["learned"]
    assert held.against_random.low > 0


def test_rows_of_an_experiment_become_outcomes():
    def rows(rank, **more):
        rank = np.array(rank, np.int32)
        return SimpleNamespace(
            hit=lambda k: (rank > 0) & (rank <= k),
            top1=np.array([0.5, 0.6]),
            signals=more,
            prompt_tokens=np.array([7, 8]),
            completion_tokens=np.array([1, 1]),
        )

    seed = SimpleNamespace(
        seed=42,
        methods={"Dense-Only": rows([1, 0], spread=np.array([0.1, 0.2])), "Always-Expand": rows([6, 5])},
    )
    outcomes = outcomes_of_rows([seed, seed])
    assert outcomes.base_hit.tolist() == [True, False] * 2
    assert outcomes.expanded_hit.tolist() == [False, True] * 2
    assert outcomes.tokens.tolist() == [8, 9, 8, 9]
    assert {name: values.tolist() for name, values in outcomes.signals.items()} == {
        "spread": [0.1, 0.2] * 2,
        "top1": [0.5, 0.6] * 2,
    }
    with pytest.raises(InvalidInputError, match="no rows of Oracle; it has Dense-Only, Always-Expand"):
        outcomes_of_rows([seed], expanded="Oracle")


def test_answers_of_the_engine_become_hits():
    batch = SimpleNamespace(ids=(("a", "b"), ("c",)), method=SimpleNamespace(k=5))
    assert hits_of(batch, ["b", {"x", "y"}], 2).tolist() == [True, False]
    assert hits_of(batch, ["b", ["x", "c"]], 1).tolist() == [False, True]
    with pytest.raises(InvalidInputError, match="one entry a question, 2; got 1"):
        hits_of(batch, ["b"])
    with pytest.raises(InvalidInputError, match="at must be from 1 to 5; got 6"):
        hits_of(batch, ["b", "c"], 6)


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: Outcomes({}, [1, 0], [1, 0]), InvalidTypeError, "base_hit must be of dtype bool; got int64"),
        (lambda: Outcomes({}, [True], [True, False]), InvalidInputError, r"expanded_hit .*\[n\] = \[1\]"),
        (lambda: Outcomes({"s": [1.0]}, [True] * 2, [True] * 2), InvalidInputError, r"signals\['s'\] must"),
        (lambda: Outcomes([], [True], [True]), InvalidTypeError, "signals must map names to arrays"),
        (lambda: Outcomes({"s": ["x"]}, [True], [True]), InvalidTypeError, "real numbers; got dtype <U1"),
        (
            lambda: Outcomes({}, [True], [True], [-1]),
            InvalidInputError,
            "tokens must be finite and 0 or more",
        ),
        (lambda: Outcomes({}, [True], [True]).signal("s"), InvalidInputError, r"\(none\); got 's'"),
        (lambda: Outcomes({}, [True], [True]).costs("s"), InvalidInputError, "axis must be one of questions"),
        (lambda: Outcomes.concat([]), InvalidInputError, "at least one part"),
        (lambda: budget_weights([1.0], [1.0, 2.0], 0.5), InvalidInputError, "score and costs must have one"),
        (lambda: budget_weights([1.0], [1.0], 1.5), InvalidInputError, "budget must be a finite number from"),
        (lambda: score_curve(noisy(), [1.0]), InvalidInputError, r"score must have shape \[n\] = \[240\]"),
        (lambda: random_band(noisy(), [2.0]), InvalidInputError, "budget must hold shares from 0 to 1"),
        (lambda: auc([1.0], [True, False]), InvalidInputError, "score and positive must have one shape"),
        (lambda: expected_hits(noisy(), [0.5]), InvalidInputError, "weights must be"),
        (lambda: best_signal([], 0.5), InvalidInputError, "at least one name"),
        (lambda: outcomes_of_rows([]), InvalidInputError, "at least one seed"),
    ],
)
def test_wrong_input_is_named(make, kind, message):
    with pytest.raises(kind, match=message):
        make()


def test_outcomes_are_cut_and_joined():
    outcomes = noisy(20)
    mask = np.arange(20) < 8
    joined = Outcomes.concat([outcomes.take(mask), outcomes.take(np.flatnonzero(~mask))])
    assert (joined.signal("true") == outcomes.signal("true")).all()
    assert (joined.gain == outcomes.gain).all()
    assert (outcomes.helps == (outcomes.gain > 0)).all()
    assert (outcomes.hurts == (outcomes.gain < 0)).all()
    fewer = Outcomes({"true": outcomes.signal("true")}, outcomes.base_hit, outcomes.expanded_hit)
    assert list(Outcomes.concat([outcomes, fewer]).signals) == ["true"]
