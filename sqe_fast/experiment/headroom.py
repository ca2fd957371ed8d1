"""What expansion could gain if one knew where it helps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sqe_fast.experiment.choices import halves
from sqe_fast.experiment.rows import SeedRows
from sqe_fast.experiment.sweeps import pair_of

__all__ = ["Headroom", "headroom"]


@dataclass(frozen=True)
class Headroom:
    """Shares of the questions of one seed's second half.

    The oracle hits where Dense-Only or Always-Expand does: an upper bound for every gate, no method.
    `helpful` are questions that only Always-Expand hits, `harmful` those that only Dense-Only hits.
    """

    seed: int
    n: int
    dense: float
    always: float
    oracle: float
    helpful: float
    harmful: float
    both_hit: float
    both_miss: float

    @property
    def gain(self) -> float:
        """Recall of the oracle less that of Dense-Only: what expansion helps."""
        return self.helpful


def headroom(seed: SeedRows, k: int = 5) -> Headroom:
    """Return the headroom on the second half of a seed's questions by query_id."""
    pair = pair_of(seed, k).taken(halves(seed.query_ids)[1])
    n = len(pair)
    dense, always = pair.dense, pair.always
    masks = (
        dense,
        always,
        dense | always,
        always & ~dense,
        dense & ~always,
        dense & always,
        ~dense & ~always,
    )
    return Headroom(seed.seed, n, *(float(np.count_nonzero(mask)) / n for mask in masks))
