"""The tables of the SQE paper from rows; each is a value, and says why where it cannot be computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from sqe_fast.experiment.metrics import NotInRowsError
from sqe_fast.experiment.rows import Experiment
from sqe_fast.experiment.table import Table
from sqe_fast.experiment.tables._settings import ReportSettings
from sqe_fast.experiment.tables.choices import gate_features, gate_variants, held_out_paired, split_validation
from sqe_fast.experiment.tables.cost import cost, measured_tokens
from sqe_fast.experiment.tables.crossseed import leave_one_seed_out
from sqe_fast.experiment.tables.gates import gate_split, oracle_headroom, threshold_sweep
from sqe_fast.experiment.tables.paired import case_examples, paired, wins_losses
from sqe_fast.experiment.tables.recalls import main, multi_seed

__all__ = ["TABLES", "ReportSettings", "build_tables"]

Build = Callable[[Experiment, ReportSettings], Table]

TABLES: Mapping[str, tuple[str, Build]] = MappingProxyType(
    {
        "main": ("Recall on the first seed", main),
        "multi-seed": ("Recall over all seeds", multi_seed),
        "paired": ("Paired differences of Selective-QE", paired),
        "wins-losses": ("Wins and losses of Selective-QE against Dense-Only", wins_losses),
        "cost": ("Cost of a query", cost),
        "measured-tokens": ("Tokens of a query", measured_tokens),
        "gate-split": ("Recall of expanded and of other queries", gate_split),
        "threshold-sweep": ("Threshold sweep", threshold_sweep),
        "split-validation": ("Threshold chosen on the first half", split_validation),
        "held-out-paired": ("Paired differences on the second halves", held_out_paired),
        "leave-one-seed-out": ("Gate chosen on all other seeds", leave_one_seed_out),
        "gate-variants": ("Gates of score and agreement, chosen on the first half", gate_variants),
        "gate-features": ("Gates of other features, chosen on the first half", gate_features),
        "oracle-headroom": ("Headroom on the second halves", oracle_headroom),
        "case-examples": ("Queries that Selective-QE wins or loses", case_examples),
    }
)
"""Every table by its name, with its title, in the order of a report."""


def build_tables(experiment: Experiment, settings: ReportSettings | None = None) -> list[Table]:
    """Compute every table from rows.

    Parameters
    ----------
    experiment : Experiment
        As `sqe_fast.experiment.rows.read_experiment` gives it, in our layout or the release's.
    settings : ReportSettings, optional

    Returns
    -------
    list of Table
        In the order of `TABLES`. A table that the rows do not suffice for has no rows, and says why in
        `missing`.
    """
    settings = ReportSettings() if settings is None else settings
    tables = []
    for name, (title, build) in TABLES.items():
        try:
            tables.append(build(experiment, settings))
        except NotInRowsError as error:
            tables.append(Table(name, title, (), missing=str(error)))
    return tables
