"""The paired bootstrap: ours, numpy's resampled rows, and numpy's multinomial shortcut."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from bench import ours, workloads
from bench.peers import resampling
from bench.rows.stats import RESAMPLES, ROWS, check_bootstrap

WAYS: dict[str, Callable[..., object]] = {
    "sqe_fast": ours.bootstrap,
    "sqe_fast, 2 threads": partial(ours.bootstrap, threads=2),
    "numpy": resampling.numpy_bootstrap,
    "numpy multinomial": resampling.numpy_multinomial,
}


@pytest.mark.benchmark(group=f"paired bootstrap, {ROWS} rows x {RESAMPLES} resamples")
@pytest.mark.parametrize("way", WAYS)
def test_bootstrap(timed: Callable[..., None], way: str) -> None:
    deltas = workloads.deltas(ROWS)

    def prepare() -> tuple[Callable[[], object], int]:
        if way.startswith("sqe_fast"):
            check_bootstrap(deltas)
        return partial(WAYS[way], deltas, RESAMPLES), RESAMPLES

    timed(prepare, "resamples", way=way)
