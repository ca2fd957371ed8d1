"""Sweeps, choices and paired tests against their restatement row by row."""

import doctest
import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracles import experiment as oracle
from oracles import stats as resampling
from oracles.rows import made_up, write

from sqe_fast.errors import InvalidInputError
from sqe_fast.experiment import choices, gatevariants, metrics, sweeps
from sqe_fast.experiment.headroom import headroom
from sqe_fast.experiment.metrics import (
    NotInRowsError,
    cost_of,
    mrr,
    outcomes,
    paired_deltas,
    recall,
    summarize,
)
from sqe_fast.experiment.rows import read_experiment
from sqe_fast.experiment.sweeps import SWEEP_THRESHOLDS, Pair, best, count_gates
from sqe_fast.experiment.tables import ReportSettings, build_tables
from sqe_fast.stats import paired_bootstrap

TOP1 = {"score_only": oracle.SPLIT}
MADE = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
experiments = st.builds(
    made_up,
    seeds=st.integers(2, 4).map(lambda count: tuple(range(42, 42 + count))),
    n=st.integers(2, 17),
    salt=st.integers(0, 10**6),
)


@pytest.fixture
def read(tmp_path_factory):
    return lambda content: read_experiment(write(tmp_path_factory.mktemp("made"), content))


@pytest.mark.parametrize("module", [metrics, sweeps, choices, gatevariants])
def test_examples(module):
    assert doctest.testmod(module).failed == 0


@MADE
@given(experiments)
def test_recall_and_rank(read, content):
    for seed in read(content).seeds:
        for name, rows in seed.methods.items():
            plain = content[seed.seed][name]
            assert [recall(rows, k) for k in (1, 5, 10)] == [oracle.recall(plain, k) for k in (1, 5, 10)]
            assert mrr(rows) == pytest.approx(float(oracle.mrr(plain)), abs=1e-15)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=9))
def test_deviation(values):
    assert summarize(values).deviation == pytest.approx(oracle.spread(values), abs=1e-12)
    assert np.isnan(summarize(values[:1]).deviation)


@MADE
@given(experiments, st.sampled_from([1, 5, 10]))
def test_paired(read, content, k):
    found = read(content)
    deltas = paired_deltas(found, "Selective-QE", "Dense-Only", k)
    plain = [oracle.deltas(m["Selective-QE"], m["Dense-Only"], k) for m in content.values()]
    assert sorted(deltas.tolist()) == sorted(itertools.chain.from_iterable(plain))
    ours = paired_bootstrap(deltas, 40, 7)
    assert tuple(ours) == pytest.approx(
        resampling.paired_bootstrap(deltas.astype(np.int64), 40, 7), abs=1e-12
    )
    counts = outcomes(found.seeds[0].methods["Selective-QE"], found.seeds[0].methods["Dense-Only"], k)
    assert (counts.wins, counts.losses) == (plain[0].count(1), plain[0].count(-1))
    assert counts.queries == len(plain[0])
    assert counts.wins - counts.losses == sum(plain[0])


@MADE
@given(experiments, st.sampled_from([1, 5, 10]))
def test_sweep(read, content, k):
    for seed in read(content).seeds:
        counts = sweeps.threshold_sweep(seed, k)
        rows = oracle.questions(content[seed.seed], k)
        plain = [oracle.gate("score_only", threshold, rows) for threshold in SWEEP_THRESHOLDS]
        assert list(zip(counts.hits.tolist(), counts.expanded.tolist(), strict=True)) == plain
        assert counts.n == len(rows)


def same_choice(ours, plain):
    policy, threshold, train_recall, train_rate, test_recall, test_rate, dense, deltas = plain
    assert (ours.policy, ours.threshold) == (policy, threshold)
    numbers = (ours.train_recall, ours.train_rate, ours.test_recall, ours.test_rate, ours.dense_recall)
    assert numbers == pytest.approx((train_recall, train_rate, test_recall, test_rate, dense), abs=1e-12)
    assert ours.deltas.tolist() == deltas
    assert ours.delta == pytest.approx(np.mean(deltas), abs=1e-12)


@MADE
@given(experiments)
def test_split_validation(read, content):
    for seed in read(content).seeds:
        plain = oracle.split(content[seed.seed], 5, TOP1, lower_rate=False)
        same_choice(choices.split_validation(seed), plain)


@MADE
@given(experiments)
def test_gate_variants(read, content):
    for seed in read(content).seeds:
        plain = oracle.split(content[seed.seed], 5, dict.fromkeys(oracle.VARIANTS, oracle.SPLIT))
        same_choice(gatevariants.choose_variant(seed), plain)


@MADE
@given(experiments, st.sampled_from([0.3, 0.55, 1.0]))
def test_gate_features(read, content, budget):
    for seed in read(content).seeds:
        plain = oracle.split(content[seed.seed], 5, oracle.FEATURES, budget)
        if plain is None:
            with pytest.raises(NotInRowsError, match="no gate expands at most"):
                gatevariants.choose_feature(seed, budget=budget)
        else:
            same_choice(gatevariants.choose_feature(seed, budget=budget), plain)


@MADE
@given(experiments, st.sampled_from([0.2, 0.55, 1.0]))
def test_leave_one_seed_out(read, content, budget):
    found = read(content)
    for grids, way in (
        ({"score_only": oracle.LOO}, choices.leave_one_seed_out),
        (dict.fromkeys(oracle.VARIANTS, oracle.LOO), gatevariants.leave_one_seed_out_variants),
    ):
        plain = oracle.leave_one_out(content, 5, grids, budget)
        if plain is None:
            with pytest.raises(NotInRowsError, match="expands at most"):
                way(found, budget=budget)
            continue
        for one in way(found, budget=budget):
            policy, threshold, *numbers = plain[one.seed]
            assert (one.policy, one.threshold) == (policy, threshold)
            ours = (one.train_recall, one.train_rate, one.gate_recall, one.rate)
            assert ours == pytest.approx(numbers, abs=1e-12)
            assert one.dense_recall == oracle.recall(content[one.seed]["Dense-Only"], 5)
            assert one.always_recall == oracle.recall(content[one.seed]["Always-Expand"], 5)
            assert one.deltas.mean() == pytest.approx(one.gate_recall - one.dense_recall, abs=1e-12)


@MADE
@given(experiments)
def test_headroom(read, content):
    for seed in read(content).seeds:
        one = headroom(seed)
        ours = [one.dense, one.always, one.oracle, one.helpful, one.harmful]
        assert ours == oracle.headroom(content[seed.seed], 5)
        assert one.oracle == pytest.approx(one.dense + one.helpful, abs=1e-12)
        assert one.both_hit + one.both_miss + one.helpful + one.harmful == pytest.approx(1, abs=1e-12)


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=12), st.data())
def test_hits_of_gates_add_up(rows, data):
    """hits(A or B) + hits(A and B) = hits(A) + hits(B), and so do expanded questions."""
    dense, always, alone = (np.array(column) for column in zip(*rows, strict=True))
    signal = np.array(data.draw(st.lists(st.floats(0, 1), min_size=len(rows), max_size=len(rows))))
    pair = Pair(dense, always)
    thresholds = [0.0, 0.25, 0.5, 1.5]
    either = count_gates(signal, pair, thresholds, forced=alone)
    both = count_gates(signal, pair, thresholds, within=alone)
    one = count_gates(signal, pair, thresholds)
    other = (np.where(alone, always, dense).sum(), alone.sum())
    assert (either.hits + both.hits).tolist() == (one.hits + other[0]).tolist()
    assert (either.expanded + both.expanded).tolist() == (one.expanded + other[1]).tolist()


def test_a_missing_signal_opens_no_gate():
    counts = count_gates(np.array([np.nan, 0.5]), Pair(np.zeros(2, bool), np.ones(2, bool)), [0.4, 9e9])
    assert counts.expanded.tolist() == [0, 1]


def test_best_breaks_ties():
    counts = sweeps.GateCounts(np.array([0.5, 0.6, 0.7]), np.array([3, 3, 3]), np.array([2, 1, 4]), 10)
    assert best(counts) == 0
    assert best(counts, lower_rate=True) == 1
    assert best(counts, 0.3, lower_rate=True) == 1
    assert best(counts, 0.05) is None


def test_cost(read):
    content = made_up(n=9)
    found = read(content)
    rows = [row for methods in content.values() for row in methods["Always-Expand"]]
    one = cost_of([seed.methods["Always-Expand"] for seed in found.seeds])
    assert one.queries == len(rows) == 18
    for name, value in (("prompt_tokens", one.prompt_tokens), ("total_tokens", one.total_tokens)):
        assert value == pytest.approx(sum(row["meta"][name] for row in rows) / 18, abs=1e-9)
    assert (one.calls, one.lists, one.expansion_rate) == (3, 7, 1)
    assert one.seconds == pytest.approx(sum(row["meta"]["elapsed_seconds"] for row in rows) / 18)


def test_rows_of_the_release_have_no_margin(read, tmp_path):
    """What is absent is said: scores of dense hits, seeds, methods, tokens."""
    content = made_up(seeds=(42,), ours=False)
    for rows in content[42].values():
        for row in rows:
            row["meta"] |= {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0, "llm_calls": 0}
    del content[42]["BM25-Only"]
    found = read_experiment(write(tmp_path, content, "results_500_memory_seed{}"))
    missing = {table.name: table.missing for table in build_tables(found) if table.missing}
    assert sorted(missing) == ["gate-features", "gate-variants", "leave-one-seed-out", "measured-tokens"]
    assert "neither the signal margin nor dense scores" in missing["gate-features"]
    assert missing["gate-variants"] == "seed 42 has no rows of BM25-Only"
    assert missing["leave-one-seed-out"] == "leaving one seed out needs at least two seeds"
    assert "token counts" in missing["measured-tokens"]


def test_every_table_of_the_protocol_is_there(read):
    tables = build_tables(read(made_up(n=20)))
    assert len(tables) == 15
    assert [table.name for table in tables if table.missing] == []
    assert all(table.rows for table in tables)


@pytest.mark.parametrize(
    "wrong", [{"k": 0}, {"budget": 1.5}, {"resamples": 0}, {"seed": -1}, {"examples": -1}]
)
def test_settings_refuse_what_is_not_allowed(wrong):
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        ReportSettings(**wrong)
