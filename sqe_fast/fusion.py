"""Fusion of ranked lists: by rank, by normalised score, over whole score rows, and of shards.

Every function works on a batch of queries in one native call, with the GIL released. The result depends
neither on the number of threads nor on the instruction set level.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sqe_fast import _core
from sqe_fast._arrays import as_floats, as_int32
from sqe_fast._checks import check_choice, check_int, check_number, check_threads, describe
from sqe_fast._core import rrf_lists
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.hits import Hits

__all__ = ["fuse_rows", "fuse_scores", "merge_topk", "rrf", "rrf_lists"]

LISTS = "n, lists, depth"
SHARDS = "n, shards, depth"
MAX_WEIGHT = 1e30  # sums of many lists still fit float32


def rrf(
    ids: ArrayLike,
    lengths: ArrayLike | None = None,
    k: int = 5,
    constant: float = 60.0,
    weights: ArrayLike | None = None,
    duplicates: Literal["best", "sum"] = "best",
    threads: int | None = None,
) -> Hits:
    """Fuse ranked lists by reciprocal rank.

    The score of a document is the sum over lists, in order, of ``weight / (constant + rank)``, with ranks
    from 1 and in double precision (Cormack, Clarke and Buettcher, SIGIR 2009). A list that does not hold the
    document adds nothing.

    Parameters
    ----------
    ids : int32[n, lists, depth]
        For each query its ranked lists, best first. -1 is padding: skipped, but its position counts as a
        rank. Wider integers are accepted where they fit int32.
    lengths : int32[n, lists] or int32[lists], optional
        How many entries of each list count; the rest is not looked at. Default: all.
    k : int
        Width of the result, at least 1.
    constant : float
        Finite, 0 or more. The larger, the more agreement of lists counts against a high rank in one.
    weights : float[lists] or float[n, lists], optional
        0 or more. Documents of a list with weight 0 take part with what other lists add. Default: all 1.
    duplicates : {"best", "sum"}
        A document that repeats inside one list counts once at its best rank, or at every rank.
    threads : int, optional
        Default: all CPUs this process may run on.

    Returns
    -------
    Hits
        Score descending; equal scores in the order in which documents are first seen, lists in order.
        Padded where there are fewer than k documents.

    Raises
    ------
    InvalidInputError, InvalidTypeError
        If an argument has the wrong shape, dtype or range; the message names it.

    Examples
    --------
    >>> hits = rrf([[[7, 3, 9], [3, 5, -1]]], k=3)
    >>> hits.ids.tolist()
    [[3, 7, 5]]
    """
    lists = as_int32("ids", ids, LISTS)
    n, n_lists, depth = lists.shape
    out = _core.rrf(
        lists,
        _lengths(lengths, n, n_lists, depth),
        check_int("k", k, 1),
        check_number("constant", constant, 0.0),
        _weights(weights, n, n_lists),
        check_choice("duplicates", duplicates, ("best", "sum")),
        check_threads(threads),
    )
    return Hits(*out)


def fuse_scores(
    ids: ArrayLike,
    scores: ArrayLike,
    lengths: ArrayLike | None = None,
    how: Literal["zscore", "minmax"] = "zscore",
    weights: ArrayLike | None = None,
    k: int = 5,
    absent: Literal["min", "zero"] = "min",
    threads: int | None = None,
) -> Hits:
    """Fuse ranked lists by the weighted sum of their normalised scores.

    Each list is normalised over its distinct documents, in double precision: ``zscore`` is
    ``(x - mean) / deviation`` with the deviation of the population (0 where all scores are equal), ``minmax``
    is ``(x - lowest) / (highest - lowest)`` (1 where all are equal). Of a document that repeats inside one
    list the best score counts, once.

    Parameters
    ----------
    ids : int32[n, lists, depth]
        As in `rrf`; the order inside a list only decides ties.
    scores : float32[n, lists, depth]
        The score of each entry, finite; not looked at where ids is -1.
    lengths, weights, k, threads
        As in `rrf`.
    how : {"zscore", "minmax"}
        The normalisation.
    absent : {"min", "zero"}
        What a list gives to a document that it does not hold: its lowest normalised score, or 0. A list
        without entries gives nothing either way.

    Returns
    -------
    Hits
        Score descending; equal scores in the order in which documents are first seen, lists in order.

    Raises
    ------
    InvalidInputError, InvalidTypeError
        If an argument has the wrong shape, dtype or range; the message names it.

    Examples
    --------
    >>> hits = fuse_scores([[[1, 2], [2, 3]]], [[[9.0, 5.0], [0.8, 0.2]]], how="minmax", k=3)
    >>> [(ids.tolist(), scores.tolist()) for ids, scores in hits]
    [([1, 2, 3], [1.0, 1.0, 0.0])]
    """
    lists = as_int32("ids", ids, LISTS)
    n, n_lists, depth = lists.shape
    out = _core.fuse_scores(
        lists,
        _scores_like(lists, scores, LISTS),
        _lengths(lengths, n, n_lists, depth),
        check_choice("how", how, ("zscore", "minmax")),
        _weights(weights, n, n_lists),
        check_int("k", k, 1),
        check_choice("absent", absent, ("min", "zero")),
        check_threads(threads),
    )
    return Hits(*out)


def fuse_rows(
    rows: ArrayLike,
    how: Literal["zscore", "minmax"] = "zscore",
    weights: ArrayLike | None = None,
    k: int = 5,
    threads: int | None = None,
) -> Hits:
    """Fuse whole score rows: every list scores every document.

    Parameters
    ----------
    rows : float32[n, lists, n_docs]
        Finite. A document's id is its position in the row.
    how, weights, k, threads
        As in `fuse_scores`.

    Returns
    -------
    Hits
        Score descending, then row ascending; padded where k is more than the number of documents.

    Raises
    ------
    InvalidInputError, InvalidTypeError
        If an argument has the wrong shape, dtype or range; the message names it.

    Examples
    --------
    >>> rows = [[[0.0, 1.0, 0.5], [2.0, 8.0, 10.0]]]
    >>> fuse_rows(rows, how="minmax", k=2).ids.tolist()
    [[1, 2]]
    """
    table = as_floats("rows", rows, "n, lists, n_docs")
    n, n_lists, n_docs = table.shape
    if n_docs > 2**31 - 1:
        raise InvalidInputError(f"rows must have at most 2**31 - 1 documents; got {n_docs}")
    out = _core.fuse_rows(
        table,
        check_choice("how", how, ("zscore", "minmax")),
        _weights(weights, n, n_lists),
        check_int("k", k, 1),
        check_threads(threads),
    )
    return Hits(*out)


def merge_topk(ids: ArrayLike, scores: ArrayLike, k: int, threads: int | None = None) -> Hits:
    """Merge the results of several shards.

    Parameters
    ----------
    ids : int32[n, shards, depth]
        Ids that mean the same on every shard, in any order, padded with -1.
    scores : float32[n, shards, depth]
        Comparable over shards and finite; not looked at where ids is -1.
    k, threads
        As in `rrf`.

    Returns
    -------
    Hits
        Score descending, then id ascending. An id that repeats counts once, with its best score.

    Raises
    ------
    InvalidInputError, InvalidTypeError
        If an argument has the wrong shape, dtype or range; the message names it.

    Examples
    --------
    >>> merge_topk([[[4, 2], [9, -1]]], [[[3.0, 1.0], [2.0, 0.0]]], k=2).ids.tolist()
    [[4, 9]]
    """
    lists = as_int32("ids", ids, SHARDS)
    return Hits(
        *_core.merge_topk(
            lists, _scores_like(lists, scores, SHARDS), check_int("k", k, 1), check_threads(threads)
        )
    )


def _scores_like(ids: NDArray[np.int32], scores: ArrayLike, axes: str) -> NDArray[np.float32]:
    """Return `scores` as float32 of the shape of `ids`."""
    array = as_floats("scores", scores, axes)
    if array.shape != ids.shape:
        raise InvalidInputError(
            f"scores must have the shape of ids, {list(ids.shape)}; got shape {list(array.shape)}"
        )
    return array


def _lengths(value: ArrayLike | None, n: int, n_lists: int, depth: int) -> NDArray[np.int32] | None:
    """Return lengths as int32[n, lists], each from 0 to depth."""
    if value is None:
        return None
    try:
        axes = "lists" if np.ndim(value) == 1 else "n, lists"
    except ValueError:
        axes = "n, lists"  # ragged: refused below
    array = as_int32("lengths", value, axes)
    if array.shape not in ((n, n_lists), (n_lists,)):
        raise InvalidInputError(
            f"lengths must have shape [n, lists] = [{n}, {n_lists}] or [lists] = [{n_lists}]; "
            f"got shape {list(array.shape)}"
        )
    if array.size and not (array.min() >= 0 and array.max() <= depth):
        wrong = array.min() if array.min() < 0 else array.max()
        raise InvalidInputError(f"lengths must be from 0 to the depth of ids, {depth}; got {wrong}")
    return np.ascontiguousarray(np.broadcast_to(array, (n, n_lists)))


def _weights(value: ArrayLike | None, n: int, n_lists: int) -> NDArray[np.float64] | None:
    """Return weights as float64[lists] or float64[n, lists]."""
    if value is None:
        return None
    allowed = f"one number a list: shape [lists] = [{n_lists}] or [n, lists] = [{n}, {n_lists}]"
    try:
        array = np.asarray(value)
    except ValueError:
        raise InvalidInputError(f"weights must be {allowed}; got rows of different lengths") from None
    if array.dtype.kind not in "iuf":
        given = f"dtype {array.dtype}" if isinstance(value, (np.ndarray, list, tuple)) else describe(value)
        raise InvalidTypeError(f"weights must be {allowed}; got {given}")
    if array.shape not in ((n_lists,), (n, n_lists)):
        raise InvalidInputError(f"weights must be {allowed}; got shape {list(array.shape)}")
    array = np.ascontiguousarray(array, np.float64)
    good = (array >= 0.0) & (array <= MAX_WEIGHT)
    if not good.all():
        raise InvalidInputError(
            f"weights must be finite numbers from 0 to {MAX_WEIGHT:g}; got {array[~good][0]}"
        )
    return array
