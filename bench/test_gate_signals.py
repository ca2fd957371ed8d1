"""What a signal, and what a gate's decision, costs a question: batches of 1, 32 and 1,024."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from bench import memories, ours
from bench.oracle import WrongResultError
from bench.peers import EngineUnavailableError

SIZES = (1, 32, 1024)
GATES = ("threshold", "random", "rate", "streaming", "learned", "tokens")
ALONE = 4  # questions whose signals are compared with those of batches of one


@cache
def evidence(size: int) -> Callable[[], Any]:
    try:
        return ours.evidence(memories.load(), size)
    except ImportError as error:
        raise EngineUnavailableError(str(error)) from error


def check(name: str) -> None:
    """A question's signal must not depend on its batch."""
    whole = ours.signal(name, evidence(SIZES[-1])())
    one = ours.signal(name, evidence(1)())
    few = ours.signal(name, evidence(ALONE)())
    if not (np.array_equal(whole[:ALONE], few) and np.array_equal(few[:1], one)):
        raise WrongResultError(
            f"signal {name}: {whole[:ALONE]} in a batch, {few} in a small one, {one} alone"
        )


@pytest.mark.parametrize("name", ours.signals())
@pytest.mark.parametrize(
    "size", [pytest.param(n, marks=pytest.mark.benchmark(group=f"signals, batches of {n}")) for n in SIZES]
)
def test_signal(timed: Callable[..., None], size: int, name: str) -> None:
    def prepare() -> tuple[Callable[[], object], int]:
        check(name)
        make, rounds = evidence(size), max(1, 256 // size)
        return lambda: [ours.signal(name, make()) for _ in range(rounds)], rounds * size

    timed(prepare, "queries", way=name)


@pytest.mark.parametrize("name", GATES)
@pytest.mark.parametrize(
    "size", [pytest.param(n, marks=pytest.mark.benchmark(group=f"gates, batches of {n}")) for n in SIZES]
)
def test_gate(timed: Callable[..., None], size: int, name: str) -> None:
    pytest.importorskip("sklearn")

    def prepare() -> tuple[Callable[[], object], int]:
        gate, rounds = ours.gates()[name], max(1, 1024 // size)
        values = {name: ours.signal(name, evidence(size)()) for name in ("spread", "top1", "margin")}
        return lambda: [ours.decide(gate, values) for _ in range(rounds)], rounds * size

    timed(prepare, "queries", way=name)
