"""What acceptance and fusion cost a question, its probes looked up: batches of 1, 32 and 1,024."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from bench import memories
from bench.oracle import WrongResultError
from bench.peers import EngineUnavailableError
from bench.probes import Expanded

SIZES = (1, 32, 1024)
RULES = ("top1 >= 0.6", "top1 >= question + 0.05", "top1_z >= 4.5", "dense_bm25 >= 0.1", "overlap >= 0.1")
RULES += ("agreement >= 0.2", "idf_share >= 0.3", "bm25_z >= 8", "lift >= 2.5", "top1 >= 0.6 ~ 0.1")
FUSIONS = ("rrf", "zscore", "minmax")
ALONE = 4  # questions whose answers are compared with those of batches of one


@cache
def chunk(size: int) -> Any:
    try:
        return Expanded(memories.load(), size)
    except ImportError as error:
        raise EngineUnavailableError(str(error)) from error


def same(what: str, whole: np.ndarray, one: np.ndarray) -> None:
    """What becomes of a question must not depend on its batch."""
    if not np.allclose(whole[:1], one, rtol=1e-5, equal_nan=True):
        raise WrongResultError(f"{what}: {whole[:1]} in a batch, {one} alone")


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "size",
    [pytest.param(n, marks=pytest.mark.benchmark(group=f"acceptance, batches of {n}")) for n in SIZES],
)
def test_accept(timed: Callable[..., None], size: int, rule: str) -> None:
    def prepare() -> tuple[Callable[[], object], int]:
        made, rounds = chunk(size), max(1, 64 // size)
        same(rule, chunk(ALONE).judge(rule), chunk(1).judge(rule))
        return lambda: [made.judge(rule) for _ in range(rounds)], rounds * size

    timed(prepare, "queries", way=rule)


@pytest.mark.parametrize("fusion", FUSIONS)
@pytest.mark.parametrize(
    "size",
    [
        pytest.param(n, marks=pytest.mark.benchmark(group=f"fusion of six lists, batches of {n}"))
        for n in SIZES
    ],
)
def test_fuse(timed: Callable[..., None], size: int, fusion: str) -> None:
    def prepare() -> tuple[Callable[[], object], int]:
        made, rounds = chunk(size), max(1, 64 // size)
        same(fusion, chunk(ALONE).fuse(fusion).ids, chunk(1).fuse(fusion).ids)
        return lambda: [made.fuse(fusion) for _ in range(rounds)], rounds * size

    timed(prepare, "queries", way=fusion)
