"""Encoding real traces: this package against sentence-transformers, same model, threads and vectors.

    python bench/encode.py [--data ../shared/data] [--texts 500] [--threads 2] [--rounds 3]

The two take turns, so a busy moment of the machine hits both; the ratio of the best rounds is the figure.
CPU seconds are given beside wall seconds: they hold still when other processes share the cores.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import time
from pathlib import Path

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from sqe_fast._hub import locate
from sqe_fast.encode import Encoder


def load(data: Path, count: int) -> list[str]:
    store = (data / "agent_memory/dev/store_ids.txt").read_text().split()
    wanted = dict.fromkeys(store[:: max(1, len(store) // count)][:count], "")
    with gzip.open(data / "agent_memory/traces.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if row["episode_id"] in wanted:
                wanted[row["episode_id"]] = row["text"]
    return list(wanted.values())


def timed(run):
    before, start = os.times(), time.perf_counter()
    result = run()
    wall, after = time.perf_counter() - start, os.times()
    return result, wall, after.user + after.system - before.user - before.system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared/data")
    parser.add_argument("--texts", type=int, default=500)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    texts = load(options.data, options.texts)
    ours = Encoder.load("minilm", threads=options.threads)
    theirs = SentenceTransformer(locate("minilm"), device="cpu")
    ways = {
        "sentence-transformers": lambda: theirs.encode(texts, batch_size=32),
        "sqe_fast": lambda: ours.encode(texts),
    }
    for run in ways.values():
        run()
    best: dict[str, tuple[float, float]] = {}
    vectors = {}
    for _ in range(options.rounds):
        for name, run in ways.items():
            vectors[name], wall, cpu = timed(run)
            known = best.get(name, (wall, cpu))
            best[name] = (min(known[0], wall), min(known[1], cpu))
    for name, (wall, cpu) in best.items():
        print(f"{name:22} {len(texts) / wall:8.1f} texts/s  wall {wall:6.2f} s  cpu {cpu:6.2f} s")
    (wall, cpu), (their_wall, their_cpu) = best["sqe_fast"], best["sentence-transformers"]
    cosine = np.sum(vectors["sqe_fast"] * vectors["sentence-transformers"], axis=1)
    ratios = f"{their_wall / wall:.2f}x by wall, {their_cpu / cpu:.2f}x by CPU"
    print(f"{ours.dtype}: {ratios}, cosine >= {cosine.min():.6f}")


if __name__ == "__main__":
    main()
