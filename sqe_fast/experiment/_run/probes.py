"""Every probe's own ranked list, for the explorer: what each would have found by itself."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqe_fast._engine.lists import empty_hits
from sqe_fast._engine.searcher import Searcher
from sqe_fast._store.files import replace_file
from sqe_fast.expand import Expansion
from sqe_fast.experiment.questions import Question
from sqe_fast.hits import Hits
from sqe_fast.methods import Method
from sqe_fast.store import Snapshot

__all__ = ["write_probes"]

_BATCH = 512  # questions whose lists are held at once


def write_probes(
    path: Path,
    questions: Sequence[Question],
    made: Mapping[str, Expansion],
    methods: Sequence[Method],
    searcher: Searcher,
) -> None:
    """Write one line a question: its traces, its paraphrases, and the list of each probe in each index.

    The lists are those that the methods fuse, as deep as the deepest takes them: ids, scores and the
    1-based rank of the target, null where the list does not hold it.
    """
    depth = max(method.list_depth if len(method.list_names) > 1 else method.k for method in methods)
    sources: set[tuple[str, str]] = {
        (source.probe, index)
        for method in methods
        for source in method.lists + method.added
        for index in source.indexes
    }
    lines: list[str] = []
    for start in range(0, len(questions), _BATCH):
        part = questions[start : start + _BATCH]
        rows = [_row(one, made.get(one.text)) for one in part]
        _add_lists(rows, sources, searcher, depth)
        lines += [json.dumps(row, allow_nan=False) + "\n" for row in rows]
    replace_file(path, "".join(lines).encode("ascii"))


def _row(question: Question, made: Expansion | None) -> dict[str, Any]:
    problems = {} if made is None else made.problems
    return {
        "query_id": question.id,
        "query": question.text,
        "target_id": question.target,
        "traces": [] if made is None else list(made.traces),
        "paraphrases": [] if made is None else list(made.paraphrases),
        "problem": "; ".join(f"{kind}: {why}" for kind, why in problems.items()) or None,
        "lists": [],
    }


def _probes(row: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield (kind, name, text) of each probe, in the order of fusion."""
    yield "question", "question", row["query"]
    for kind in ("traces", "paraphrases"):
        for number, text in enumerate(row[kind], 1):
            yield kind, f"{kind[:-1]} {number}", text


def _add_lists(
    rows: Sequence[dict[str, Any]],
    sources: Collection[tuple[str, str]],
    searcher: Searcher,
    depth: int,
) -> None:
    """Look up all probes of some questions, each index in one call."""
    probes = [(at, *probe) for at, row in enumerate(rows) for probe in _probes(row)]
    found: dict[tuple[int, str, str], dict[str, Any]] = {}
    for index in ("dense", "bm25"):
        wanted = [probe for probe in probes if (probe[1], index) in sources]
        hits = _hits(wanted, index, searcher, max(1, min(depth, len(searcher.snapshot))))
        ids = _ids(hits, searcher.snapshot)
        for (at, _, name, _), names, scores in zip(wanted, ids, hits.scores, strict=True):
            found[at, name, index] = _list(f"{name} {index}", names, scores, rows[at]["target_id"])
    for at, _, name, _ in probes:
        told = (found.get((at, name, index)) for index in ("dense", "bm25"))
        rows[at]["lists"] += [one for one in told if one is not None]


def _hits(probes: Sequence[tuple[int, str, str, str]], index: str, searcher: Searcher, depth: int) -> Hits:
    if not probes:
        return empty_hits(0, depth)
    texts = [text for *_, text in probes]
    if index == "bm25":
        return searcher.bm25(texts, depth)
    return searcher.dense(searcher.encode(texts, [kind for _, kind, _, _ in probes]), depth)


def _ids(hits: Hits, snapshot: Snapshot) -> list[list[str]]:
    """Return the ids of all hits; each row is asked of the store once."""
    rows = [ids.tolist() for ids, _ in hits]
    distinct = sorted({row for one in rows for row in one})
    names = dict(zip(distinct, snapshot.ids(distinct), strict=True))
    return [[names[row] for row in one] for one in rows]


def _list(name: str, ids: list[str], scores: NDArray[np.float32], target: str) -> dict[str, Any]:
    return {
        "name": name,
        "ids": ids,
        "scores": [float(str(score)) for score in scores[: len(ids)]],  # the shortest digits of a float32
        "target_rank": ids.index(target) + 1 if target in ids else None,
    }
