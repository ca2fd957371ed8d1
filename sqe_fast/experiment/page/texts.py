"""The texts of documents, where the stores of an experiment are at hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqe_fast.errors import IndexFileError, StoreError
from sqe_fast.experiment.layout import SeedFolder
from sqe_fast.experiment.rows import Experiment
from sqe_fast.store import MemoryStore

__all__ = ["Texts", "store_texts"]

Texts = Callable[[int, Sequence[str]], Mapping[str, str]]
"""From a seed and ids to the texts of those that are known."""


def store_texts(experiment: Experiment) -> Texts:
    """Return a function that looks texts up in the store of each seed, as `prepare` has left it.

    A seed whose store is not beside its rows, or cannot be read, has no texts.
    """
    stores = {
        seed.seed: SeedFolder(seed.folder.absolute().parent, seed.seed).memory for seed in experiment.seeds
    }

    def texts(seed: int, ids: Sequence[str]) -> dict[str, str]:
        try:
            with MemoryStore.open(stores[seed], read_only=True) as store:
                rows = store.rows(ids)
                known = rows[rows >= 0]
                names = [name for name, row in zip(ids, rows, strict=True) if row >= 0]
                return dict(zip(names, store.texts(known), strict=True))
        except (StoreError, IndexFileError):
            return {}

    return texts
