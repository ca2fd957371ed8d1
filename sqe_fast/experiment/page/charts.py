"""From an experiment to the figures of the page: which arrays go into which drawing, and the captions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqe_fast.experiment.headroom import headroom
from sqe_fast.experiment.metrics import NotInRowsError, cost_of, methods_of, recall_by_seed
from sqe_fast.experiment.page import figures
from sqe_fast.experiment.page.frames import figure_html, missing_html
from sqe_fast.experiment.rows import Experiment
from sqe_fast.experiment.sweeps import ALWAYS, DENSE, pair_of, threshold_sweep, top1_of
from sqe_fast.experiment.tables import ReportSettings

__all__ = ["Chart", "charts"]

WIDE, NARROW = 720, 360

Draw = Callable[[float, str], str]


@dataclass(frozen=True)
class Chart:
    """One figure of the page; `draw` is None where it cannot be drawn, and `note` says why."""

    id: str
    title: str
    note: str
    draw: Draw | None

    def html(self, number: int) -> str:
        """Return the figure in its frame, or what stands in its place."""
        title = f"Figure {number}. {self.title}"
        if self.draw is None:
            return missing_html(self.id, title, self.note)
        wide, narrow = self.draw(WIDE, f"{self.id}-wide"), self.draw(NARROW, f"{self.id}-narrow")
        return figure_html(self.id, wide, narrow, title, self.note)


def charts(experiment: Experiment, settings: ReportSettings | None = None) -> list[Chart]:
    """Return figures 2 to 5 of the paper over the rows of `experiment`."""
    settings = ReportSettings() if settings is None else settings
    k = settings.k
    return [
        _chart("figure-recall", f"Recall@{k} of each seed, with means", _recall, experiment, settings),
        _chart("figure-tokens", f"Tokens a query against Recall@{k}", _tokens, experiment, settings),
        _chart("figure-sweep", "Threshold of the gate, recall and expansions", _sweep, experiment, settings),
        _chart("figure-headroom", "Headroom of an oracle gate", _headroom, experiment, settings),
    ]


def _chart(
    id: str,
    title: str,
    prepare: Callable[[Experiment, ReportSettings], tuple[Draw, str]],
    experiment: Experiment,
    settings: ReportSettings,
) -> Chart:
    try:
        draw, note = prepare(experiment, settings)
    except NotInRowsError as error:
        return Chart(id, title, f"{error}.", None)
    return Chart(id, title, note, draw)


def _seeds(experiment: Experiment) -> list[int]:
    return [seed.seed for seed in experiment.seeds]


def _recalls(experiment: Experiment, cut: int) -> dict[str, NDArray[np.float64]]:
    return {name: recall_by_seed(experiment, name, cut) for name in methods_of(experiment)}


def _recall(experiment: Experiment, settings: ReportSettings) -> tuple[Draw, str]:
    cut = settings.k
    seeds, recall = _seeds(experiment), _recalls(experiment, cut)

    def draw(width: float, name: str) -> str:
        return figures.recall_by_seed(recall, seeds, cut=cut, width=width, name=name)

    if len(seeds) == 1:
        return draw, f"Seed {seeds[0]} alone."
    return draw, (
        f"A mark is one seed ({', '.join(map(str, seeds))}, from the top of a row to its bottom), the "
        "upright line their mean, the grey bar one sample deviation about it; both are written at the right."
    )


def _tokens(experiment: Experiment, settings: ReportSettings) -> tuple[Draw, str]:
    cut = settings.k
    recall = _recalls(experiment, cut)
    parts = {name: [seed.methods[name] for seed in experiment.seeds] for name in recall}
    measured = [name for name in recall if all(cost_of([part]).measured for part in parts[name])]
    # Over all questions, as in the tables, however many each seed has.
    tokens = {name: [cost_of(parts[name]).total_tokens] for name in measured}
    if not any(total for (total,) in tokens.values()):
        raise NotInRowsError("the rows hold no counts of tokens")
    without = [name for name in recall if name not in measured]

    def draw(width: float, name: str) -> str:
        return figures.tokens_against_recall(tokens, recall, cut=cut, width=width, name=name)

    note = (
        "Prompt and completion tokens of all questions, averaged. Further left is cheaper, higher is better; "
        "upright lines are one sample deviation over the seeds."
    )
    return draw, note + (f" Without counts of tokens: {', '.join(without)}." if without else "")


def _sweep(experiment: Experiment, settings: ReportSettings) -> tuple[Draw, str]:
    cut = settings.k
    first, *rest = [threshold_sweep(seed, cut) for seed in experiment.seeds]
    counts = sum(rest, first)
    pairs = [pair_of(seed, cut) for seed in experiment.seeds]
    dense = np.concatenate([pair.dense for pair in pairs])
    always = np.concatenate([pair.always for pair in pairs])
    top1 = np.concatenate([top1_of(seed) for seed in experiment.seeds])
    error = np.zeros(len(counts.thresholds))
    if counts.n > 1:
        gains = (top1 < counts.thresholds[:, None]) * (always.astype(np.int8) - dense.astype(np.int8))
        error = gains.std(axis=1, ddof=1) / np.sqrt(counts.n)

    def draw(width: float, name: str) -> str:
        return figures.threshold_sweep(
            counts.thresholds,
            counts.recall,
            counts.rate,
            dense=float(dense.mean()),
            always=float(always.mean()),
            error=error,
            chosen=settings.threshold,
            cut=cut,
            width=width,
            name=name,
        )

    return draw, (
        f"A question takes the answer of {ALWAYS} where its best dense score is below the threshold, else "
        f"that of {DENSE}; {counts.n:,} questions. The band is one standard error of the paired gain over "
        f"{DENSE}; the dotted upright line stands at {settings.threshold:g}."
    )


def _headroom(experiment: Experiment, settings: ReportSettings) -> tuple[Draw, str]:
    cut = settings.k
    parts = [headroom(seed, cut) for seed in experiment.seeds]

    def draw(width: float, name: str) -> str:
        return figures.oracle_headroom(
            _seeds(experiment),
            [part.dense for part in parts],
            [part.always for part in parts],
            [part.oracle for part in parts],
            [part.helpful for part in parts],
            [part.harmful for part in parts],
            cut=cut,
            width=width,
            name=name,
        )

    return draw, (
        "Second half of each seed's questions, by query_id. The oracle expands exactly where expansion finds "
        f"a target among the first {cut} that the plain question does not."
    )
