"""`sqe-fast experiment report`: rows into tables."""

from __future__ import annotations

from pathlib import Path

import click

from sqe_fast._cli.experiment.common import root_argument, seed_list
from sqe_fast._cli.options import debug, examples

__all__ = ["report"]

EXAMPLES = """\
Examples:
  sqe-fast experiment report exp/
  sqe-fast experiment report exp/ --table main --table paired
  sqe-fast experiment report sqe-release/ --output tables/ --quiet"""


@click.command(epilog=examples(EXAMPLES), short_help="Compute every table from the rows.")
@root_argument
@click.option("--seeds", help="Such as 42-49 or 42,44.  [default: all that have rows]")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the files.  [default: EXPERIMENT/report]",
)
@click.option(
    "--table", "only", multiple=True, metavar="NAME", help="Print only this table; may be repeated."
)
@click.option("--no-page", is_flag=True, help="Leave out the HTML page.")
@click.option("--no-probes", is_flag=True, help="Leave the probes' lists out of the page.")
@click.option("--quiet", is_flag=True, help="Write the files and print no table.")
@click.option("--k", type=int, help="Depth of recall that gates and paired tests look at.  [default: 5]")
@click.option("--resamples", type=int, metavar="N", help="Of a bootstrap over all seeds.  [default: 10000]")
@click.option("--seed-resamples", type=int, metavar="N", help="Over one seed.  [default: 5000]")
@click.option("--seed", type=int, help="Of the random numbers.  [default: 42]")
@click.option(
    "--threshold", type=float, help="Judged beside the chosen thresholds.  [default: the run's, else 0.65]"
)
@click.option("--budget", type=float, help="Share of queries a chosen gate may expand.  [default: 0.55]")
@click.option("--examples", type=int, metavar="N", help="Wins and losses to show.  [default: 2]")
@debug
def report(
    root: Path,
    seeds: str | None,
    output: Path | None,
    only: tuple[str, ...],
    no_page: bool,
    no_probes: bool,
    quiet: bool,
    **numbers: float | None,
) -> None:
    """Compute the tables of the SQE paper from the rows of EXPERIMENT, in our layout or the release's.

    Every table is written as CSV (full precision) and LaTeX (booktabs), all as one Markdown file, and
    printed; index.html is a page of its own with the tables, the figures and an explorer of the questions.
    The same rows give the same bytes. A table that the rows do not suffice for says why.
    """
    from sqe_fast._checks import check_choice
    from sqe_fast.experiment.render import show
    from sqe_fast.experiment.report import FOLDER, run_threshold, write_report
    from sqe_fast.experiment.rows import read_experiment
    from sqe_fast.experiment.tables import TABLES, ReportSettings

    for name in only:
        check_choice("--table", name, tuple(TABLES))
    given = {name: value for name, value in numbers.items() if value is not None}
    ReportSettings(**given)  # type: ignore[arg-type]  # a mistake is told before anything is read
    experiment = read_experiment(root, None if seeds is None else seed_list(seeds))
    if "threshold" not in given and (own := run_threshold(experiment)) is not None:
        given["threshold"] = own
    settings = ReportSettings(**given)  # type: ignore[arg-type]
    folder = root / FOLDER if output is None else output
    tables = write_report(folder, experiment, settings)
    if not no_page:
        from sqe_fast.experiment.gatecurves import experiment_curves
        from sqe_fast.experiment.page import PAGE, write_page

        curves = experiment_curves(experiment, settings.k)
        page = write_page(
            folder / PAGE, experiment, tables, probes=not no_probes, settings=settings, curves=curves
        )
        for note in page.left_out:
            click.echo(f"sqe-fast: not on the page: {note}", err=True)
    if not quiet:
        for table in tables:
            if table.name in (only or TABLES):
                show(table)
    rows = sum(len(rows) for seed in experiment.seeds for rows in seed.methods.values())
    made = sum(table.missing is None for table in tables)
    click.echo(
        f"{folder}: {made} of {len(tables)} tables from {rows:,} rows of {len(experiment.seeds)} seeds"
    )
