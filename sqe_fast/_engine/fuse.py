"""Lists to answers: by reciprocal rank, or by the scores of every document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sqe_fast._engine.lists import Lists, empty_hits
from sqe_fast._engine.table import BLOCK_BYTES, Table
from sqe_fast.fusion import fuse_rows, rrf
from sqe_fast.hits import Hits
from sqe_fast.methods import Method

__all__ = ["Job", "fuse"]


@dataclass(frozen=True, eq=False)
class Job:
    """What one method fuses over a chunk.

    Attributes
    ----------
    method : Method
    taken : int32[n, lists]
        The row in the table of each list that takes part, in the order of fusion, else -1.
    weights : float64[n, lists] or None
        Of the lists that take part; None: all 1.
    out : Hits
        The answers.
    """

    method: Method
    taken: NDArray[np.int32]
    weights: NDArray[np.float64] | None
    out: Hits = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "out", empty_hits(len(self.taken), self.method.k))


def fuse(jobs: Sequence[Job], table: Table, threads: int | None) -> list[Hits]:
    """Return the answers of each job: a single list as it is, several fused.

    Score rows are made once for all jobs, for a block of questions at a time.
    """
    whole = []
    lists = table.lists({})
    for job in jobs:
        several = _single(job, lists)
        if len(several) and job.method.fusion == "rrf":
            _ranks(job, several, lists, threads)
        elif len(several):
            whole.append((job, several))
    if whole:
        _scores(whole, table, threads)
    return [job.out for job in jobs]


def _single(job: Job, lists: Lists) -> NDArray[np.int64]:
    """Answer the questions of one list; return those of several."""
    number = (job.taken >= 0).sum(1)
    single = np.flatnonzero(number == 1)
    if len(single):
        rows = job.taken[single].max(1)
        width = min(job.method.k, lists.hits.ids.shape[1])
        job.out.ids[single, :width] = lists.hits.ids[rows, :width]
        job.out.scores[single, :width] = lists.hits.scores[rows, :width]
    return np.flatnonzero(number > 1)


def _ranks(job: Job, several: NDArray[np.int64], lists: Lists, threads: int | None) -> None:
    method, rows = job.method, job.taken[several]
    lengths = np.where(rows >= 0, np.minimum(lists.counts[rows], method.list_depth), 0)
    fused = rrf(
        lists.hits.ids[rows],
        lengths,
        k=method.k,
        constant=method.constant,
        weights=None if job.weights is None else job.weights[several],
        threads=threads,
    )
    job.out.ids[several], job.out.scores[several] = fused.ids, fused.scores


def _scores(jobs: Sequence[tuple[Job, NDArray[np.int64]]], table: Table, threads: int | None) -> None:
    documents = len(table.searcher.snapshot)
    # Twice the lists of the widest job: the table of distinct rows, and what is gathered of it.
    held = 8 * documents * max(job.taken.shape[1] for job, _ in jobs)
    size = max(1, BLOCK_BYTES // max(1, held))
    n = len(jobs[0][0].taken)
    for start in range(0, n, size):
        parts = [(job, several[(several >= start) & (several < start + size)]) for job, several in jobs]
        wanted = np.unique(np.concatenate([job.taken[at].ravel() for job, at in parts]))
        wanted = wanted[wanted >= 0]
        if not len(wanted):
            continue
        scores = table.score_rows(wanted)
        for job, at in parts:
            _block(job, at, wanted, scores, threads)


def _block(
    job: Job,
    at: NDArray[np.int64],
    wanted: NDArray[np.int32],
    scores: NDArray[np.float32],
    threads: int | None,
) -> None:
    """Fuse some questions; those of one number of lists go together, so that no row is empty."""
    how: Literal["zscore", "minmax"] = "minmax" if job.method.fusion == "minmax" else "zscore"
    present = job.taken[at] >= 0
    number = present.sum(1)
    for count in np.unique(number).tolist():
        of_count = np.flatnonzero(number == count)
        own = at[of_count]
        mask = present[of_count]
        rows = np.searchsorted(wanted, job.taken[own][mask].reshape(-1, count))
        weights = None if job.weights is None else job.weights[own][mask].reshape(-1, count)
        found = fuse_rows(scores[rows], how, weights, job.method.k, threads)
        job.out.ids[own], job.out.scores[own] = found.ids, found.scores
