"""Everything that a page can hold, small: tables, curves, rollouts."""

from __future__ import annotations

import numpy as np
from page_experiment import texts_of, words

from sqe_fast.experiment.page import GateCurves, rollouts_section, write_page
from sqe_fast.experiment.table import Column, Table

BUDGET = np.linspace(0, 1, 21)


def some_tables():
    """Return tables of every form of column; one wide, one with long texts, one missing."""
    columns = (
        Column("method", "Method"),
        *(Column(f"r{k}", f"R@{k}", "percent") for k in (1, 5, 10)),
        Column("mrr", "MRR", "float", 3),
        Column("calls", "Calls a query", "float", 2),
        Column("delta", "Gain at 5", "points"),
        Column("interval", "95% interval", "interval"),
        Column("p", "p", "p", 3),
        Column("n", "Queries", "int"),
    )
    rows = tuple(
        (name, 0.45, 0.68, None, 0.5, 1.5, 0.009, (-0.004, 0.017), 0.0, 4000)
        for name in ("Dense-Only", "Random-Gated-Expansion", "</script><img src=x onerror=alert(1)>")
    )
    cases = ((42, "where did the <b>failing</b> test " * 6, 0), (43, "short", 3))
    case_columns = (Column("seed", "Seed", "int"), Column("query", "Question"), Column("rank", "Rank", "int"))
    return [
        Table("main", "Recall and cost", columns, rows, ("A note with <i>no</i> markup.",)),
        Table("cases", "Case examples", case_columns, cases),
        Table("features", "Gate features", (), (), (), "the rows hold no lists of scores"),
    ]


def some_curves():
    x = BUDGET
    gates = {name: 0.684 + 0.01 * x + h * x * (1 - x) for name, h in (("top1", 0.08), ("margin", 0.05))}
    return GateCurves(
        x,
        gates,
        random=(0.68 + 0.01 * x, 0.688 + 0.01 * x),
        oracle=0.73 - 0.046 * (1 - np.minimum(x * 20, 1)),
    )


def some_rollouts(n=12):
    random = np.random.default_rng(0)
    segments = [
        {"role": "prompt", "text": "You may search.", "tokens": 4},
        {"role": "policy", "text": "<search>first program</search><script>alert(1)</script>", "tokens": 9},
        {"role": "observation", "text": words(random, 40), "tokens": 50},
        {"role": "policy", "text": "<answer>Ada</answer>", "tokens": 5},
    ]
    return [
        {
            "id": f"nq_{i}",
            "question": f"who wrote program number {i}?",
            "answer": "Ada" if i % 2 else None,
            "finish": "answer" if i % 2 else "budget",
            "score": i % 2,
            "segments": segments,
        }
        for i in range(n)
    ]


def write_example(path, experiment, **changes):
    """Write a page with everything that a page can hold."""
    given = {"curves": some_curves(), "sections": [rollouts_section(some_rollouts())], "texts": texts_of}
    return write_page(path, experiment, some_tables(), **(given | changes))
