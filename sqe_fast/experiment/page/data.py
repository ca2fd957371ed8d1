"""What the explorer shows, as compact JSON: lists are places in a seed's table of ids.

Each seed has several parts (`PARTS`); a page takes as many of them as its limit of bytes allows, and says
what it left out. The browser parses a part of a seed when it is first looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from sqe_fast._checks import check_int
from sqe_fast.experiment.page.html import json_block
from sqe_fast.experiment.page.texts import Texts, store_texts
from sqe_fast.experiment.rows import Experiment, MethodRows, SeedRows, read_probes

__all__ = ["MIB", "PARTS", "Part", "choose_parts", "seed_parts"]

MIB = 2**20
PARTS: Mapping[str, str] = {
    "rows": "answers of the methods",
    "probes": "texts of the probes",
    "lists": "ranked lists of the probes",
    "targets": "texts of the targets",
    "scores": "scores of the ranked lists",
    "documents": "beginnings of the other texts",
}
"""The parts in the order in which they are taken, with what they hold; "rows" is always there."""

SNIPPET = 280  # characters of a text that is not a target's


@dataclass(frozen=True)
class Part:
    """One part of one seed, as the JSON of a script element."""

    seed: int
    name: str
    json: str

    @property
    def size(self) -> int:
        """Bytes of the JSON in UTF-8."""
        return len(self.json.encode("utf-8"))


def choose_parts(
    experiment: Experiment, *, probes: bool, texts: Texts | None, limit: int
) -> tuple[list[Part], list[str]]:
    """Return the parts that fit into `limit` bytes, by seed, and what was left out and why.

    Parts are taken in the order of `PARTS`, each in all seeds or in none; one that does not fit is left out,
    and smaller ones behind it may still fit.
    """
    check_int("limit", limit, 0, 2**40)
    texts = store_texts(experiment) if texts is None else texts
    by_seed = [
        seed_parts(seed, read_probes(seed.folder) if probes else None, texts) for seed in experiment.seeds
    ]
    left_out = []
    for name, what, why in (
        ("probes", "probes", "kept none" if probes else "are not wanted"),
        ("targets", "texts of the documents", "have no store beside their rows"),
    ):
        lacking = [
            str(seed.seed) for seed, parts in zip(experiment.seeds, by_seed, strict=True) if name not in parts
        ]
        if lacking:
            which = "the seeds" if len(lacking) == len(by_seed) else f"seed {', '.join(lacking)}"
            left_out.append(f"{what} ({which} {why})" if probes or name != "probes" else f"{what} ({why})")
    taken: list[str] = []
    used = 0
    for name, what in PARTS.items():
        size = sum(parts[name].size for parts in by_seed if name in parts)
        if name != "rows" and size and used + size > limit:
            left_out.append(f"{what} ({size / MIB:.1f} MiB; {limit / MIB:.1f} MiB of data were allowed)")
            continue
        taken.append(name)
        used += size
    return [parts[name] for parts in by_seed for name in taken if name in parts], left_out


class _Ids(dict[str, int]):
    """The table of ids: an id gets the next place when it is first asked for."""

    def __missing__(self, name: str) -> int:
        place = self[name] = len(self)
        return place

    def of(self, names: Iterable[str]) -> list[int]:
        return list(map(self.__getitem__, names))


def seed_parts(
    rows: SeedRows, probes: Sequence[Mapping[str, Any]] | None, texts: Texts | None = None
) -> dict[str, Part]:
    """Return the parts of one seed by name; those that have nothing to hold are absent.

    Parameters
    ----------
    rows : SeedRows
    probes : sequence of mapping, optional
        As `read_probes` gives them; a question may be missing.
    texts : callable, optional
        Gives the texts of the ids that are shown.
    """
    ids = _Ids()
    targets = ids.of(rows.targets)
    methods = [_method(found, ids) for found in rows.methods.values()]
    asked = {row["query_id"]: row for row in probes or ()}
    kept = [asked.get(name) for name in rows.query_ids]
    names = list(dict.fromkeys(part["name"] for row in kept if row for part in row["lists"]))
    found: dict[str, Any] = {}
    if any(kept):
        found["probes"] = [_probe_texts(row) for row in kept]
        lists = [_by_name(row, names) for row in kept]
        found["lists"] = {
            "names": names,
            "ids": [[part and ids.of(part["ids"]) for part in parts] for parts in lists],
            "ranks": [[part and (part.get("target_rank") or 0) for part in parts] for parts in lists],
        }
        scores = iter(
            _rounded([None if part is None else part["scores"] for parts in lists for part in parts])
        )
        found["scores"] = [list(islice(scores, len(names))) for _ in lists]
    if texts is not None:
        known = texts(rows.seed, list(ids))
        goals = set(rows.targets)
        told = [(name, str(place), known[name]) for name, place in ids.items() if name in known]
        found["targets"] = {place: text for name, place, text in told if name in goals}
        found["documents"] = {place: _beginning(text) for name, place, text in told if name not in goals}
    found["rows"] = {
        "ids": list(ids),
        "queries": [list(pair) for pair in zip(rows.query_ids, rows.queries, strict=True)],
        "targets": targets,
        "signals": _signals(rows),
        "methods": methods,
    }
    return {name: Part(rows.seed, name, json_block(found[name])) for name in PARTS if found.get(name)}


def _method(rows: MethodRows, ids: _Ids) -> dict[str, Any]:
    tokens = rows.prompt_tokens + rows.completion_tokens
    lists = [tuple(row.get("lists") or ()) for row in rows.raw]
    combinations = list(dict.fromkeys(lists))  # few: those of expanded questions, of others, of what failed
    return {
        "name": rows.method,
        "ids": [ids.of(found) for found in rows.retrieved],
        "ranks": rows.rank.tolist(),
        "expanded": rows.expanded.astype(int).tolist(),
        "calls": rows.calls.tolist(),
        "tokens": tokens.tolist(),
        "seconds": _rounded([rows.seconds.tolist()], 3)[0],
        "scores": _rounded([row.get("scores") or [] for row in rows.raw]),
        "fused": [(row.get("meta") or {}).get("n_ranked_lists_fused") for row in rows.raw],
        "combinations": [list(names) for names in combinations],
        "took": [combinations.index(names) for names in lists],
        "refused": {str(i): dict(row["refused"]) for i, row in enumerate(rows.raw) if row.get("refused")},
        "problems": {str(i): row["problem"] for i, row in enumerate(rows.raw) if row.get("problem")},
    }


def _signals(rows: SeedRows) -> dict[str, list[float | None] | None]:
    """Return the signals of every question: those of the gated method first, then what others saw besides."""
    order = sorted(rows.methods.values(), key=lambda found: found.method != "Selective-QE")
    signals: dict[str, list[float | None] | None] = {}
    for found in order:
        columns = dict(found.signals)
        if "top1" not in columns:
            columns["top1"] = found.top1
        for name, values in columns.items():
            if name not in signals and np.isfinite(values).any():
                signals[name] = _rounded([values.tolist()])[0]
    return signals


def _probe_texts(row: Mapping[str, Any] | None) -> list[Any] | None:
    if row is None:
        return None
    return [list(row.get("traces") or ()), list(row.get("paraphrases") or ()), row.get("problem")]


def _by_name(row: Mapping[str, Any] | None, names: Sequence[str]) -> list[Mapping[str, Any] | None]:
    parts = {part["name"]: part for part in (row or {}).get("lists") or ()}
    return [parts.get(name) for name in names]


def _beginning(text: str) -> str:
    return text[:SNIPPET] + "…" if len(text) > SNIPPET else text


def _rounded(
    lists: Sequence[Sequence[float | None] | None], digits: int = 4
) -> list[list[float | None] | None]:
    """Return many lists with their values rounded, all in one pass; what is not finite becomes None."""
    flat = np.array([value for values in lists for value in values or ()], np.float64).round(digits)
    short: list[float | None] = flat.tolist()
    if not np.isfinite(flat).all():
        short = [value if value is not None and math.isfinite(value) else None for value in short]
    left = iter(short)
    return [None if values is None else list(islice(left, len(values))) for values in lists]
