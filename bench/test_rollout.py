"""Rollouts of search agents, recorded: all in step, and one question at a time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bench import agents
from bench.rows.rollout import check_rollouts, recorded_roller

WAYS = {"in step": 1000, "one at a time": 100}


@pytest.mark.benchmark(group="rollouts, recorded Search-R1 runs")
@pytest.mark.parametrize("way", WAYS)
def test_rollouts(timed: Callable[..., None], way: str) -> None:
    def prepare() -> tuple[Callable[[], object], int]:
        names = list(agents.load().questions)[: WAYS[way]]
        asked = [agents.load().questions[name] for name in names]
        roller = recorded_roller()
        check_rollouts(roller, names[:50])
        if way == "in step":
            return lambda: roller.run(asked, names), len(names)
        return lambda: [roller.run([q], [n]) for q, n in zip(asked, names, strict=True)], len(names)

    timed(prepare, "rollouts", way=way)
