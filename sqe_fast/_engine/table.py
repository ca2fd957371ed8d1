"""All texts of a chunk that were looked up: their lists, and what else is known of each, made when asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor

import numpy as np
from numpy.typing import NDArray

from sqe_fast._engine.ask import Asked
from sqe_fast._engine.lists import ABSENT, Lists, Looked
from sqe_fast._engine.searcher import Searcher
from sqe_fast._engine.words import idf_shares

__all__ = ["BLOCK_BYTES", "Table"]

BLOCK_BYTES = 2**26
"""Of the score rows that are held at a time: whatever the number of questions, at least those of one."""

Floats = NDArray[np.float64]


class Table:
    """Grows by `look_up`; each text is looked up once in each index.

    Its rows are numbered through: the lists of the questions, then those of the probes as they came.
    """

    def __init__(self, asked: Asked, searcher: Searcher, depth: int, beside: Executor) -> None:
        self.asked = asked
        self.searcher = searcher
        self._depth = depth
        self._beside = beside
        self._parts = list(asked.looked)
        self._places: dict[str, dict[str, int]] = {"dense": {}, "bm25": {}}
        self._known: dict[str, Floats] = {}
        self._joined: tuple[int, Lists] | None = None

    def __len__(self) -> int:
        return sum(len(part.hits) for part in self._parts)

    @property
    def question_rows(self) -> dict[tuple[str, str], NDArray[np.int32]]:
        """By ("question", index), int32[distinct + 1, 1]: the row of each question, -1 for no question."""
        rows = {}
        start = 0
        for index, hits in self.asked.hits.items():
            own = np.arange(start, start + len(self.asked.distinct) + 1, dtype=np.int32)[:, None]
            own[-1] = ABSENT
            rows["question", index] = own
            start += len(hits)
        return rows

    def place(self, index: str, text: str) -> int:
        """Return the row of a probe that was looked up."""
        return self._places[index][text]

    def look_up(self, wanted: Mapping[str, Mapping[str, str]]) -> None:
        """Look up texts: for each index, text -> kind of probe. One encoding, while BM25 runs beside."""
        fresh = {
            index: {text: kind for text, kind in texts.items() if text not in self._places[index]}
            for index, texts in wanted.items()
        }
        clock = self.asked.clock

        def bm25() -> Looked:
            texts = list(fresh["bm25"])
            with clock.room("search"):
                return Looked("bm25", texts, None, self.searcher.bm25(texts, self._depth))

        coming = self._beside.submit(bm25) if fresh.get("bm25") else None
        if dense := fresh.get("dense"):
            texts = list(dense)
            with clock.room("encode"):
                vectors = self.searcher.encode(texts, list(dense.values()))
            with clock.room("search"):
                self._add(Looked("dense", texts, vectors, self.searcher.dense(vectors, self._depth)))
        if coming is not None:
            self._add(coming.result())

    def lists(self, rows: Mapping[tuple[str, str], NDArray[np.int32]]) -> Lists:
        """Return all lists in one table, with the rows that some group of methods takes."""
        if self._joined is None or self._joined[0] != len(self._parts):
            self._joined = (len(self._parts), Lists.join(self._parts, self._depth))
        joined = self._joined[1]
        return Lists(joined.hits, joined.counts, {**self.question_rows, **rows})

    # -- what is known of each list ----------------------------------------------------------------

    def score_rows(self, wanted: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return float32[len(wanted), documents]: every document's score; `wanted` is sorted."""
        out = np.empty((len(wanted), len(self.searcher.snapshot)), np.float32)
        for part, at, places in self._parts_of(wanted):
            if part.scored is not None:
                out[at] = part.scored[places]
            elif part.vectors is not None:
                out[at] = self.searcher.dense_rows(part.vectors[places])
            else:
                out[at] = self.searcher.bm25_rows([part.texts[place] for place in places.tolist()])
        return out

    def moments(self, rows: NDArray[np.int32]) -> tuple[Floats, Floats]:
        """Return float64 mean and deviation of the scores of all documents, for each of `rows`."""
        return self._lookup("mean", rows, self._moments), self._lookup("deviation", rows, self._moments)

    def idf_share(self, rows: NDArray[np.int32]) -> Floats:
        """Return for each of `rows`, lists of BM25, the share of its text's idf that its best hit holds."""
        return self._lookup("idf_share", rows, self._idf_share)

    def _lookup(
        self, name: str, rows: NDArray[np.int32], make: Callable[[NDArray[np.int32]], dict[str, Floats]]
    ) -> Floats:
        """Return a fact of each row, -inf for no row; made once for each."""
        fresh = np.unique(rows[rows >= 0]).astype(np.int32)
        fresh = fresh[np.isnan(self._grown(name)[fresh])]
        if len(fresh):
            for key, values in make(fresh).items():
                self._grown(key)[fresh] = values
        found: Floats = np.where(rows >= 0, self._grown(name)[rows], -np.inf)
        return found

    def _grown(self, name: str) -> Floats:
        """Return a fact of every row, NaN where it is not known, and of one row that stands for none."""
        known = self._known.get(name, np.empty(0))
        missing = len(self) + 1 - len(known)
        if missing:
            self._known[name] = known = np.concatenate([known, np.full(missing, np.nan)])
        return known

    def _moments(self, rows: NDArray[np.int32]) -> dict[str, Floats]:
        mean, deviation = np.empty(len(rows)), np.empty(len(rows))
        for part, at, places in self._parts_of(rows):
            if part.vectors is not None:
                mean[at], deviation[at] = self.searcher.dense_moments(part.vectors[places])
            else:
                texts = [part.texts[place] for place in places.tolist()]
                mean[at], deviation[at] = self._bm25_moments(texts)
        return {"mean": mean, "deviation": deviation}

    def _bm25_moments(self, texts: list[str]) -> tuple[Floats, Floats]:
        means, deviations = [], []
        step = max(1, BLOCK_BYTES // max(1, 16 * len(self.searcher.snapshot)))
        for start in range(0, len(texts), step):
            scores = self.searcher.bm25_rows(texts[start : start + step])
            means.append(scores.mean(1, dtype=np.float64))
            deviations.append(scores.std(1, dtype=np.float64))
        return np.concatenate(means), np.concatenate(deviations)

    def _idf_share(self, rows: NDArray[np.int32]) -> dict[str, Floats]:
        share = np.empty(len(rows))
        for part, at, places in self._parts_of(rows):
            texts = [part.texts[place] for place in places.tolist()]
            share[at] = idf_shares(self.searcher.snapshot, texts, part.hits.ids[places, 0])
        return {"idf_share": share}

    def _parts_of(self, rows: NDArray[np.int32]) -> Iterator[tuple[Looked, slice, NDArray[np.int32]]]:
        """Yield (part, where in `rows`, places within the part); `rows` is sorted."""
        start = 0
        for part in self._parts:
            first, last = np.searchsorted(rows, (start, start + len(part.hits)))
            if last > first:
                yield part, slice(first, last), rows[first:last] - start
            start += len(part.hits)

    def _add(self, part: Looked) -> None:
        start = len(self)
        self._places[part.index] |= {text: start + number for number, text in enumerate(part.texts)}
        self._parts.append(part)
