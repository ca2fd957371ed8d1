"""Where the commands take outcomes from: the rows of an experiment, or a store that answers questions now."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sqe_fast.errors import InvalidInputError

if TYPE_CHECKING:
    from sqe_fast.experiment.rows import Experiment
    from sqe_fast.gate.study import Outcomes

__all__ = ["Source", "source_options"]

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True)
class Source:
    """What the options of a command name; `outcomes` reads it, or answers the questions."""

    path: Path
    queries: str | None
    generator: str | None
    cache: Path | None
    method: str
    seeds: str | None
    base: str
    expanded: str
    at: int
    device: str | None

    def outcomes(self, signals: str | None = None) -> Outcomes:
        """Return the outcomes of all questions, with the named signals, or all that there are."""
        names = None if signals is None else [name.strip() for name in signals.split(",")]
        found = self._of_rows() if self.queries is None else self._of_store(self.queries, names)
        return found if names is None else _with(found, names)

    def other(self, given: str, seeds: str | None) -> Source:
        """Return another source of the same kind: an experiment, or questions to the same store."""
        if self.queries is None:
            return replace(self, path=Path(given), seeds=seeds)
        return replace(self, queries=given)

    def experiment(self) -> Experiment:
        """Return the experiment."""
        from sqe_fast._cli.experiment.common import seed_list
        from sqe_fast.experiment.rows import read_experiment

        return read_experiment(self.path, None if self.seeds is None else seed_list(self.seeds))

    def _of_rows(self) -> Outcomes:
        from sqe_fast.gate.study import outcomes_of_rows

        if self.generator is not None:
            raise click.UsageError("--generator goes with --queries, for a store")
        return outcomes_of_rows(self.experiment().seeds, self.base, self.expanded, self.at)

    def _of_store(self, queries: str, names: list[str] | None) -> Outcomes:
        from sqe_fast._cli.search import make_engine, open_store
        from sqe_fast.gate import SIGNALS, AlwaysGate, NeverGate
        from sqe_fast.gate.study import outcomes_of_batches
        from sqe_fast.methods import get_method
        from sqe_fast.readers.queries import read_queries

        method = get_method(self.method)
        if not method.expands:
            raise click.UsageError(f"--method {self.method} expands nothing: there is no gate to judge")
        if self.generator is None:
            raise click.UsageError("--queries needs a --generator")
        method = method.changed(k=max(method.k, self.at))
        asked = list(read_queries(queries))
        targets = []
        for query in asked:
            if query.targets is None:
                raise InvalidInputError(f"every question needs its targets; {query.id!r} has none")
            targets.append(query.targets)
        with ExitStack() as stack:
            store = stack.enter_context(open_store(self.path, self.device))
            engine = make_engine(store, self.generator, self.cache, 1024, self.device, stack)
            chosen = [
                replace(method, name="without", gate=NeverGate()),
                replace(method, name="with", gate=AlwaysGate()),
            ]
            answers = engine.search_methods(
                [query.text for query in asked], chosen, signals=SIGNALS if names is None else names
            )
        return outcomes_of_batches(answers["without"], answers["with"], targets, self.at)


def _with(outcomes: Outcomes, names: list[str]) -> Outcomes:
    from sqe_fast.gate.study import Outcomes

    kept = {name: outcomes.signal(name) for name in names}
    return Outcomes(kept, outcomes.base_hit, outcomes.expanded_hit, outcomes.tokens)


def source_options(command: Command) -> Command:
    """Add the options that name a source."""
    options = (
        click.argument("source", type=click.Path(path_type=Path)),
        click.option("--queries", metavar="FILE", help="SOURCE is a store: its questions, with targets."),
        click.option(
            "--generator", metavar="SPEC", help="With --queries: what expands questions, as for search."
        ),
        click.option(
            "--cache",
            type=click.Path(dir_okay=False, path_type=Path),
            help="With --queries: kept generations.",
        ),
        click.option(
            "--method", default="sqe", show_default=True, help="With --queries: its gate is left aside."
        ),
        click.option("--seeds", help="Of an experiment, such as 42-49.  [default: all]"),
        click.option(
            "--base",
            default="Dense-Only",
            show_default=True,
            help="Of an experiment: rows without expansion.",
        ),
        click.option(
            "--expanded", default="Always-Expand", show_default=True, help="Of an experiment: rows with it."
        ),
        click.option("--at", type=click.IntRange(1), default=5, show_default=True, help="The k of Recall@k."),
        click.option("--signals", metavar="NAMES", help="With commas.  [default: all that there are]"),
    )
    for option in reversed(options):
        command = option(command)
    return command
