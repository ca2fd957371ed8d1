"""An experiment made up: rows of 8 seeds x 500 questions, as `sqe-fast experiment run` writes them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

__all__ = ["QUESTIONS", "SEEDS", "write_rows"]

SEEDS, QUESTIONS = tuple(range(42, 50)), 500
RANKS = 15  # a target stands at one of these with equal chance; only 10 are kept

EXPANDING = ("Paraphrases-Only", "HyDE-Traces-Only", "Always-Expand", "Random-Gated-Expansion")

Files = dict[str, str]


def write_rows(root: Path, files: Files, seeds: tuple[int, ...] = SEEDS, n: int = QUESTIONS) -> Path:
    """Write a file of rows for each method and seed; `files` names the file of each method."""
    draw = np.random.default_rng(7)
    for seed in seeds:
        folder = root / f"seed{seed}" / "results"
        folder.mkdir(parents=True)
        scores = draw.normal(0.65, 0.06, n)
        for method, file in files.items():
            ranks = draw.integers(0, RANKS, n)
            lines = [_row(method, i, float(scores[i]), int(ranks[i])) for i in range(n)]
            (folder / file).write_text("".join(lines), "utf-8")
    return root


def _row(method: str, i: int, score: float, rank: int) -> str:
    ids = [f"ep_{(37 * i + 11 * at) % 5000:06d}" for at in range(10)]
    target = f"target_{i}"
    if rank < len(ids):
        ids[rank] = target
    expanded = method in EXPANDING or (method == "Selective-QE" and score < 0.65)
    tokens = (190, 180) if expanded else (0, 0)
    meta = {
        "expanded": expanded,
        "top1_score_before_expansion": score,
        "n_ranked_lists_fused": 7 if expanded else 1,
        "llm_calls": 3 if expanded else 0,
        "prompt_tokens": tokens[0],
        "completion_tokens": tokens[1],
        "total_tokens": sum(tokens),
        "elapsed_seconds": 0.1,
    }
    row = {
        "query_id": f"q_{i:04d}",
        "query": f"what happened in step {i}?",
        "target_id": target,
        "retrieved_ids": ids,
        "hit@1": rank == 0,
        "hit@10": rank < len(ids),
        "meta": meta,
        "method": method,
        "scores": [score - 0.01 * at for at in range(10)],
        "signals": {"top1": score, "margin": 0.01, "concentration": 0.1},
    }
    return json.dumps(row) + "\n"
