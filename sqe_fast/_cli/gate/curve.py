"""`sqe-fast gate curve`: what each gate reaches at each budget."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from sqe_fast._cli.gate.source import Source, source_options
from sqe_fast._cli.options import debug, device, examples
from sqe_fast.errors import InvalidInputError

if TYPE_CHECKING:
    from sqe_fast.experiment.table import Table
    from sqe_fast.gate.study import Held, Outcomes
    from sqe_fast.gate.study.outcomes import Floats

__all__ = ["curve"]

FILE = click.Path(dir_okay=False, path_type=Path)

EXAMPLES = """\
Examples:
  sqe-fast gate curve exp/ --share 0.48 --csv gates.csv --svg curves.svg
  sqe-fast gate curve results/ --seeds 42-45 --axis tokens
  sqe-fast gate curve memory/ --queries questions.jsonl --generator recorded:expansions.jsonl
  sqe-fast gate curve exp/ --gate gate.json --html gates.html"""


@click.command(epilog=examples(EXAMPLES), short_help="Tell what each gate reaches at each budget.")
@source_options
@click.option(
    "--share", type=click.FloatRange(0, 1), default=0.48, show_default=True, help="The budget of the table."
)
@click.option(
    "--axis",
    type=click.Choice(["questions", "tokens"]),
    default="questions",
    show_default=True,
    help="What the budget is a share of: questions, or the tokens of expanding all.",
)
@click.option("--gate", "gates", type=FILE, multiple=True, help="A fitted gate, judged beside the signals.")
@click.option(
    "--learned/--no-learned", default=True, help="Learn a gate too (extra `learn`), judged out of fold only."
)
@click.option(
    "--folds", type=click.IntRange(2), default=5, show_default=True, help="Of the cross-validation."
)
@click.option(
    "--repeats", type=click.IntRange(0), default=5, show_default=True, help="Of it; 0 leaves it out."
)
@click.option("--csv", "csv", type=FILE, help="Write the table; its curves go beside it as NAME.curves.csv.")
@click.option("--svg", type=FILE, help="Write the figure.")
@click.option("--html", type=FILE, help="Write a page with table and figure, of an experiment.")
@device
@debug
def curve(
    source: Path,
    signals: str | None,
    share: float,
    axis: Literal["questions", "tokens"],
    gates: tuple[Path, ...],
    learned: bool,
    folds: int,
    repeats: int,
    csv: Path | None,
    svg: Path | None,
    html: Path | None,
    **options: Any,
) -> None:
    """Judge gates on SOURCE: an experiment, whose rows are read, or a store, which answers --queries.

    Each signal is a gate that expands where it is low (of oov and length, high). Beside what it reaches at
    the budget stand random gates of the same budget, the gate of the paper (top1), an oracle, and what the
    same gate reaches out of fold, its threshold set on other questions.
    """
    from sqe_fast.experiment.gatecurves import curve_table, gate_table, held_table, signal_scores
    from sqe_fast.experiment.render import csv_text, show

    given = Source(source, **options)
    if html is not None and given.queries is not None:
        raise click.UsageError("--html goes with an experiment")
    outcomes = given.outcomes(signals)
    scores = signal_scores(outcomes)
    scores |= {path.stem: _score(path, outcomes) for path in gates}
    if not scores:
        raise InvalidInputError("there is no signal to judge: the rows hold none, and no --gate was given")
    held = _held(outcomes, scores, share, folds, repeats, learned)
    table = gate_table(outcomes, scores, share, axis, at=given.at)
    show(table)
    if held is not None:
        show(held_table(held, at=given.at))
    best = {name: scores[name] for name in table.column("gate") if name in scores}
    if csv is not None:
        whole = gate_table(outcomes, scores, share, axis, at=given.at, held=held)
        csv.write_text(csv_text(whole), encoding="utf-8")
        lines = curve_table(outcomes, best, axis)
        csv.with_suffix(".curves.csv").write_text(csv_text(lines), encoding="utf-8")
    if svg is not None or html is not None:
        _draw(given, outcomes, best, axis, table, svg, html)


def _score(path: Path, outcomes: Outcomes) -> Floats:
    from sqe_fast.gate.files import load_gate
    from sqe_fast.gate.study import by_gate

    return by_gate(load_gate(path))(outcomes)(outcomes)


def _held(
    outcomes: Outcomes, scores: dict[str, Floats], share: float, folds: int, repeats: int, learned: bool
) -> dict[str, Held] | None:
    """Cross-validate every score, whose threshold alone is fitted, and a learned gate."""
    if not repeats:
        return None
    from sqe_fast.gate.study import Rule, by_signal, cross_validate

    named: dict[str, Rule] = {name: by_signal(name) for name in scores}
    turned = type(outcomes)(scores, outcomes.base_hit, outcomes.expanded_hit, outcomes.tokens)
    held = cross_validate(turned, named, share, folds, repeats)
    if learned and find_spec("sklearn") is not None:  # of the extra `learn`
        from sqe_fast.gate.study import learned as rule

        names = learnable(outcomes)
        if names and outcomes.gain.any():
            held |= cross_validate(outcomes, {"learned": rule(names)}, share, folds, repeats)
    return held


def learnable(outcomes: Outcomes) -> list[str]:
    """Return the signals that every question has a finite value of, or an infinite one, but not none."""
    import numpy as np

    from sqe_fast.gate import SIGNALS

    return [
        name for name, values in outcomes.signals.items() if name in SIGNALS and not np.isnan(values).any()
    ]


def _draw(
    given: Source,
    outcomes: Outcomes,
    best: dict[str, Floats],
    axis: Literal["questions", "tokens"],
    table: Table,
    svg: Path | None,
    html: Path | None,
) -> None:
    """Draw the best gates, and the paper's."""
    from sqe_fast.experiment.gatecurves import figure_curves
    from sqe_fast.experiment.page import write_page
    from sqe_fast.experiment.page.figures import gate_curves

    curves = figure_curves(outcomes, best, axis, at=given.at)
    if svg is not None:
        drawn = gate_curves(
            curves.budget,
            curves.gates,
            random=curves.random,
            oracle=curves.oracle,
            axis=axis,
            cut=given.at,
        )
        svg.write_text(drawn, encoding="utf-8")
    if html is not None:
        write_page(html, given.experiment(), [table], probes=False, curves=curves, title="Gates")
