"""Bootstrap and sign-flip against a numpy restatement that makes every draw."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqe_fast import _core
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.stats import paired_bootstrap, sign_flip
from tests.oracles import stats as oracle

LEVELS = _core.isa_levels()


@pytest.fixture(params=LEVELS)
def level(request):
    before = _core.isa()
    _core.set_isa(request.param)
    yield request.param
    _core.set_isa(before)


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [  # the answers that the generator's authors publish with it (Random123, kat_vectors)
        ((0, 0, 0, 0), 0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0xFFFFFFFF,) * 4, 2**64 - 1, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            0x299F31D0A4093822,
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox_gives_the_published_answers(counter, key, words):
    assert tuple(_core.philox4x32_10(counter, key)) == words
    assert tuple(int(x) for x in oracle.philox(*counter, key)) == words


def values_of(kind, n, rng):
    if kind == "hits":
        return rng.choice([-1, 0, 1], n, p=[0.1, 0.7, 0.2]).astype(np.int8)
    if kind == "constant":
        return np.full(n, -3, np.int8)
    if kind == "few":
        return rng.integers(-6, 7, n).astype(np.int8)
    if kind == "bytes":
        return rng.integers(-128, 128, n).astype(np.int8)
    return rng.normal(size=n)


@pytest.mark.parametrize("kind", ["hits", "constant", "few", "bytes", "floats"])
@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 130, 500, 513, 4000])
def test_resamples_equal_the_oracle(kind, n, level):
    deltas = values_of(kind, n, np.random.default_rng(n))
    seed = 2**63 + n
    got = _core.bootstrap_sums(np.sort(deltas), 25, seed, 1)
    assert got.tolist() == oracle.resample_sums(deltas, 25, seed)


def test_draws_that_only_the_lower_half_decides(level):
    """With n a power of two no threshold has a lower half; with these n nearly all ties go both ways."""
    deltas = np.arange(12, dtype=np.int8).repeat(250)[:2999]
    got = _core.bootstrap_sums(deltas, 400, 11, 2)  # over a million draws, 11 thresholds: some 200 ties
    assert got.tolist() == oracle.resample_sums(deltas, 400, 11)


@pytest.mark.parametrize("kind", ["hits", "few", "bytes", "floats"])
@pytest.mark.parametrize("n", [1, 5, 200, 1000])
def test_results_equal_the_oracle(kind, n):
    deltas = values_of(kind, n, np.random.default_rng(n))
    assert paired_bootstrap(deltas, 300, seed=n) == pytest.approx(
        oracle.paired_bootstrap(deltas, 300, n), rel=1e-12, abs=1e-15
    )
    if kind != "floats":
        assert sign_flip(deltas, 300, seed=n) == oracle.sign_flip(deltas, 300, n)


@pytest.mark.parametrize("kind", ["hits", "constant", "few", "bytes", "floats"])
@pytest.mark.parametrize("n", [1, 31, 32, 33, 127, 128, 129, 300, 8192, 8193, 9000])
def test_sign_flip_equals_the_oracle(kind, n, level):
    deltas = values_of(kind, n, np.random.default_rng(n))
    assert sign_flip(deltas, 40, seed=5) == oracle.sign_flip(deltas, 40, 5)


@settings(max_examples=40)
@given(
    st.one_of(st.lists(st.integers(-128, 127), min_size=1), st.lists(st.floats(-1e9, 1e9), min_size=1)),
    st.integers(0, 2**64 - 1),
    st.randoms(use_true_random=False),
)
def test_laws(deltas, seed, random):
    result, p = paired_bootstrap(deltas, 50, seed), sign_flip(deltas, 50, seed)
    shuffled = deltas[:]
    random.shuffle(shuffled)
    for threads in (1, 2, 5):
        assert paired_bootstrap(shuffled, 50, seed, threads) == result
        assert sign_flip(shuffled, 50, seed, threads) == p
    assert result.low <= result.high
    assert min(deltas) - 1e-6 <= result.low
    assert result.high <= max(deltas) + 1e-6
    assert 0 <= result.p_one_sided <= 1
    assert 0 <= result.p_two_sided <= 1
    assert 1 / 51 <= p <= 1
    mirrored = [-x for x in deltas]
    assert sign_flip(mirrored, 50, seed) == p


def test_threads_share_the_resamples():
    deltas = values_of("hits", 3000, np.random.default_rng(0))
    results = {paired_bootstrap(deltas, 2000, 1, threads) for threads in (1, 2, 5, None)}
    assert len(results) == 1
    assert len({sign_flip(deltas * 0.3, 2000, 1, threads) for threads in (1, 2, 5, None)}) == 1


def test_whole_numbers_of_any_dtype_take_one_path():
    deltas = values_of("hits", 500, np.random.default_rng(0))
    results = {paired_bootstrap(deltas.astype(t), 500) for t in (np.int8, np.int64, np.float32, np.float64)}
    results.add(paired_bootstrap(deltas.tolist(), 500))
    assert len(results) == 1
    assert paired_bootstrap(deltas == 1, 500) == paired_bootstrap((deltas == 1).astype(int), 500)
    # Scaled by a power of two nothing but the scale changes, on the other path too.
    half, whole = paired_bootstrap(deltas * 0.5, 500), paired_bootstrap(deltas, 500)
    assert (half.mean * 2, half.low * 2, half.high * 2, *half[3:]) == whole


def test_tails():
    """A resampled mean of 0 counts for both tails; twice the smaller tail is cut at 1."""
    assert paired_bootstrap([0, 0, 0], 100) == (0.0, 0.0, 0.0, 1.0, 1.0)
    assert paired_bootstrap([1] * 9, 100) == (1.0, 1.0, 1.0, 0.0, 0.0)
    assert paired_bootstrap([-1] * 9, 100) == (-1.0, -1.0, -1.0, 0.0, 0.0)
    up, down = paired_bootstrap([1, 0, 0], 999, 7), paired_bootstrap([-1, 0, 0], 999, 7)
    assert up.p_one_sided == pytest.approx((2 / 3) ** 3, abs=0.06)
    assert up.p_two_sided == 2 * up.p_one_sided
    assert down.p_one_sided == pytest.approx((2 / 3) ** 3, abs=0.06)


def test_sign_flip_of_nothing_but_zeros():
    assert sign_flip([0, 0, 0]) == 1.0
    assert sign_flip([0.0, -0.0]) == 1.0


def test_sign_flip_is_exact_on_paper_ties():
    """0.1 + 0.2 and 0.3 are a tie although their doubles differ: half of the 8 sign patterns reach 0."""
    assert sign_flip([0.1, 0.2, -0.3], 500) == 1.0
    p = sign_flip([0.1, 0.2, 0.3], 4000)
    assert p == pytest.approx(2 / 8, abs=0.04)


def test_bootstrap_agrees_with_the_normal_approximation():
    deltas = values_of("hits", 4000, np.random.default_rng(5))
    result = paired_bootstrap(deltas, 20_000, 3)
    error = deltas.std() / math.sqrt(len(deltas))
    assert result.low == pytest.approx(result.mean - 1.96 * error, abs=0.05 * error)
    assert result.high == pytest.approx(result.mean + 1.96 * error, abs=0.05 * error)


def test_the_published_comparison_comes_out_again():
    """140 queries won and 105 lost of 4,000: +0.9 points [+0.1, +1.7], one-sided p .015 (SQE, Recall@5)."""
    deltas = np.repeat(np.array([1, -1, 0], np.int8), [140, 105, 3755])
    for seed in (0, 42):
        result = paired_bootstrap(deltas, 10_000, seed)
        assert [round(100 * x, 1) for x in result[:3]] == [0.9, 0.1, 1.7]
        assert result.p_one_sided == pytest.approx(0.015, abs=0.004)


def test_numpy_version_of_the_bootstrap_agrees():
    """Other random numbers, the same distribution: ends of the interval within sampling error."""
    deltas = values_of("floats", 300, np.random.default_rng(9))
    rng = np.random.default_rng(0)
    means = deltas[rng.integers(0, 300, (20_000, 300))].mean(1)
    result = paired_bootstrap(deltas, 20_000)
    assert (result.low, result.high) == pytest.approx(tuple(np.percentile(means, [2.5, 97.5])), abs=0.006)


@pytest.mark.parametrize(
    ("deltas", "error", "message"),
    [
        ([], InvalidInputError, "deltas must hold from 1 .*got 0"),
        (None, InvalidTypeError, "deltas must be an array of numbers; got None"),
        ("101", InvalidTypeError, "deltas must be an array of numbers; got str"),
        ([[1, 0]], InvalidInputError, r"deltas must have shape \[n\]; got shape \[1, 2\]"),
        (3, InvalidInputError, r"deltas must have shape \[n\]; got shape \[\]"),
        ([[1], [1, 2]], InvalidInputError, "deltas must have shape.*different lengths"),
        ([1.0, math.nan], InvalidInputError, "deltas must be finite; got nan"),
        ([1.0, -math.inf], InvalidInputError, "deltas must be finite; got -inf"),
        ([1e308] * 3, InvalidInputError, "deltas must have a sum within float64"),
        (["a"], InvalidTypeError, "deltas must hold real numbers"),
        ([1j], InvalidTypeError, "deltas must hold real numbers; got dtype complex128"),
        ([None], InvalidTypeError, "deltas must hold real numbers; got dtype object"),
    ],
)
def test_wrong_deltas_are_refused(deltas, error, message):
    for function in (paired_bootstrap, sign_flip):
        with pytest.raises(error, match=message):
            function(deltas)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"count": 0}, InvalidInputError, "must be from 1 to 2147483647; got 0"),
        ({"count": -3}, InvalidInputError, "must be from 1"),
        ({"count": 10.0}, InvalidTypeError, "must be an int"),
        ({"count": True}, InvalidTypeError, "must be an int"),
        ({"seed": -1}, InvalidInputError, "seed must be from 0 to 18446744073709551615; got -1"),
        ({"seed": 2**64}, InvalidInputError, "seed must be from 0"),
        ({"seed": None}, InvalidTypeError, "seed must be an int; got NoneType None"),
        ({"threads": 0}, InvalidInputError, "threads must be from 1"),
    ],
)
def test_wrong_options_are_refused(options, error, message):
    for function, name in ((paired_bootstrap, "resamples"), (sign_flip, "rounds")):
        named = {name if key == "count" else key: value for key, value in options.items()}
        wanted = f"{name} {message}" if "count" in options else message
        with pytest.raises(error, match=wanted):
            function([1, 0], **named)
