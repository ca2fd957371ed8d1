"""Checks of rows by themselves: what each says twice, and what its method does."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from sqe_fast.experiment._rows.write import MODES
from sqe_fast.experiment._verify.finding import Finding
from sqe_fast.experiment.rows import MethodRows
from sqe_fast.gate.gates import RandomGate, ThresholdGate
from sqe_fast.methods import METHODS

__all__ = ["check_rows"]

_HIT = re.compile(r"^hit@(\d+)$")
_FIXED = {"NeverGate": False, "AlwaysGate": True}


def check_rows(rows: MethodRows, file: str, seed: int, chosen: Mapping[str, Any] | None) -> Iterator[Finding]:
    """Yield what is wrong with the rows of one method.

    Parameters
    ----------
    rows : MethodRows
    file : str
        What findings call it.
    seed : int
        Of the folder.
    chosen : mapping, optional
        What the run's manifest says of the method; without it, as for the release's rows, the protocol's
        rate is taken of the random gate and no threshold is known.
    """
    gate = _gate(rows, seed, chosen)
    for i, row in enumerate(rows.raw):
        where = f"{file}:{rows.lines[i]}"
        for what in (*_of_lists(rows, i, row), *_of_costs(row), *_of_gate(rows, i, row, gate[i])):
            yield Finding(where, what, rows.query_ids[i])
        limit = None if chosen is None else chosen.get("k")
        if limit is not None and len(rows.retrieved[i]) > limit:
            yield Finding(where, f"{len(rows.retrieved[i])} retrieved_ids; k is {limit}", rows.query_ids[i])


def _of_lists(rows: MethodRows, i: int, row: Mapping[str, Any]) -> Iterator[str]:
    """Hit flags against ids and target; ids, scores and lists against each other."""
    ids, target = rows.retrieved[i], rows.targets[i]
    for name, value in row.items():
        match = _HIT.match(name)
        if match and value is not (target in ids[: int(match[1])]):
            at = f"stands at rank {rows.rank[i]}" if rows.rank[i] else "is not among retrieved_ids"
            yield f"{name} is {str(value).lower()}, but the target {target!r} {at}"
    if len(set(ids)) < len(ids):
        twice = next(one for at, one in enumerate(ids) if one in ids[:at])
        yield f"retrieved_ids hold {twice!r} twice"
    scores = row.get("scores")
    if isinstance(scores, list):
        if len(scores) != len(ids):
            yield f"{len(scores)} scores of {len(ids)} retrieved_ids"
        elif any(later > earlier for earlier, later in pairwise(scores)):
            yield "scores rise down the list"
    meta = row.get("meta") or {}
    lists = row.get("lists")
    if isinstance(lists, list):
        probes = {str(name).rsplit(" ", 1)[0] for name in lists} | set(row.get("refused") or ())
        for key, count in (
            ("n_ranked_lists_fused", len(lists)),
            ("n_hypothetical_traces_generated", sum(name.startswith("trace ") for name in probes)),
            ("n_paraphrases_generated", sum(name.startswith("paraphrase ") for name in probes)),
        ):
            if key in meta and meta[key] != count:
                yield f"{key} is {meta[key]}, but lists (and refused) hold {count}"
    if row.get("method", rows.method) != rows.method:
        yield f"method is {row['method']!r} in the file of {rows.method}"
    mode = MODES.get(rows.method)
    if mode is not None and meta.get("mode", mode) not in (mode, rows.method):
        yield f"mode is {meta['mode']!r}; that of {rows.method} is {mode!r}"


def _of_costs(row: Mapping[str, Any]) -> Iterator[str]:
    """Token counts against their total, and nothing paid where nothing was expanded."""
    meta = row.get("meta") or {}
    prompt, completion, total = (meta.get(f"{name}_tokens") for name in ("prompt", "completion", "total"))
    if prompt is not None and completion is not None and total not in (None, prompt + completion):
        yield f"total_tokens is {total}, but prompt_tokens + completion_tokens is {prompt + completion}"
    cached = row.get("cached_tokens")
    if cached and prompt is not None and cached > prompt:
        yield f"cached_tokens, {cached}, are more than prompt_tokens, {prompt}"
    asked = row.get("gated", meta.get("expanded"))
    if asked is False:
        for key in (
            "llm_calls",
            "total_tokens",
            "n_hypothetical_traces_generated",
            "n_paraphrases_generated",
        ):
            if meta.get(key):
                yield f"{key} is {meta[key]}, but the gate did not ask for an expansion"
    seconds = meta.get("elapsed_seconds")
    if seconds is not None and not (math.isfinite(seconds) and seconds >= 0):
        yield f"elapsed_seconds is {seconds}"


def _of_gate(rows: MethodRows, i: int, row: Mapping[str, Any], expected: bool | None) -> Iterator[str]:
    """Decisions against the signals, and the two places of the top-1 score against each other."""
    meta = row.get("meta") or {}
    top1 = (row.get("signals") or {}).get("top1")
    if top1 is not None and meta.get("top1_score_before_expansion", top1) != top1:
        yield f"top1_score_before_expansion is {meta['top1_score_before_expansion']}, but signals has {top1}"
    gated = row.get("gated")
    if gated is False and rows.expanded[i]:
        yield "expanded is true, but gated is false"
    if expected is not None:
        if gated is not None and gated is not expected:
            yield f"gated is {str(gated).lower()}, but the gate gives {str(expected).lower()}"
        elif gated is None and rows.expanded[i] and not expected:
            yield "expanded is true, but the gate is shut"
        elif not rows.expanded[i] and expected and _told(rows) and not _why_not(row):
            yield "expanded is false, but the gate is open, and neither a problem nor refused probes are told"


def _why_not(row: Mapping[str, Any]) -> bool:
    """Whether a row says why an expansion that was asked for took no part."""
    return bool(row.get("problem") or row.get("refused"))


def _told(rows: MethodRows) -> bool:
    """Whether the rows say why an expansion that was asked for is missing; the release's do not."""
    return all("problem" in row for row in rows.raw)


def _gate(rows: MethodRows, seed: int, chosen: Mapping[str, Any] | None) -> list[bool | None]:
    """Return what the gate of a method decides for each row, None where it is not known."""
    n, told = len(rows), chosen or {}
    published = METHODS.get(rows.method)
    kind = told.get("gate") or (type(published.gate).__name__ if published else "")
    if kind in _FIXED:
        return [_FIXED[kind]] * n
    if kind == "RandomGate":
        gate = RandomGate(told.get("rate", RandomGate().rate), told.get("seed", seed))
        draws: list[bool | None] = gate.start()({}, n).tolist()
        return draws
    if kind == "ThresholdGate" and chosen is not None:
        return _threshold(rows, chosen)
    return [None] * n


def _threshold(rows: MethodRows, chosen: Mapping[str, Any]) -> list[bool | None]:
    signal = chosen.get("signal", "top1")
    gate = ThresholdGate(chosen.get("threshold"), signal, chosen.get("direction", "below"))  # type: ignore[arg-type]
    values = rows.top1 if signal == "top1" else rows.signals.get(signal)
    if values is None:
        return [None] * len(rows)
    decided = gate.start()({signal: values.astype(np.float32)}, len(rows)).tolist()
    return [None if math.isnan(value) else one for value, one in zip(values.tolist(), decided, strict=True)]
