"""The paired bootstrap: 4,000 rows, 10,000 resamples."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bench import ours, workloads
from bench.measure import race
from bench.oracle import WrongResultError
from bench.peers import resampling
from bench.rows.base import Case, Context, Row, Settings

__all__ = ["cases", "check_bootstrap"]

ROWS, RESAMPLES = 4_000, 10_000
CASE = f"{ROWS:,} rows x {RESAMPLES:,} resamples"


def cases(settings: Settings) -> list[Case]:
    """Return the cases."""
    rivals = {
        "paired bootstrap, against numpy": resampling.numpy_bootstrap,
        "paired bootstrap, against the multinomial shortcut": resampling.numpy_multinomial,
    }
    return [Case(goal, CASE, partial(bootstrap, goal, rival)) for goal, rival in rivals.items()]


def check_bootstrap(deltas: NDArray[np.int8], resamples: int = RESAMPLES) -> None:
    """Ours must give the same mean and, within the noise of resampling, the same interval as numpy."""
    mine, theirs = ours.bootstrap(deltas, resamples), resampling.numpy_bootstrap(deltas, resamples)
    if abs(mine[0] - theirs[0]) > 1e-9 or np.abs(np.subtract(mine[1:3], theirs[1:3])).max() > 2e-3:
        raise WrongResultError(f"sqe_fast paired_bootstrap: {mine[:3]} against numpy's {theirs[:3]}")


def bootstrap(goal: str, rival: Callable[[NDArray[np.int8], int], object], context: Context) -> Row:
    """Race ours against a numpy form."""
    deltas = workloads.deltas(ROWS)
    check_bootstrap(deltas)
    calls: dict[str, Callable[[], object]] = {
        "ours": partial(ours.bootstrap, deltas, RESAMPLES),
        "theirs": partial(rival, deltas, RESAMPLES),
    }
    times = race(calls, context.settings.repeats)
    mine, theirs = times["ours"].best * 1e3, times["theirs"].best * 1e3
    return Row(goal, CASE, mine, theirs, "ms", theirs / mine)
