"""The second stage of a chunk, its expansions made; and the third, all probes encoded and looked up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sqe_fast._engine.ask import Asked
from sqe_fast._engine.lists import ABSENT, Lists, Looked, Places
from sqe_fast._engine.searcher import Searcher
from sqe_fast.errors import InvalidInputError, SqeFastError
from sqe_fast.expand import KINDS, Expansion
from sqe_fast.methods import Method
from sqe_fast.usage import Usage

__all__ = ["Expands", "expand", "look_up"]

Expansions = Mapping[int, Expansion]
"""By place of the distinct question, of those that were to be expanded."""


class Expands(Protocol):
    """What makes probes of questions; see `sqe_fast.expand.Expander`."""

    def expand(self, questions: Sequence[str], K: Sequence[int], P: Sequence[int]) -> Sequence[Expansion]:
        """Return one expansion a question, of at most K traces and P paraphrases each."""


def expand(asked: Asked, expander: Expands | None) -> Expansions:
    """Make all expansions of a chunk in one call.

    A failure of the generator is a value of the questions that it hit, and the batch goes on; errors that
    this package raises on purpose (a setting, a missing model) concern every question and are raised.
    """
    traces, paraphrases = asked.make
    places = np.flatnonzero(traces + paraphrases)
    if not len(places) or expander is None:
        return {}
    questions = [asked.distinct[place] for place in places]
    with asked.clock.room("expand"):
        try:
            made = expander.expand(questions, K=traces[places].tolist(), P=paraphrases[places].tolist())
        except SqeFastError:
            raise
        except Exception as error:
            made = [_failed(question, error) for question in questions]
    if len(made) != len(questions):
        raise InvalidInputError(
            f"generator: expand must return one expansion a question, {len(questions)}; got {len(made)}"
        )
    return dict(zip(places.tolist(), made, strict=True))


def _failed(question: str, error: Exception) -> Expansion:
    reason = f"{type(error).__name__}: {error}".strip().splitlines()[0]
    problems = dict.fromkeys(KINDS, reason)
    return Expansion(question, (), (), Usage.zeros(1), error=reason, problems=problems)


def look_up(
    asked: Asked,
    expansions: Expansions,
    methods: Sequence[Method],
    searcher: Searcher,
    depth: int,
    beside: Executor,
) -> Lists:
    """Look up all probes: one encoding of the distinct texts, while BM25 runs in `beside`."""
    sources: set[tuple[str, str]] = {
        (source.probe, index)
        for method in methods
        for source in method.added
        for index in source.indexes
        if method.count(source)
    }
    widths = {"traces": int(asked.make[0].max(initial=0)), "paraphrases": int(asked.make[1].max(initial=0))}
    texts = {"dense": Places(), "bm25": Places()}
    probes: list[str] = []  # the kind of each dense text
    rows = {
        key: np.full((len(asked.distinct) + 1, widths[key[0]]), ABSENT, np.int32) for key in sorted(sources)
    }
    for place, expansion in expansions.items():
        for (probe, index), row in rows.items():
            made = expansion.traces if probe == "traces" else expansion.paraphrases
            for number, text in enumerate(made[: widths[probe]]):
                row[place, number] = texts[index].of(text)
                if index == "dense" and len(texts["dense"]) > len(probes):
                    probes.append(probe)
    found = _search(asked, texts, probes, searcher, depth, beside)
    own = np.arange(len(asked.distinct) + 1, dtype=np.int32)[:, None]
    own[-1] = ABSENT
    places: list[Mapping[tuple[str, str], NDArray[np.int32]]] = [
        {("question", index): own} for index in asked.hits
    ]
    places += [{key: row for key, row in rows.items() if key[1] == part.index} for part in found]
    lists = Lists.join([*asked.looked, *found], places, depth)
    absent = {key: row for key, row in rows.items() if key not in lists.rows}
    return replace(lists, rows={**lists.rows, **absent})


def _search(
    asked: Asked,
    texts: Mapping[str, Places],
    probes: Sequence[str],
    searcher: Searcher,
    depth: int,
    beside: Executor,
) -> list[Looked]:
    """Return the lists of the probes; of an index without probes, none."""

    def bm25() -> Looked:
        with asked.clock.room("search"):
            wanted = texts["bm25"].texts
            return Looked("bm25", wanted, None, searcher.bm25(wanted, depth))

    found = []
    coming = beside.submit(bm25) if len(texts["bm25"]) else None
    if len(texts["dense"]):
        with asked.clock.room("encode"):
            vectors = searcher.encode(texts["dense"].texts, probes)
        with asked.clock.room("search"):
            found.append(Looked("dense", texts["dense"].texts, vectors, searcher.dense(vectors, depth)))
    if coming is not None:
        found.append(coming.result())
    return found
