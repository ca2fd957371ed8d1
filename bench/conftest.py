"""What the benches share: corpora and engines built once, results checked before they are timed.

Timings never decide a test: a bench fails only where an engine returns wrong results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.corpora import CorpusUnavailableError
from bench.peers import EngineUnavailableError
from bench.rows import FULL, Context

HERE = Path(__file__).parent
ROUNDS = 3
SINGULAR = {"queries": "query", "items": "item", "documents": "document"}
SINGULAR |= {"resamples": "resample", "characters": "character", "rollouts": "rollout"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Warnings of the peers' own libraries are not errors here."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore"))


@pytest.fixture(scope="session")
def context() -> Iterator[Context]:
    """The corpus in use and the engines built on it; the cases come ordered by corpus."""
    held = Context(FULL)
    yield held
    held.drop()


@pytest.fixture
def timed(benchmark: Any) -> Callable[..., None]:
    """Return a function that prepares a call and times it: best of a few rounds, rates in extra_info.

    `prepare` returns (call, how many of `unit` are in it); a missing library or corpus there is a skip.
    """

    def run(prepare: Callable[[], tuple[Callable[[], object], int]], unit: str, **facts: object) -> None:
        try:
            call, count = prepare()
        except (EngineUnavailableError, CorpusUnavailableError) as error:
            pytest.skip(str(error))
        benchmark.pedantic(call, rounds=ROUNDS, warmup_rounds=1)
        benchmark.extra_info.update(facts)
        if benchmark.stats:  # None with --benchmark-disable
            best = benchmark.stats.stats.min
            benchmark.extra_info[f"{unit}_per_second"] = count / best
            benchmark.extra_info[f"ns_per_{SINGULAR[unit]}"] = best / count * 1e9

    return run
