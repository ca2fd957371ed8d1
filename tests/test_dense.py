"""DenseIndex: exact against numpy, ties in row order, padding, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("faiss")

from oracles.dense import top_k

from sqe_fast import dense
from sqe_fast.dense import DenseIndex
from sqe_fast.errors import InvalidInputError, InvalidTypeError, MissingExtraError


def unit(shape, seed=0):
    values = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    return values / np.linalg.norm(values, axis=1, keepdims=True)


@given(
    n=st.integers(0, 40), queries=st.integers(0, 25), dim=st.integers(1, 9), k=st.integers(1, 50),
    seed=st.integers(0, 999),
)  # fmt: skip
@settings(max_examples=80, deadline=None)
def test_equals_the_oracle_on_vectors_full_of_ties(n, queries, dim, k, seed):
    random = np.random.default_rng(seed)
    vectors = random.integers(-2, 3, (n, dim)).astype(np.float32)  # small integers: products are exact
    asked = random.integers(-2, 3, (queries, dim)).astype(np.float32)
    hits = DenseIndex.build(vectors, device="cpu").search(asked, k)
    ids, scores = top_k(vectors, asked, k)
    assert hits.ids.tolist() == ids.tolist()
    assert hits.scores.tolist() == scores.tolist()
    assert hits.ids.dtype == np.int32
    assert hits.scores.dtype == np.float32


def test_duplicates_beyond_k_come_in_row_order_for_any_batch():
    vectors = unit((4000, 64)).astype(np.float16)
    vectors[1000:2500] = vectors[7]
    vectors[3000] = vectors[3]
    index = DenseIndex.build(vectors, device="cpu")
    queries = np.concatenate([vectors[[7, 3]].astype(np.float32), unit((60, 64), seed=1)])
    hits = index.search(queries, 10)
    assert hits.ids[0].tolist() == [7, *range(1000, 1009)]
    assert hits.ids[1, :2].tolist() == [3, 3000]
    assert len(set(hits.scores[0].tolist())) == 1
    for row in range(len(queries)):
        one = index.search(queries[row : row + 1], 10)
        assert one.ids[0].tolist() == hits.ids[row].tolist()
        assert one.scores[0].tolist() == hits.scores[row].tolist()


def test_real_vectors(shared_data):
    data = np.load(shared_data / "agent_memory/dev/minilm_vectors.npz")
    store = data[next(name for name in data.files if data[name].shape[0] == 5000)]
    queries = data["probes"][:40, 0].astype(np.float32)
    index = DenseIndex.build(store, device="cpu")
    ids, scores = top_k(store, queries, 20)
    hits = index.search(queries, 20)
    np.testing.assert_allclose(hits.scores, scores, atol=1e-6)
    assert (hits.ids == ids).mean() > 0.999  # float32 may swap two that differ by less than its rounding
    whole = index.scores(queries)
    assert whole.shape == (40, 5000)
    np.testing.assert_allclose(whole, queries @ store.astype(np.float32).T, atol=1e-6)


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 8, 12, 16, 100, 384])
def test_scores_of_a_query_do_not_depend_on_others(dim, monkeypatch):
    monkeypatch.setattr(dense, "_SCORED", 2**12)  # threads, and tiles, for a small index too
    monkeypatch.setattr(dense, "_TILE", 2**8)
    vectors, queries = unit((331, dim), seed=4), unit((9, dim), seed=5)
    index = DenseIndex.build(vectors, device="cpu")
    whole = index.scores(queries)
    np.testing.assert_allclose(whole, queries.astype(np.float64) @ vectors.T, atol=1e-6)
    for row in range(len(queries)):
        assert index.scores(queries[row : row + 1])[0].tolist() == whole[row].tolist()
    assert index.scores(queries, threads=1).tolist() == whole.tolist()
    monkeypatch.undo()
    assert index.scores(queries).tolist() == whole.tolist()


def test_memory_mapped_half_precision(tmp_path):
    vectors = unit((100, 16)).astype(np.float16)
    vectors.tofile(tmp_path / "vectors.f16")
    mapped = np.memmap(tmp_path / "vectors.f16", dtype=np.float16, mode="r", shape=(100, 16))
    queries = unit((3, 16), seed=2)
    a, b = (DenseIndex.build(v, device="cpu").search(queries, 5) for v in (mapped, vectors))
    assert a.ids.tolist() == b.ids.tolist()


def test_add_equals_a_rebuild():
    vectors, queries = unit((50, 8)), unit((5, 8), seed=3)
    index = DenseIndex.build(vectors[:20], device="cpu")
    index.search(queries, 3)  # a view of the memory that `add` moves must not be kept
    index.add(vectors[20:])
    index.add(np.empty((0, 8), np.float32))
    assert len(index) == 50
    assert index.search(queries, 7).ids.tolist() == top_k(vectors, queries, 7)[0].tolist()
    np.testing.assert_allclose(index.scores(queries), queries @ vectors.T, atol=1e-6)


def test_empty_index_and_k_beyond_it():
    empty = DenseIndex.build([], device="cpu", dim=4)
    hits = empty.search(np.eye(4, dtype=np.float32), 3)
    assert (hits.ids == -1).all()
    assert np.isneginf(hits.scores).all()
    assert empty.scores(np.eye(4)).shape == (4, 0)
    hits = DenseIndex.build(np.eye(2), device="cpu").search(np.eye(2), 5)
    assert hits.counts.tolist() == [2, 2]
    assert hits.ids[0].tolist() == [0, 1, -1, -1, -1]
    assert DenseIndex.build(np.eye(2), device="cpu").search(np.empty((0, 2)), 5).ids.shape == (0, 5)
    many = DenseIndex.build(np.eye(2), device="cpu").search(np.eye(2), 5000)  # no limit of 2,048 on the CPU
    assert many.ids.shape == (2, 5000)


@pytest.mark.parametrize("factory", ["HNSW16", "IVF4,Flat", "SQfp16"])
def test_other_factories(factory):
    vectors = unit((300, 16))
    hits = DenseIndex.build(vectors, factory, device="cpu").search(vectors[:5], 400)
    assert hits.ids[:, 0].tolist() == [0, 1, 2, 3, 4]
    for ids, scores in hits:
        assert len(set(ids.tolist())) == len(ids)
        assert (np.diff(scores) <= 0).all()
    with pytest.raises(InvalidInputError, match="'Flat'"):
        DenseIndex.build(vectors, factory, device="cpu").scores(vectors[:1])


@pytest.mark.parametrize(
    ("vectors", "error", "message"),
    [
        (np.zeros(3), InvalidInputError, "vectors must be of shape"),
        (np.zeros((2, 2, 2)), InvalidInputError, "vectors must be of shape"),
        (np.zeros((2, 0)), InvalidInputError, "dim >= 1"),
        ([[1.0], [1.0, 2.0]], InvalidInputError, "rows differ in length"),
        ([["a", "b"]], InvalidTypeError, "vectors must be a float array"),
        (np.array([[1.0, 2.0], [np.nan, 0.0]]), InvalidInputError, "vectors: row 1 holds NaN"),
        (np.array([[np.inf, -np.inf]]), InvalidInputError, "vectors: row 0 holds NaN or infinity"),
        (None, InvalidTypeError, "vectors"),
    ],
)
def test_bad_vectors_are_refused(vectors, error, message):
    with pytest.raises(error, match=message):
        DenseIndex.build(vectors, device="cpu")


def test_bad_arguments_are_refused():
    index = DenseIndex.build(np.eye(3), device="cpu")
    with pytest.raises(InvalidInputError, match="queries must have 3 columns"):
        index.search(np.eye(4), 1)
    with pytest.raises(InvalidInputError, match="k must be from 1"):
        index.search(np.eye(3), 0)
    with pytest.raises(InvalidTypeError, match="k must be an int"):
        index.search(np.eye(3), 1.5)
    with pytest.raises(InvalidInputError, match="vectors must have 3 columns"):
        index.add(np.eye(2))
    with pytest.raises(InvalidInputError, match="could not parse index string"):
        DenseIndex.build(np.eye(3), "nonsense", device="cpu")
    with pytest.raises(InvalidInputError, match="cannot be trained on 3 vectors"):
        DenseIndex.build(np.eye(3), "IVF64,Flat", device="cpu")
    with pytest.raises(InvalidTypeError, match="factory"):
        DenseIndex.build(np.eye(3), None, device="cpu")
    with pytest.raises(InvalidInputError, match="device must be"):
        DenseIndex.build(np.eye(3), device="tpu")


def test_a_gpu_that_is_not_there_is_named():
    import faiss

    expected = InvalidInputError if hasattr(faiss, "StandardGpuResources") else MissingExtraError
    with pytest.raises(expected, match="GPU"):
        DenseIndex.build(np.eye(3), device="cuda:99")


@pytest.mark.gpu
def test_gpu_equals_cpu():
    import faiss

    if not hasattr(faiss, "StandardGpuResources") or not faiss.get_num_gpus():
        pytest.skip("no GPU for faiss")
    vectors, queries = unit((2000, 64)).astype(np.float16), unit((30, 64), seed=1)
    card = DenseIndex.build(vectors, device="cuda").search(queries, 10)
    plain = DenseIndex.build(vectors, device="cpu").search(queries, 10)
    np.testing.assert_allclose(card.scores, plain.scores, atol=1e-3)
    assert (card.ids == plain.ids).mean() > 0.98


def test_k_beyond_the_gpu_limit_is_refused_before_faiss_is_asked():
    index = DenseIndex.build(np.eye(3), device="cpu")
    index.device = "cuda:0"
    with pytest.raises(InvalidInputError, match="at most 2048 on a GPU"):
        index.search(np.eye(3), 2049)
