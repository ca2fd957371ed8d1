"""Reciprocal rank fusion of a batch: on id arrays, and on lists of (id string, score)."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import ours, workloads
from bench.measure import race
from bench.oracle import WrongResultError
from bench.peers import fusion as peers
from bench.rows.base import Case, Context, Row, Settings, need_two_cores

__all__ = ["cases", "check_ids", "check_lists"]

UNIT = "items/s"
CHECKED = 50  # queries compared with the dict loop before anything is timed


def cases(settings: Settings) -> list[Case]:
    """Return the cases."""
    rows = []
    for size in workloads.FUSIONS:
        shape = describe(settings, size)
        goal = "RRF on id arrays, against the dict loop"
        rows.append(Case(goal, shape, partial(arrays, goal, size, "dict loop")))
        goal = "RRF on lists of (id, score), against the dict loop"
        rows.append(Case(goal, shape, partial(lists, goal, size)))
        goal = "RRF on id arrays, against numpy and ranx"
        rows.append(Case(goal, f"numpy: {shape}", partial(arrays, goal, size, "numpy")))
        if size == "small" or not settings.quick:
            rows.append(Case(goal, f"ranx: {shape}", partial(arrays, goal, size, "ranx")))
    goal = "two threads against one"
    rows.append(Case(goal, f"RRF, {describe(settings, 'large')}", partial(two_threads, goal)))
    return rows


def shape_of(settings: Settings, size: str) -> workloads.Fusion:
    """Return the batch, the large one cut down for a quick run."""
    shape = workloads.FUSIONS[size]
    cut = settings.quick and size == "large"
    return workloads.Fusion(2_000, shape.lists, shape.depth, shape.k) if cut else shape


def describe(settings: Settings, size: str) -> str:
    """Name the batch."""
    shape = shape_of(settings, size)
    return f"{shape.queries:,} x {shape.lists} x {shape.depth} -> {shape.k}"


@lru_cache(maxsize=1)
def inputs(shape: workloads.Fusion) -> tuple[NDArray[np.int32], list[Any]]:
    """Return the batch in both forms."""
    ids = workloads.fusion_ids(shape)
    return ids, workloads.fusion_lists(ids)


def check_ids(ids: NDArray[np.int32], batch: list[Any], k: int) -> None:
    """Ours on id arrays must return the dict loop's documents in its order."""
    found = ours.fuse_ids(ids[:CHECKED], k)
    for row, query in enumerate(batch[:CHECKED]):
        wanted = [int(name[3:]) for name, _ in peers.dict_loop(query, k)]
        if found[row, : len(wanted)].tolist() != wanted:
            raise WrongResultError(f"sqe_fast rrf: query {row} differs from the dict loop")


def check_lists(batch: list[Any], k: int) -> None:
    """Ours on lists must return the dict loop's result bit for bit."""
    for row, found in enumerate(ours.fuse_lists(batch[:CHECKED], k)):
        if list(map(tuple, found)) != peers.dict_loop(batch[row], k):
            raise WrongResultError(f"sqe_fast rrf_lists: query {row} differs from the dict loop")


def arrays(goal: str, size: str, rival: str, context: Context) -> Row:
    """Race ours on id arrays against the dict loop on lists, numpy on the same arrays, or ranx on runs."""
    shape = shape_of(context.settings, size)
    ids, batch = inputs(shape)
    check_ids(ids, batch, shape.k)
    theirs: Callable[[], object]
    if rival == "dict loop":
        theirs = lambda: [peers.dict_loop(query, shape.k) for query in batch]  # noqa: E731
    elif rival == "numpy":
        theirs = partial(peers.numpy_batch, ids, shape.k)
    else:
        theirs = partial(peers.ranx_fuse, peers.ranx_runs(ids))
    repeats = 1 if rival == "ranx" and size == "large" else context.settings.repeats  # half a minute a call
    times = race({"ours": partial(ours.fuse_ids, ids, shape.k), "theirs": theirs}, repeats)
    case = describe(context.settings, size)
    return row_of(goal, case if rival == "dict loop" else f"{rival}: {case}", shape, times)


def lists(goal: str, size: str, context: Context) -> Row:
    """Race ours on lists of (id, score) against the dict loop."""
    shape = shape_of(context.settings, size)
    _, batch = inputs(shape)
    check_lists(batch, shape.k)
    calls: dict[str, Callable[[], object]] = {
        "ours": partial(ours.fuse_lists, batch, shape.k),
        "theirs": lambda: [peers.dict_loop(query, shape.k) for query in batch],
    }
    return row_of(goal, describe(context.settings, size), shape, race(calls, context.settings.repeats))


def two_threads(goal: str, context: Context) -> Row:
    """Race ours on two threads against ours on one."""
    need_two_cores()
    shape = shape_of(context.settings, "large")
    ids, _ = inputs(shape)
    calls = {
        "ours": partial(ours.fuse_ids, ids, shape.k, 2),
        "theirs": partial(ours.fuse_ids, ids, shape.k, 1),
    }
    times = race(calls, context.settings.repeats)
    return row_of(goal, f"RRF, {describe(context.settings, 'large')}", shape, times)


def row_of(goal: str, case: str, shape: workloads.Fusion, times: dict[str, Any]) -> Row:
    """Turn two timings of one batch into a row."""
    mine, theirs = shape.items / times["ours"].best, shape.items / times["theirs"].best
    note = f"{times['ours'].best * 1e3:,.2f} ms against {times['theirs'].best * 1e3:,.1f} ms"
    return Row(goal, case, mine, theirs, UNIT, mine / theirs, note)
