"""Nearest vectors by inner product: FAISS, with ties in one order whatever the batch.

BLAS rounds a product differently from one batch shape to the next, so FAISS alone may order two equal
vectors either way. Exact search on the CPU therefore takes a few candidates more than k, scores them again
with one fixed summation, and sorts by (score descending, row ascending).

FAISS's own threads wait for each other by spinning, which on small stores or busy cores makes two of them
slower than one; those of BLAS do the same, and a product that one thread makes in a tenth of a millisecond
took sixteen. So FAISS is given one thread, BLAS makes no scores, and large batches are dealt out to threads
of ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sqe_fast import _core
from sqe_fast._checks import check_int, check_threads, describe
from sqe_fast._extras import require
from sqe_fast.errors import InvalidInputError, InvalidTypeError, MissingExtraError
from sqe_fast.hits import Hits

__all__ = ["GPU_MAX_K", "DenseIndex"]

GPU_MAX_K = 2048  # FAISS's selection kernels on a GPU hold no more
_MARGIN = 8  # candidates beyond k
_SLACK = 1e-5  # more than float32 rounding moves the inner product of two unit vectors
_BLOCK = 65536  # rows converted, or scored against one query, at a time
_TILE = 2**17  # numbers of stored vectors (512 KB) that several queries are multiplied with in turn
_ROWS = 64  # FAISS takes vectors of few dimensions in groups, which must not be cut in two
_SHARE = 2**31  # multiplications of a search that are worth a thread: some 50 ms
_SCORED = 2**28  # and of scores of every row, some 30 ms


class DenseIndex:
    """An index of float32 vectors for inner product search; get one with `DenseIndex.build`.

    Attributes
    ----------
    dim : int
        Length of a vector.
    factory : str
        The FAISS factory string; "Flat" is exact.
    device : str
        "cpu" or "cuda:N".

    Examples
    --------
    >>> index = DenseIndex.build(np.eye(3, dtype=np.float16))  # doctest: +SKIP
    >>> index.search(np.eye(3, dtype=np.float32)[:1], k=2).ids.tolist()  # doctest: +SKIP
    [[0, 1]]
    """

    def __init__(self, index: Any, factory: str, device: str, resources: Any = None) -> None:
        """Wrap a FAISS index; use `DenseIndex.build` instead."""
        self.dim: int = index.d
        self.factory = factory
        self.device = device
        self._index = index
        self._resources = resources  # GPU memory pools: must outlive the index

    @classmethod
    def build(
        cls, vectors: ArrayLike, factory: str = "Flat", device: str | None = None, dim: int | None = None
    ) -> DenseIndex:
        """Index `vectors`, in row order.

        Parameters
        ----------
        vectors : float16 or float32[n, dim]
            May be an `np.memmap`; it is read block by block. L2-normalised for cosine.
        factory
            "Flat" (exact), or any string of `faiss.index_factory` for large stores ("IVF1024,SQfp16",
            "HNSW32"); one that needs training is trained on `vectors`.
        device
            "cpu", "cuda" or "cuda:N" (needs faiss-gpu). None: a GPU for "Flat" where FAISS has one, else
            the CPU. On a GPU vectors are stored as float16.
        dim
            Length of a vector where `vectors` is an empty list.

        Raises
        ------
        InvalidInputError, InvalidTypeError
            A wrong shape, dtype or factory string; NaN or infinity among the vectors.
        MissingExtraError
            No faiss, or a GPU wanted without faiss-gpu.
        """
        matrix = _matrix("vectors", vectors, dim)
        faiss = require("faiss", None, "dense search")
        if not isinstance(factory, str):
            raise InvalidTypeError(f"factory must be a str; got {describe(factory)}")
        place = _place(faiss, device, factory)
        index, resources = _make(faiss, matrix.shape[1], factory, place)
        if not index.is_trained:
            try:
                index.train(_block("vectors", matrix, 0, len(matrix)))
            except RuntimeError as error:
                raise InvalidInputError(
                    f"factory {factory!r} cannot be trained on {len(matrix)} vectors: {_reason(error)}"
                ) from None
        built = cls(index, factory, place, resources)
        built.add(matrix)
        return built

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def add(self, vectors: ArrayLike) -> None:
        """Append vectors: float16 or float32[m, dim]; their rows follow those already there."""
        matrix = _matrix("vectors", vectors, self.dim)
        for start in range(0, len(matrix), _BLOCK):
            self._index.add(_block("vectors", matrix, start, start + _BLOCK))

    def search(self, queries: ArrayLike, k: int, threads: int | None = None) -> Hits:
        """Return the k rows with the largest inner product for each query.

        Parameters
        ----------
        queries : float32[n, dim]
            One query a row.
        k
            Hits wanted; rows are padded where the index holds fewer. At most 2,048 on a GPU.
        threads
            CPU threads of exact search; None: all CPUs. FAISS sees to its own for other factories.

        Returns
        -------
        Hits
            ids int32[n, k] and scores float32[n, k]; score descending, then row ascending.
        """
        wanted = _block("queries", _matrix("queries", queries, self.dim), 0, None)
        k = check_int("k", k, 1)
        threads = check_threads(threads)
        if self.device != "cpu" and k > GPU_MAX_K:
            raise InvalidInputError(
                f"k must be at most {GPU_MAX_K} on a GPU; got {k} (build with device='cpu')"
            )
        ids = np.full((len(wanted), k), -1, dtype=np.int32)
        scores = np.full((len(wanted), k), -np.inf, dtype=np.float32)
        found = min(k, len(self))
        if found and len(wanted):
            exact = self.factory == "Flat" and self.device == "cpu"
            if exact:
                search = partial(self._search_exact, k=found)
                shares = len(wanted) * len(self) * self.dim // _SHARE
                number = max(1, min(threads or _core.default_threads(), shares, len(wanted)))
                ids[:, :found], scores[:, :found] = _in_threads(search, wanted, number)
            else:
                ids[:, :found], scores[:, :found] = self._search_plain(wanted, found)
        return Hits(ids, scores)

    def scores(self, queries: ArrayLike, threads: int | None = None) -> NDArray[np.float32]:
        """Return the inner product of each query with every row: float32[n, len(index)]. "Flat" only.

        Each pair is summed by itself, so a query's scores do not depend on how many others are asked, and one
        alone costs no more than its share of many.
        """
        wanted = _block("queries", _matrix("queries", queries, self.dim), 0, None)
        threads = check_threads(threads)
        if self.factory != "Flat":
            raise InvalidInputError(
                f"scores of every row need factory 'Flat'; this index is {self.factory!r}"
            )
        out = np.empty((len(wanted), len(self)), dtype=np.float32)
        if not out.size:
            return out
        shares = out.size * self.dim // _SCORED
        number = max(1, min(threads or _core.default_threads(), shares, len(wanted)))
        parts = zip(np.array_split(wanted, number), np.array_split(out, number), strict=True)
        if number == 1:
            self._score(wanted, out)
        else:
            with ThreadPoolExecutor(number, "sqe-dense") as pool:
                list(pool.map(lambda part: self._score(*part), parts))
        return out

    def _score(self, queries: NDArray[np.float32], out: NDArray[np.float32]) -> None:
        """Write the scores of some queries, tile of rows by tile, so that all find a tile in the cache."""
        faiss = require("faiss", None, "dense search")
        step = _BLOCK if len(queries) == 1 else max(1, _TILE // self.dim // _ROWS) * _ROWS
        for start, rows in self._rows():
            for first in range(0, len(rows), step):
                tile = rows[first : first + step]
                pointer = faiss.swig_ptr(tile)
                for query, line in zip(queries, out[:, start + first :], strict=True):
                    faiss.fvec_inner_products_ny(
                        faiss.swig_ptr(line), faiss.swig_ptr(query), pointer, self.dim, len(tile)
                    )

    def _rows(self) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Yield (first row, float32 vectors) in blocks; views of FAISS's own memory on the CPU."""
        if self.device == "cpu":
            stored = self._stored()
            for start in range(0, len(self), _BLOCK):
                yield start, stored[start : start + _BLOCK]
        else:
            for start in range(0, len(self), _BLOCK):
                yield start, self._index.reconstruct_n(start, min(_BLOCK, len(self) - start))

    def _stored(self) -> NDArray[np.float32]:
        faiss = require("faiss", None, "dense search")
        flat: NDArray[np.float32] = faiss.rev_swig_ptr(self._index.get_xb(), len(self) * self.dim)
        return flat.reshape(len(self), self.dim)

    def _search_plain(self, queries: NDArray[np.float32], k: int) -> tuple[NDArray[Any], NDArray[Any]]:
        scores, ids = self._index.search(queries, k)
        scores = np.where(ids < 0, np.float32(-np.inf), scores)
        return _sorted(ids, scores, k)

    def _search_exact(self, queries: NDArray[np.float32], k: int) -> tuple[NDArray[Any], NDArray[Any]]:
        stored = self._stored()
        wide = min(k + _MARGIN, len(stored))
        _, candidates = self._index.search(queries, wide)
        scores = np.empty(candidates.shape, dtype=np.float32)
        step = max(1, _BLOCK * 64 // (wide * self.dim))  # gathered vectors stay near 16 MB
        for start in range(0, len(queries), step):
            part = slice(start, start + step)
            scores[part] = np.einsum("qd,qkd->qk", queries[part], stored[candidates[part]])
        ids, best = _sorted(candidates, scores, k)
        if wide < len(stored):
            # Where even the last candidate scores as the k-th hit does, more of its equals may be outside.
            tied = np.flatnonzero(scores.min(1) >= best[:, -1] - _SLACK * np.maximum(1, np.abs(best[:, -1])))
            for row in tied:
                ids[row], best[row] = self._search_tied(queries[row], float(best[row, -1]), k)
        return ids, best

    def _search_tied(self, query: NDArray[np.float32], floor: float, k: int) -> tuple[Any, Any]:
        """Search one query over all rows; O(n) for n rows, used only where ties crowd the k-th place."""
        floor -= 2 * _SLACK * max(1.0, abs(floor))
        kept = [start + np.flatnonzero(rows @ query >= floor) for start, rows in self._rows()]
        candidates = np.concatenate(kept)
        scores = np.empty(len(candidates), dtype=np.float32)
        stored = self._stored()
        for start in range(0, len(candidates), _BLOCK):
            part = candidates[start : start + _BLOCK]
            scores[start : start + _BLOCK] = np.einsum("qd,qkd->qk", query[None], stored[part][None])[0]
        ids, best = _sorted(candidates[None], scores[None], k)
        return ids[0], best[0]


def _in_threads(
    search: Callable[[NDArray[np.float32]], tuple[NDArray[Any], NDArray[Any]]],
    queries: NDArray[np.float32],
    number: int,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Deal `queries` out to `number` threads, in each of which FAISS works alone; answers in order."""
    faiss = require("faiss", None, "dense search")

    def alone(part: NDArray[np.float32]) -> tuple[NDArray[Any], NDArray[Any]]:
        before = faiss.omp_get_max_threads()  # OpenMP keeps this number for each thread by itself
        faiss.omp_set_num_threads(1)
        try:
            return search(part)
        finally:
            faiss.omp_set_num_threads(before)

    if number == 1:
        return alone(queries)
    with ThreadPoolExecutor(number, "sqe-dense") as pool:
        parts = list(pool.map(alone, np.array_split(queries, number)))
    return np.concatenate([ids for ids, _ in parts]), np.concatenate([scores for _, scores in parts])


def _sorted(ids: NDArray[Any], scores: NDArray[np.float32], k: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the best k of each row by (score descending, id ascending, missing ids last)."""
    order = np.lexsort((np.where(ids < 0, np.iinfo(np.int64).max, ids), -scores), axis=1)[:, :k]
    return np.take_along_axis(ids, order, 1), np.take_along_axis(scores, order, 1)


def _matrix(name: str, values: ArrayLike, dim: int | None) -> NDArray[Any]:
    """Return `values` as a two-dimensional array of numbers, not copied; None for `dim` takes any width."""
    try:
        matrix = np.asanyarray(values)
    except ValueError:
        raise InvalidInputError(f"{name}: rows differ in length") from None
    if matrix.size == 0 and matrix.ndim <= 2 and (matrix.ndim < 2 or matrix.shape[1] == 0) and dim:
        return np.empty((0, dim), dtype=np.float32)
    if matrix.dtype.kind not in "fiu" or matrix.dtype.itemsize > 8:
        raise InvalidTypeError(f"{name} must be a float array; got dtype {matrix.dtype}")
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise InvalidInputError(f"{name} must be of shape [n, dim] with dim >= 1; got {matrix.shape}")
    if dim is not None and matrix.shape[1] != dim:
        raise InvalidInputError(f"{name} must have {dim} columns; got shape {matrix.shape}")
    return matrix


def _block(name: str, matrix: NDArray[Any], start: int, end: int | None) -> NDArray[np.float32]:
    """Return rows [start, end) as contiguous float32, checked to be finite."""
    block = np.ascontiguousarray(matrix[start:end], dtype=np.float32)
    bad = np.flatnonzero(~np.isfinite(block).all(axis=1))
    if len(bad):
        raise InvalidInputError(f"{name}: row {start + int(bad[0])} holds NaN or infinity")
    return block


def _place(faiss: Any, device: str | None, factory: str) -> str:
    count = faiss.get_num_gpus() if hasattr(faiss, "StandardGpuResources") else 0
    if device is None:
        return "cuda:0" if count and factory == "Flat" else "cpu"
    if device == "cpu":
        return "cpu"
    name, _, number = device.partition(":") if isinstance(device, str) else ("", "", "")
    if name != "cuda" or (number and not number.isdecimal()):
        raise InvalidInputError(f"device must be 'cpu', 'cuda' or 'cuda:N'; got {device!r}")
    if not hasattr(faiss, "StandardGpuResources"):
        raise MissingExtraError(
            "dense search on a GPU needs faiss-gpu in place of faiss-cpu; pip install 'sqe_fast[gpu]'"
        )
    if int(number or 0) >= count:
        raise InvalidInputError(f"device {device!r}: faiss sees {count} GPU(s)")
    return f"cuda:{number or 0}"


def _make(faiss: Any, dim: int, factory: str, place: str) -> tuple[Any, Any]:
    """Return (an empty FAISS index, its GPU resources or None)."""
    if place == "cpu" and factory == "Flat":
        return faiss.IndexFlatIP(dim), None
    if factory == "Flat":
        resources = faiss.StandardGpuResources()
        config = faiss.GpuIndexFlatConfig()
        config.device = int(place.partition(":")[2])
        config.useFloat16 = True
        return faiss.GpuIndexFlatIP(resources, dim, config), resources
    try:
        index = faiss.index_factory(dim, factory, faiss.METRIC_INNER_PRODUCT)
    except RuntimeError as error:
        raise InvalidInputError(
            f"factory {factory!r} is not one FAISS can make for {dim} dimensions: {_reason(error)}"
        ) from None
    if place == "cpu":
        return index, None
    resources = faiss.StandardGpuResources()
    options = faiss.GpuClonerOptions()
    options.useFloat16 = True
    return faiss.index_cpu_to_gpu(resources, int(place.partition(":")[2]), index, options), resources


def _reason(error: Exception) -> str:
    """Return FAISS's message without its source position and stack."""
    text = re.sub(r"^.*?\.(?:cpp|h|cu|cuh):\d+: ", "", str(error).strip().splitlines()[0])
    return text.rsplit("' failed: ", 1)[-1]
