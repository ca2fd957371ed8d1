"""An encoder that looks vectors up by text, and counts what it is asked."""

from __future__ import annotations

import gzip
import json

import numpy as np


class LookupEncoder:
    """The vectors of `table`, text -> float[dim]; `calls` lists (kind, texts) of each call."""

    def __init__(self, table, dim, **settings):
        self.table = table
        self.name = "lookup"
        self.dim = dim
        self.settings = {"pooling": "mean", **settings}
        self.calls = []

    def encode(self, texts, kind="document"):
        self.calls.append((kind, list(texts)))
        return np.array([self.table[text] for text in texts], np.float32).reshape(-1, self.dim)


def dev_encoder(folder):
    """Return the encoder of the dev set's own MiniLM vectors: of its store, questions and expansions.

    `folder` is agent_memory of the shared data.
    """
    ids = (folder / "dev" / "store_ids.txt").read_text().split()
    with gzip.open(folder / "traces.jsonl.gz", "rt", encoding="utf-8") as lines:
        text_of = {row["episode_id"]: row["text"] for row in map(json.loads, lines)}
    arrays = np.load(folder / "dev" / "minilm_vectors.npz")
    table = dict(zip((text_of[name] for name in ids), arrays["store"], strict=True))
    for name, vectors in (("expansions", arrays["probes"]), ("expansions_weak", arrays["probes_weak"])):
        with (folder / "dev" / f"{name}.jsonl").open(encoding="utf-8") as lines:
            for made, own in zip(map(json.loads, lines), vectors, strict=True):
                texts = [made["query"], *made["traces"], *made["paraphrases"]]
                table |= zip(texts, own, strict=False)
    return LookupEncoder(table, arrays["store"].shape[1])
