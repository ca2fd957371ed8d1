"""Answers of the engine as rows of a file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sqe_fast._store.files import replace_file
from sqe_fast.batch import SearchBatch
from sqe_fast.errors import InvalidInputError
from sqe_fast.methods import Method

__all__ = ["MODES", "write_rows"]

MODES: Mapping[str, str] = MappingProxyType(
    {
        "Dense-Only": "dense_only",
        "BM25-Only": "bm25_only",
        "Hybrid-RRF": "hybrid_rrf",
        "Paraphrases-Only": "paraphrases_only",
        "HyDE-Traces-Only": "traces_only",
        "Always-Expand": "always_expand",
        "Random-Gated-Expansion": "random_budget",
        "Selective-QE": "selective",
    }
)
"""The release's word for each of its methods in `meta`; any other method has its alias."""


def write_rows(
    path: str | PathLike[str],
    batch: SearchBatch,
    query_ids: Sequence[str],
    targets: Sequence[str],
    *,
    seconds: Sequence[float] | None = None,
    cached: Sequence[bool] | None = None,
) -> None:
    """Write one row a question, replacing the file in one step.

    Parameters
    ----------
    path
        See `sqe_fast.experiment.rows.file_of`.
    batch : SearchBatch
        The answers of one method to n questions.
    query_ids, targets : sequence of str
        n of each.
    seconds : sequence of float, optional
        Of each question; where it is not finite, or not given, the rows say null.
    cached : sequence of bool, optional
        Where an expansion took part that was not paid for in this run.

    Raises
    ------
    InvalidInputError
        A sequence is not of length n.
    """
    n = len(batch)
    sizes = {"query_ids": query_ids, "targets": targets, "seconds": seconds, "cached": cached}
    for name, values in sizes.items():
        if values is not None and len(values) != n:
            raise InvalidInputError(f"{name} must have one entry a question, {n}; got {len(values)}")
    lines = []
    for i, told in enumerate(batch.rows()):
        row = _row(batch, i, told, query_ids[i], targets[i])
        known = seconds is not None and math.isfinite(seconds[i])
        row["meta"]["elapsed_seconds"] = float(seconds[i]) if seconds is not None and known else None
        row["cached"] = bool(cached[i]) if cached is not None else False
        lines.append(json.dumps(row, allow_nan=False) + "\n")
    replace_file(Path(path), "".join(lines).encode("ascii"))


def _row(batch: SearchBatch, i: int, told: Mapping[str, Any], query_id: str, target: str) -> dict[str, Any]:
    ids = [hit["id"] for hit in told["hits"]]
    probes = {name.rsplit(" ", 1)[0] for name in told["lists"]} | set(told["refused"])
    top1 = told["signals"].get("top1")
    meta = {
        "mode": MODES.get(batch.method.name, batch.method.alias),
        "expanded": told["expanded"],
        "top1_score_before_expansion": top1 if top1 is not None and math.isfinite(top1) else None,
        "n_hypothetical_traces_generated": sum(name.startswith("trace ") for name in probes),
        "n_paraphrases_generated": sum(name.startswith("paraphrase ") for name in probes),
        "n_ranked_lists_fused": len(told["lists"]),
        "llm_calls": told["llm_calls"],
        "prompt_tokens": told["prompt_tokens"],
        "completion_tokens": told["completion_tokens"],
        "total_tokens": told["prompt_tokens"] + told["completion_tokens"],
    }
    return {
        "query_id": query_id,
        "query": told["question"],
        "target_id": target,
        "retrieved_ids": ids,
        "hit@1": target in ids[:1],
        "hit@10": target in ids[:10],
        "meta": meta,
        "method": told["method"],
        "scores": [hit["score"] for hit in told["hits"]],
        "gated": told["gated"],
        "signals": told["signals"],
        "lists": told["lists"],
        **_judged(batch.method, told),
        "problem": told["problem"],
        "cached_tokens": told["cached_tokens"],
        "estimated_tokens": told["estimated_tokens"],
    }


def _judged(method: Method, told: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is told of a method that weighs or refuses lists, or makes them in steps."""
    names = []
    if method.weights is not None or method.weigh_by is not None or method.accept is not None:
        names.append("weights")
    if method.accept is not None:
        names += ["refused", "evidence"]
    if method.stages:
        names.append("steps")
    return {name: told[name] for name in names}
