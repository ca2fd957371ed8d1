"""Reciprocal rank fusion of a batch: id arrays, and lists of (id string, score)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from bench import ours, workloads
from bench.peers import fusion as peers
from bench.rows.fusion import check_ids, check_lists, inputs

WAYS = ("rrf", "rrf, 2 threads", "rrf_lists", "dict loop", "numpy", "ranx")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "size", [pytest.param(s, marks=pytest.mark.benchmark(group=f"rrf {s}")) for s in workloads.FUSIONS]
)
def test_rrf(timed: Callable[..., None], size: str, way: str) -> None:
    shape = workloads.FUSIONS[size]

    def prepare() -> tuple[Callable[[], object], int]:
        ids, batch = inputs(shape)
        call: Callable[[], object]
        if way.startswith("rrf_lists"):
            check_lists(batch, shape.k)
            call = partial(ours.fuse_lists, batch, shape.k)
        elif way.startswith("rrf"):
            check_ids(ids, batch, shape.k)
            call = partial(ours.fuse_ids, ids, shape.k, 2 if "2 threads" in way else 1)
        elif way == "dict loop":
            call = lambda: [peers.dict_loop(query, shape.k) for query in batch]  # noqa: E731
        elif way == "numpy":
            call = partial(peers.numpy_batch, ids, shape.k)
        else:
            if size == "large":
                pytest.skip("ranx takes half a minute on the large batch; the full table times it")
            call = partial(peers.ranx_fuse, peers.ranx_runs(ids))
        return call, shape.items

    timed(prepare, "items", way=way)
