"""The dev set of real agent steps, as a store with an encoder that looks its vectors up."""

from __future__ import annotations

import gzip
import json
from types import SimpleNamespace

import numpy as np
import pytest
from oracles.lookup import LookupEncoder
from oracles.sqe import Reference

from sqe_fast.store import MemoryStore


def records(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


@pytest.fixture(scope="session")
def code_dev(shared_data, tmp_path_factory):
    """The same set as a store keeps it by default (code tokenizer), with strong and weak expansions."""
    pytest.importorskip("faiss")
    folder = shared_data / "agent_memory"
    ids = (folder / "dev" / "store_ids.txt").read_text().split()
    with gzip.open(folder / "traces.jsonl.gz", "rt", encoding="utf-8") as lines:
        text_of = {row["episode_id"]: row["text"] for row in map(json.loads, lines)}
    texts = [text_of[name] for name in ids]
    queries = records(folder / "dev" / "queries.jsonl")
    arrays = np.load(folder / "dev" / "minilm_vectors.npz")
    table = dict(zip(texts, arrays["store"], strict=True))
    recorded = {
        "strong": folder / "dev" / "expansions.jsonl",
        "weak": folder / "dev" / "expansions_weak.jsonl",
    }
    expansions = {name: {row["query"]: row for row in records(path)} for name, path in recorded.items()}
    for name, probes in (("strong", arrays["probes"]), ("weak", arrays["probes_weak"])):
        for query, vectors in zip(queries, probes, strict=True):
            made = expansions[name][query["query"]]
            keys = [query["query"], *made["traces"], *made["paraphrases"]]
            for key, vector in zip(keys, vectors, strict=True):
                table.setdefault(key, vector)
    encoder = LookupEncoder(table, arrays["store"].shape[1])
    store = MemoryStore.create(tmp_path_factory.mktemp("dev") / "code", encoder=encoder)
    store.add({"id": name, "text": text} for name, text in zip(ids, texts, strict=True))
    store.commit()
    yield SimpleNamespace(
        store=store,
        encoder=encoder,
        ids=ids,
        texts=texts,
        vectors=np.asarray(arrays["store"], np.float64),
        vector_of=table,
        questions=[query["query"] for query in queries],
        targets=[query["target_episode_id"] for query in queries],
        recorded=recorded,
        expansions=expansions,
    )
    store.close()


@pytest.fixture(scope="session")
def dev(shared_data, tmp_path_factory):
    """Questions, targets, expansions, a store, its encoder, and the plain re-statement over the same."""
    pytest.importorskip("faiss")
    folder = shared_data / "agent_memory"
    ids = (folder / "dev" / "store_ids.txt").read_text().split()
    wanted = set(ids)
    with gzip.open(folder / "traces.jsonl.gz", "rt", encoding="utf-8") as lines:
        text_of = {row["episode_id"]: row["text"] for row in map(json.loads, lines)}
    texts = [text_of[name] for name in ids]
    assert len(wanted) == len(texts) == 5000
    queries = records(folder / "dev" / "queries.jsonl")
    recorded = folder / "dev" / "expansions.jsonl"
    expansions = {row["query"]: row for row in records(recorded)}
    arrays = np.load(folder / "dev" / "minilm_vectors.npz")
    table = dict(zip(texts, arrays["store"], strict=True))
    for query, vectors in zip(queries, arrays["probes"], strict=True):
        made = expansions[query["query"]]
        table |= zip([query["query"], *made["traces"], *made["paraphrases"]], vectors, strict=True)
    encoder = LookupEncoder(table, arrays["store"].shape[1])
    store = MemoryStore.create(
        tmp_path_factory.mktemp("dev") / "memory",
        encoder=encoder,
        tokenizer="whitespace",
        variant="okapi",
        k1=1.5,
        b=0.75,
    )
    store.add({"id": name, "text": text} for name, text in zip(ids, texts, strict=True))
    store.commit()
    encoder.calls.clear()
    yield SimpleNamespace(
        store=store,
        encoder=encoder,
        questions=[query["query"] for query in queries],
        targets=[query["target_episode_id"] for query in queries],
        recorded=recorded,
        reference=Reference(ids, texts, arrays["store"], table, expansions),
    )
    store.close()
