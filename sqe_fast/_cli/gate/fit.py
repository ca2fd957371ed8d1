"""`sqe-fast gate fit`: a gate fitted on one set, judged on another, kept as a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sqe_fast._cli.gate.curve import learnable
from sqe_fast._cli.gate.source import Source, source_options
from sqe_fast._cli.options import debug, device, examples
from sqe_fast.errors import InvalidInputError

if TYPE_CHECKING:
    from sqe_fast.experiment.table import Table
    from sqe_fast.gate import Gate
    from sqe_fast.gate.study import Outcomes, Rule
    from sqe_fast.gate.study.outcomes import Floats

__all__ = ["fit"]

LEARNED, BEST = "learned", "best"

EXAMPLES = """\
Examples:
  sqe-fast gate fit exp/ --seeds 42-45 --judge exp/ --judge-seeds 46-49 --share 0.4 --out gate.json
  sqe-fast gate fit first/ --by fused_spread --judge second/ --out gate.json
  sqe-fast gate fit memory/ --queries train.jsonl --judge test.jsonl --generator recorded:expansions.jsonl \\
      --by learned --as stream --out gate.json"""


@click.command(epilog=examples(EXAMPLES), short_help="Fit a gate on one set, judge it on another, keep it.")
@source_options
@click.option(
    "--share", type=click.FloatRange(0, 1), default=0.48, show_default=True, help="Of questions to expand."
)
@click.option(
    "--by",
    default=LEARNED,
    show_default=True,
    metavar="WHAT",
    help="learned (predicts the gain), best (the signal that gains most), or a signal's name.",
)
@click.option(
    "--as",
    "form",
    type=click.Choice(["threshold", "rate", "stream"]),
    default="threshold",
    show_default=True,
    help="A fixed threshold; a share of each batch; or a share of a stream, question by question.",
)
@click.option(
    "--penalty", type=float, default=10.0, show_default=True, help="Of learned: more is more cautious."
)
@click.option(
    "--judge", multiple=True, metavar="SOURCE", help="Another experiment, or other questions to the store."
)
@click.option("--judge-seeds", metavar="SEEDS", help="Of --judge, such as 46-49.  [default: all]")
@click.option(
    "--folds", type=click.IntRange(2), default=5, show_default=True, help="Of the cross-validation."
)
@click.option("--repeats", type=click.IntRange(1), default=5, show_default=True, help="Of it.")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="The file of the gate."
)
@device
@debug
def fit(
    source: Path,
    signals: str | None,
    share: float,
    by: str,
    form: str,
    penalty: float,
    judge: tuple[str, ...],
    judge_seeds: str | None,
    folds: int,
    repeats: int,
    out: Path,
    **options: Any,
) -> None:
    """Fit a gate on SOURCE, an experiment or a store with --queries, such that it expands a share of it.

    Judged on what it was fitted on, a gate looks better than it is: what to go by is the line out of fold,
    and those of --judge, where its threshold stands as it was fitted.
    """
    from sqe_fast.experiment.render import show
    from sqe_fast.gate.files import save_gate
    from sqe_fast.gate.study import cross_validate, fit_gate

    given = Source(source, **options)
    outcomes = given.outcomes(signals)
    rule = _rule(by, outcomes, share, penalty)
    gate = fit_gate(outcomes, rule(outcomes), share, form)
    held = cross_validate(outcomes, {by: rule}, share, folds, repeats)[by]
    rows = [("fitted on", *_cells(outcomes, _weights(gate, outcomes)))]
    rows += [("out of fold", *_cells(outcomes, held.weights))]
    for name in judge:
        other = given.other(name, judge_seeds).outcomes(signals)
        rows += [(name, *_cells(other, _weights(gate, other)))]
    show(_table(type(gate).__name__, rows, given.at))
    save_gate(gate, out)
    click.echo(f"written to {out}", err=True)


def _rule(by: str, outcomes: Outcomes, share: float, penalty: float) -> Rule:
    from sqe_fast.experiment.gatecurves import NEEDY_ABOVE
    from sqe_fast.gate.study import best_signal, by_signal, learned

    if by not in (LEARNED, BEST):
        outcomes.signal(by)  # an unknown one is told at once
        return by_signal(by, by in NEEDY_ABOVE)
    names = learnable(outcomes)
    if not names:
        raise InvalidInputError("there is no signal that every question has a value of")
    return learned(names, penalty=penalty) if by == LEARNED else best_signal(names, share)


def _weights(gate: Gate, outcomes: Outcomes) -> Floats:
    """Return 1 where the gate expands, asked about the questions in their order."""
    import numpy as np

    values = {name: outcomes.signal(name).astype(np.float32) for name in gate.signals}
    return gate.start()(values, len(outcomes)).astype(np.float64)


def _cells(outcomes: Outcomes, weights: Floats) -> tuple[Any, ...]:
    """Return the share, recall, and what it is above a random gate that expands as many."""
    from sqe_fast.gate.study import expected_hits, oracle_curve
    from sqe_fast.stats import paired_bootstrap

    share = float(weights.mean())
    recall = float(expected_hits(outcomes, weights).mean())
    above = paired_bootstrap((weights - share) * outcomes.gain)
    oracle = float(oracle_curve(outcomes).at(share)[0])
    return len(outcomes), share, recall, outcomes.recall, oracle, above.mean, (above.low, above.high)


def _table(gate: str, rows: list[tuple[Any, ...]], at: int) -> Table:
    from sqe_fast.experiment.table import Column, Table

    columns = (
        Column("set", "Questions"),
        Column("n", "n", "int"),
        Column("share", "Expanded", "percent"),
        Column("recall", f"R@{at}", "percent"),
        Column("base", "without", "percent"),
        Column("oracle", "oracle", "percent"),
        Column("random", "less random", "points"),
        Column("interval", "95%", "interval"),
    )
    note = "On the questions that it was fitted on a gate looks better than it is; go by the other lines."
    return Table("gate", f"{gate} judged", columns, tuple(rows), (note,))
