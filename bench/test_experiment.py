"""The analysis of an experiment: ours against plain Python, and the whole report."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bench import experiments, ours
from bench.rows.experiment import check_gates, gate_calls

ROWS = len(experiments.SEEDS) * experiments.QUESTIONS


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("experiment")
    ours.experiment(folder)
    return folder


@pytest.mark.benchmark(group="gates tried after the fact, 8 seeds x 500 questions")
@pytest.mark.parametrize("way", ["ours", "theirs"])
@pytest.mark.parametrize("which", ["sweep", "left out"])
def test_gates(timed: Callable[..., None], root: Path, which: str, way: str) -> None:
    def prepare() -> tuple[Callable[[], object], int]:
        calls: dict[str, Any] = gate_calls(ours.read_experiment(root))[which]
        check_gates(calls)
        return calls[way], ROWS

    timed(prepare, "queries", way=way, which=which)


@pytest.mark.benchmark(group="the whole report, 8 seeds x 500 questions x 8 methods")
@pytest.mark.parametrize("page", [False, True], ids=["tables", "tables and page"])
def test_report(timed: Callable[..., None], root: Path, page: bool) -> None:
    timed(lambda: (partial(ours.report, root, page=page), ROWS), "queries", page=page)
