"""Fusion of id arrays against plain Python, its laws, and what other libraries get wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqe_fast import _core
from sqe_fast.fusion import fuse_rows, fuse_scores, merge_topk, rrf, rrf_lists
from tests.oracles import fusion as oracle

LEVELS = _core.isa_levels()
WEIGHT = st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.0, 3.7])
SCORE = st.one_of(
    st.sampled_from([-1.0, 0.0, -0.0, 0.25, 1.0]), st.floats(-1e6, 1e6, width=32, allow_subnormal=False)
)


@pytest.fixture
def each_level():
    """Call a function once per instruction set level."""
    before = _core.isa()

    def call(function):
        results = []
        for level in LEVELS:
            _core.set_isa(level)
            results.append(function())
        return results

    yield call
    _core.set_isa(before)


@st.composite
def batches(draw, n_docs=None):
    """(ids, scores, lengths) of a few queries; few documents, so that ties and repeats abound."""
    n, n_lists, depth = draw(st.integers(1, 3)), draw(st.integers(0, 5)), draw(st.integers(0, 8))
    top = draw(st.sampled_from([1, 3, 12, 2**31 - 1])) if n_docs is None else n_docs
    size = n * n_lists * depth
    ids = draw(st.lists(st.integers(-1, top - 1), min_size=size, max_size=size))
    scores = draw(st.lists(SCORE, min_size=size, max_size=size))
    lengths = draw(st.lists(st.integers(0, depth), min_size=n * n_lists, max_size=n * n_lists))
    return (
        np.array(ids, np.int32).reshape(n, n_lists, depth),
        np.array(scores, np.float32).reshape(n, n_lists, depth),
        np.array(lengths, np.int32).reshape(n, n_lists),
    )


def pairs_of(ids, scores, lengths, q):
    """One query's lists of (id, score), padding left out."""
    return [
        [(i, s) for i, s in zip(row[:m], values[:m], strict=True) if i >= 0]
        for row, values, m in zip(ids[q].tolist(), scores[q].tolist(), lengths[q].tolist(), strict=True)
    ]


def assert_equal(hits, wanted):
    """`hits` equals what an oracle says, query by query, bit for bit."""
    assert hits.ids.tolist() == [ids for ids, _ in wanted]
    assert hits.scores.tolist() == [scores for _, scores in wanted]


def same(a, b):
    np.testing.assert_array_equal(a.ids, b.ids)
    np.testing.assert_array_equal(a.scores, b.scores)


# --- rrf ---


def test_rrf_weight_minus_zero_is_zero():
    """Its bits, taken for a large number, would put the documents of that list first."""
    ids = np.array([[[7, 8], [5, 6]]], np.int32)
    hits = rrf(ids, k=4, weights=[-0.0, 1.0])
    assert hits.ids.tolist() == [[5, 6, 7, 8]]
    assert not np.signbit(hits.scores).any()


@given(
    batches(),
    st.integers(1, 30),
    st.sampled_from([0.0, 0.5, 1.0, 60.0, 1e9]),
    st.lists(WEIGHT, min_size=5, max_size=5),
    st.sampled_from(["best", "sum"]),
)
def test_rrf_equals_oracle(batch, k, constant, weights, duplicates):
    ids, _, lengths = batch
    weights = weights[: ids.shape[1]]
    cut = [
        [row[:m] for row, m in zip(q, ms, strict=True)] for q, ms in zip(ids.tolist(), lengths, strict=True)
    ]
    hits = rrf(ids, lengths, k, constant, weights, duplicates)
    assert_equal(hits, [oracle.rrf(q, k, constant, weights, duplicates) for q in cut])
    same(hits, rrf(ids, lengths, k, constant, [weights] * len(ids), duplicates))  # weights per query


@pytest.mark.parametrize(
    ("depth", "n_docs", "k"), [(10, 20, 5), (10, 10**9, 5), (100, 200, 100), (100, 5000, 100), (300, 310, 17)]
)
def test_rrf_equals_oracle_at_usual_sizes(depth, n_docs, k):
    rng = np.random.default_rng(depth + k)
    if n_docs < 10**6:
        ids = np.array([[rng.permutation(n_docs)[:depth] for _ in range(6)] for _ in range(20)])
    else:
        ids = rng.integers(0, n_docs, (20, 6, depth))
    assert_equal(rrf(ids, k=k), [oracle.rrf(q, k) for q in ids.tolist()])


def test_rrf_of_many_documents():
    """More entries than 16-bit entry numbers hold."""
    ids = np.random.default_rng(1).integers(0, 2**31 - 1, (1, 2, 40_000))
    assert_equal(rrf(ids, k=500), [oracle.rrf(ids[0].tolist(), 500)])


@given(batches(), st.integers(1, 40))
def test_rrf_equals_lists_and_reference_loop(batch, k):
    ids, scores, lengths = batch
    hits = rrf(ids, lengths, k, duplicates="sum")
    for q, (found, values) in enumerate(hits):
        # Padding inside a list counts as a rank; the loop knows no padding.
        lists = [
            [(i if i >= 0 else ("pad", at), s) for at, (i, s) in enumerate(zip(row, vals, strict=True))][:m]
            for row, vals, m in zip(ids[q].tolist(), scores[q].tolist(), lengths[q], strict=True)
        ]
        loop = oracle.reference_loop(lists, 10**6)
        assert rrf_lists(lists, 10**6) == loop
        real = [(i, s) for i, s in loop if isinstance(i, int)][:k]
        assert list(zip(found.tolist(), values.tolist(), strict=True)) == [
            (i, float(np.float32(s))) for i, s in real
        ]


@given(batches(), st.integers(1, 9))
def test_laws_of_rrf(batch, k):
    ids, _, lengths = batch
    n, n_lists, depth = ids.shape
    hits = rrf(ids, lengths, k)
    same(hits, rrf(ids, lengths, k, weights=np.ones(n_lists)))
    order = np.random.default_rng(0).permutation(n)
    shuffled = rrf(ids[order], lengths[order], k)
    np.testing.assert_array_equal(shuffled.ids, hits.ids[order])
    np.testing.assert_array_equal(shuffled.scores, hits.scores[order])
    empty = np.full((n, 2, depth), -1, np.int32)
    same(hits, rrf(np.concatenate([ids, empty], axis=1), np.pad(lengths, [(0, 0), (0, 2)]), k))
    padded = ids.copy()
    padded[np.arange(depth) >= lengths[:, :, None]] = -1  # a cut list is a padded list
    same(hits, rrf(padded, k=k))


# --- fuse_scores ---


@given(
    batches(),
    st.sampled_from(["zscore", "minmax"]),
    st.sampled_from(["min", "zero"]),
    st.lists(WEIGHT, min_size=5, max_size=5),
    st.integers(1, 30),
)
def test_fuse_scores_equals_oracle(batch, how, absent, weights, k):
    ids, scores, lengths = batch
    weights = weights[: ids.shape[1]]
    hits = fuse_scores(ids, scores, lengths, how, weights, k, absent)
    lists = [pairs_of(ids, scores, lengths, q) for q in range(len(ids))]
    assert_equal(hits, [oracle.fuse_scores(q, k, how, weights, absent) for q in lists])


@given(batches(), st.sampled_from(["zscore", "minmax"]), st.sampled_from(["min", "zero"]))
def test_laws_of_fuse_scores(batch, how, absent):
    ids, scores, lengths = batch
    hits = fuse_scores(ids, scores, lengths, how, absent=absent)
    same(hits, fuse_scores(ids, scores, lengths, how, np.ones((len(ids), ids.shape[1])), absent=absent))
    more = [np.concatenate([x, x[:, :1]], axis=1) for x in (ids, scores)]
    emptied = np.concatenate([lengths, 0 * lengths[:, :1]], axis=1)
    same(hits, fuse_scores(*more, emptied, how, absent=absent))


def test_scores_of_padding_are_not_looked_at():
    ids, scores = [[[4, -1], [-1, 4]]], [[[1.0, np.nan], [np.inf, 2.0]]]
    assert fuse_scores(ids, scores, k=2).ids.tolist() == [[4, -1]]
    assert merge_topk(ids, scores, k=2).scores.tolist() == [[2.0, -np.inf]]
    assert fuse_scores([[[4, 5]]], [[[1.0, np.nan]]], lengths=[[1]], k=2).ids.tolist() == [[4, -1]]


# --- fuse_rows ---


@pytest.mark.parametrize("how", ["zscore", "minmax"])
@pytest.mark.parametrize("n_docs", [1, 7, 8, 15, 16, 17, 33, 1023, 1024, 1025, 3000])
def test_fuse_rows_equals_oracle_on_every_level(n_docs, how, each_level):
    rng = np.random.default_rng(n_docs)
    rows = rng.normal(0.6, 0.1, (3, 4, n_docs)).astype(np.float32)
    rows[1] = np.round(rows[1], 1)  # ties
    rows[:, 2] = 3.0  # equal scores
    weights = [1.0, 0.3, 2.0, 0.7]
    for k in (1, 5, 40, n_docs + 3):
        wanted = [oracle.fuse_rows(q, k, how, weights) for q in rows.tolist()]
        for hits in each_level(lambda k=k: fuse_rows(rows, how, weights, k)):
            assert_equal(hits, wanted)


@given(st.data(), st.sampled_from(["zscore", "minmax"]), st.integers(1, 60))
def test_fuse_rows_equals_fuse_scores_of_full_lists(data, how, k):
    n_lists, n_docs = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 16))
    values = data.draw(st.lists(SCORE, min_size=n_lists * n_docs, max_size=n_lists * n_docs))
    rows = np.array(values, np.float32).reshape(1, n_lists, n_docs)
    ids = np.tile(np.arange(n_docs), (1, n_lists, 1))
    a, b = fuse_rows(rows, how, k=k), fuse_scores(ids, rows, how=how, k=k)
    np.testing.assert_allclose(a.scores, b.scores, rtol=1e-4, atol=1e-5)


# --- merge_topk ---


@given(batches(n_docs=9), st.integers(1, 30))
def test_merge_equals_oracle(batch, k):
    ids, scores, lengths = batch
    full = np.full_like(lengths, ids.shape[2])
    hits = merge_topk(ids, scores, k)
    assert_equal(hits, [oracle.merge_topk(pairs_of(ids, scores, full, q), k) for q in range(len(ids))])


@given(st.integers(1, 60), st.integers(1, 4), st.integers(1, 70), st.integers(0, 99))
def test_merge_of_shards_equals_top_of_union(n_docs, n_shards, k, seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 9, n_docs).astype(np.float32)
    shard_of = rng.integers(0, n_shards, n_docs)
    ids = np.full((1, n_shards, k), -1, np.int32)
    values = np.full((1, n_shards, k), -np.inf, np.float32)
    for shard in range(n_shards):
        best = sorted(np.flatnonzero(shard_of == shard), key=lambda i: (-scores[i], i))[:k]
        ids[0, shard, : len(best)], values[0, shard, : len(best)] = best, scores[best]
    union = merge_topk(np.arange(n_docs).reshape(1, 1, -1), scores.reshape(1, 1, -1), k)
    same(merge_topk(ids, values, k), union)


# --- all: threads, levels, memory layouts, empty input ---


def everything(ids, scores, k, threads):
    yield rrf(ids, k=k, threads=threads)
    yield rrf(ids, k=k, weights=np.linspace(0, 2, ids.shape[0] * ids.shape[1]).reshape(ids.shape[:2]))
    yield fuse_scores(ids, scores, k=k, threads=threads)
    yield fuse_rows(scores, k=k, threads=threads)
    yield merge_topk(ids, scores, k=k, threads=threads)


@pytest.mark.parametrize("k", [3, 50])
def test_result_depends_on_neither_threads_nor_level(k, each_level):
    rng = np.random.default_rng(3)
    ids = rng.integers(-1, 90, (1500, 4, 25)).astype(np.int32)
    scores = rng.integers(0, 30, ids.shape).astype(np.float32)
    wanted = list(everything(ids, scores, k, 1))
    for threads in (1, 2, 5, None):
        for got in each_level(lambda threads=threads: list(everything(ids, scores, k, threads))):
            for a, b in zip(wanted, got, strict=True):
                same(a, b)


def test_any_memory_layout_and_safe_dtype():
    ids = np.arange(48, dtype=np.int32).reshape(2, 3, 8) % 11
    scores = np.sqrt(np.arange(48, dtype=np.float32)).reshape(2, 3, 8)
    wanted = list(everything(ids, scores, 4, 1))
    strided = np.repeat(ids, 2, axis=2)[:, :, ::2], np.asfortranarray(scores)
    frozen = ids.copy(), scores.copy()
    for array in frozen:
        array.flags.writeable = False
    others = [
        strided,
        frozen,
        (ids.astype(np.int64), scores.astype(np.float64)),
        (ids.astype(np.int8), scores),
        (ids.astype(">i4"), scores.astype(">f4")),
    ]
    for other_ids, other_scores in others:
        for a, b in zip(wanted, everything(other_ids, other_scores, 4, 2), strict=True):
            same(a, b)
    same(wanted[0], rrf(ids.tolist(), k=4))


@pytest.mark.parametrize("shape", [(0, 3, 4), (2, 0, 4), (2, 3, 0), (0, 0, 0)])
def test_empty_axes_give_padding(shape):
    ids, scores = np.zeros(shape, np.int32), np.zeros(shape, np.float32)
    for hits in everything(ids, scores, 3, 2):
        assert hits.ids.shape == (shape[0], 3)
        assert (hits.ids == -1).all()
        assert (hits.scores == -np.inf).all()


def test_empty_python_lists():
    assert rrf([]).ids.shape == (0, 5)
    assert rrf([[], []]).counts.tolist() == [0, 0]
    assert rrf([[[], []]], weights=[1, 2]).counts.tolist() == [0]
    assert fuse_scores([[[]]], [[[]]]).counts.tolist() == [0]


# --- what other libraries get wrong ---


def test_equal_scores_have_one_order():
    """Documents with equal sums stand in the order in which the lists first show them, always."""
    ids = [[[5, 1], [1, 5], [9, 3], [3, 9]]]
    for threads in (1, 2, 5):
        assert rrf(ids, k=4, threads=threads).ids.tolist() == [[5, 1, 9, 3]]
    lists = [[(i, 0.0) for i in row] for row in ids[0]]
    assert [i for i, _ in rrf_lists(lists, 4)] == [5, 1, 9, 3]


def test_repeats_inside_one_list_count_once_at_the_best_rank():
    """Splitting one document into many chunks does not let it outvote the others."""
    ids = [[[7, 8, 8, 8, 8]]]
    assert rrf(ids, k=3).ids.tolist() == [[7, 8, -1]]
    assert rrf(ids, k=3).scores[0, 1] == np.float32(1 / 62)
    summed = rrf(ids, k=3, duplicates="sum")
    assert summed.ids.tolist() == [[8, 7, -1]]
    assert summed.scores[0, 0] == np.float32(1 / 62 + 1 / 63 + 1 / 64 + 1 / 65)


def test_ranks_start_at_one_and_absence_adds_nothing():
    hits = rrf([[[1, 2], [2, -1]]], k=2)
    assert hits.ids.tolist() == [[2, 1]]
    assert hits.scores.tolist() == [[np.float32(1 / 62 + 1 / 61), np.float32(1 / 61)]]


def test_constant_is_honoured_down_to_zero():
    """The default lets agreement win; a small constant lets one first place win; any from 0 up is allowed."""
    ids = [[[1, 2, 3, 4], [9, 2, 8, 7]]]
    assert rrf(ids, k=1).ids.tolist() == [[2]]
    assert rrf([[[1, 3, 2], [4, 5, 2]]], k=1, constant=0).ids.tolist() == [[1]]
    assert rrf([[[1, 3, 2], [4, 5, 2]]], k=1, constant=60).ids.tolist() == [[2]]
    assert rrf(ids, k=9, constant=0).scores[0, 1] == 1.0
    assert rrf(ids, k=1, constant=1e300).ids.tolist() == [[2]]


def test_documents_of_one_list_only_are_kept():
    ids = [[[1, 2], [3, 4]]]
    for hits in (rrf(ids, k=9), fuse_scores(ids, [[[2, 1], [4, 3]]], k=9)):
        assert sorted(hits.ids[0].tolist()) == [-1] * 5 + [1, 2, 3, 4]


@pytest.mark.parametrize("how", ["zscore", "minmax"])
def test_an_empty_list_is_accepted(how):
    ids, scores = [[[5, 6], [-1, -1]], [[-1, -1], [-1, -1]]], np.ones((2, 2, 2))
    for hits in (rrf(ids, k=2), fuse_scores(ids, scores, how=how, k=2)):
        assert hits.ids.tolist() == [[5, 6], [-1, -1]]
    assert rrf_lists([[("a", 1.0)], []]) == [("a", 1 / 61)]
    assert rrf_lists([]) == rrf_lists([[], ()]) == []


def test_always_sorted_even_if_fewer_than_k():
    rng = np.random.default_rng(0)
    ids = np.array([[rng.permutation(30)[:20] for _ in range(5)] for _ in range(50)])
    for hits in everything(ids, rng.normal(size=ids.shape).astype(np.float32), 64, 2):
        for found, values in hits:
            assert len(found) < 64
            assert (np.diff(values) <= 0).all()


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.sampled_from([17, 40, 600]))
def test_selection_with_keys_of_any_spread(seed, k):
    """Weights of very different size crowd the sums into few buckets of the selection."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, 400, (1, 8, 90))
    weights = 10.0 ** rng.integers(-30, 30, 8)
    assert_equal(rrf(ids, k=k, weights=weights), [oracle.rrf(ids[0].tolist(), k, weights=weights.tolist())])
