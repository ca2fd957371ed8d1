"""The analysis of an experiment: the whole report, and gates tried after the fact."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from bench import experiments, ours
from bench.measure import race
from bench.oracle import WrongResultError
from bench.peers import plain_gates
from bench.rows.base import Case, Context, Row, Settings

__all__ = ["cases", "check_gates", "gate_calls"]

SIZE = f"{len(experiments.SEEDS)} seeds x {experiments.QUESTIONS} questions"
SWEEP = "threshold sweep, against plain Python"
LEFT_OUT = "leaving one seed out, against plain Python"
REPORT = "the whole report of an experiment, seconds"

Calls = dict[str, Callable[[], object]]


def cases(settings: Settings) -> list[Case]:
    """Return the cases."""
    return [
        Case(SWEEP, f"{SIZE}, 12 thresholds", partial(gates, SWEEP, "sweep", f"{SIZE}, 12 thresholds")),
        Case(
            LEFT_OUT, f"{SIZE}, 36 thresholds", partial(gates, LEFT_OUT, "left out", f"{SIZE}, 36 thresholds")
        ),
        Case(REPORT, f"{SIZE}, 8 methods", report),
    ]


def gate_calls(experiment: Any) -> dict[str, Calls]:
    """Return both ways of a sweep and of leaving a seed out; the peer's hits are counted before the clock."""
    questions = ours.gate_questions(experiment)
    points, grid, budget = ours.gate_grids()
    return {
        "sweep": {
            "ours": partial(ours.gate_sweep, experiment),
            "theirs": lambda: [plain_gates.sweep(rows, points) for rows in questions],
        },
        "left out": {
            "ours": partial(ours.gate_left_out, experiment),
            "theirs": lambda: plain_gates.leave_one_out(questions, grid, budget),
        },
    }


def check_gates(calls: Calls) -> None:
    """Both ways must give the same counts, thresholds and recalls."""
    mine, theirs = calls["ours"](), calls["theirs"]()
    if mine != theirs:
        raise WrongResultError(f"sqe_fast gates: {mine} against {theirs} in plain Python")


def gates(goal: str, which: str, case: str, context: Context) -> Row:
    """Race ours against plain Python."""
    with tempfile.TemporaryDirectory() as folder:
        calls = gate_calls(ours.experiment(Path(folder)))[which]
    check_gates(calls)
    times = race(calls, context.settings.repeats)
    mine, theirs = times["ours"].best * 1e3, times["theirs"].best * 1e3
    return Row(goal, case, mine, theirs, "ms", theirs / mine)


def report(context: Context) -> Row:
    """Time rows to files: reading, computing, and writing CSV, Markdown and LaTeX; the page by itself."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        ours.experiment(root)
        calls: Calls = {
            "tables": partial(ours.report, root, page=False),
            "all": partial(ours.report, root, page=True),
        }
        times = race(calls, context.settings.repeats)
    note = f"without the page {times['tables'].best:.2f} s"
    return Row(REPORT, f"{SIZE}, 8 methods", times["all"].best, None, "s", times["all"].best, note)
