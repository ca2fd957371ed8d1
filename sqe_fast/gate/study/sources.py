"""Where outcomes come from: answers of the engine, or the rows of an experiment."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sqe_fast._checks import check_int
from sqe_fast.errors import InvalidInputError
from sqe_fast.gate.study.outcomes import Outcomes

if TYPE_CHECKING:  # both lie above the gate; their values come as arguments
    from sqe_fast.batch import SearchBatch
    from sqe_fast.experiment.rows import SeedRows

__all__ = ["hits_of", "outcomes_of_batches", "outcomes_of_rows"]


def hits_of(batch: SearchBatch, targets: Iterable[str | Collection[str]], at: int = 5) -> NDArray[np.bool_]:
    """Return bool[n]: whether one of its targets is among the first `at` hits of each question."""
    at = check_int("at", at, 1, batch.method.k)
    aims = [{aim} if isinstance(aim, str) else set(aim) for aim in targets]
    if len(aims) != len(batch.ids):
        raise InvalidInputError(f"targets must have one entry a question, {len(batch.ids)}; got {len(aims)}")
    return np.array(
        [not aim.isdisjoint(ids[:at]) for aim, ids in zip(aims, batch.ids, strict=True)], np.bool_
    )


def outcomes_of_batches(
    base: SearchBatch, expanded: SearchBatch, targets: Iterable[str | Collection[str]], at: int = 5
) -> Outcomes:
    """Return the outcomes of questions under two methods, of which one expands nothing and one everything.

    Parameters
    ----------
    base, expanded : SearchBatch
        Of the same questions. Signals come from both, tokens from `expanded`.
    targets : iterable of (str or collection of str)
        The ids that answer each question.
    at : int
        The k of Recall@k.
    """
    if base.questions != expanded.questions:
        raise InvalidInputError("base and expanded must answer the same questions in the same order")
    aims = list(targets)
    usage = expanded.usage
    return Outcomes(
        {**base.signals, **expanded.signals},
        hits_of(base, aims, at),
        hits_of(expanded, aims, at),
        usage.prompt_tokens + usage.completion_tokens,
    )


def outcomes_of_rows(
    seeds: Sequence[SeedRows], base: str = "Dense-Only", expanded: str = "Always-Expand", at: int = 5
) -> Outcomes:
    """Return the outcomes of all questions of an experiment.

    Parameters
    ----------
    seeds : sequence of SeedRows
        See `sqe_fast.experiment.rows.read_experiment`.
    base, expanded : str
        Methods that expand nothing and everything. The signals are those that every seed's rows of either
        hold; of the release's rows only the best dense score, here `top1`.
    at : int
        The k of Recall@k.
    """
    if not seeds:
        raise InvalidInputError("seeds must hold at least one seed")
    return Outcomes.concat([_of_seed(seed, base, expanded, check_int("at", at, 1)) for seed in seeds])


def _of_seed(seed: SeedRows, base: str, expanded: str, at: int) -> Outcomes:
    for name in (base, expanded):
        if name not in seed.methods:
            has = ", ".join(seed.methods)
            raise InvalidInputError(f"seed {seed.seed} has no rows of {name}; it has {has}")
    without, with_ = seed.methods[base], seed.methods[expanded]
    signals = {**with_.signals, **without.signals}
    if not np.isnan(without.top1).any():
        signals.setdefault("top1", without.top1)
    return Outcomes(signals, without.hit(at), with_.hit(at), with_.prompt_tokens + with_.completion_tokens)
