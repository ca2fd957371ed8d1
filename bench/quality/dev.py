"""The dev set of real agent steps: its questions and targets, two stores, and recorded expansions."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqe_fast.engine import Engine
from sqe_fast.generate.recorded import RecordedGenerator
from sqe_fast.store import MemoryStore

STRENGTHS = ("strong", "weak")
STORES: Mapping[str, Mapping[str, Any]] = {
    "code": {},  # what a store has by default: the code tokenizer, Lucene's BM25
    "whitespace": {"tokenizer": "whitespace", "variant": "okapi", "k1": 1.5, "b": 0.75},  # the paper's
}


class RecordedEncoder:
    """Looks vectors up by text."""

    def __init__(self, table: Mapping[str, NDArray[np.float32]], dim: int) -> None:
        self.name = "minilm, recorded"
        self.dim = dim
        self.settings = {"pooling": "mean"}
        self._table = table

    def encode(self, texts: Sequence[str], kind: str = "document") -> NDArray[np.float32]:
        return np.array([self._table[text] for text in texts], np.float32).reshape(-1, self.dim)


@dataclass(frozen=True, eq=False)
class Dev:
    """Everything of the dev set; `engine` gives what searches it."""

    questions: list[str]
    targets: list[str]
    stores: Mapping[str, MemoryStore]
    generators: Mapping[str, RecordedGenerator]

    def engine(self, store: str = "code", strength: str = "strong") -> Engine:
        return Engine(self.stores[store], generator=self.generators[strength])


def _swapped(path: Path, folder: Path) -> Path:
    """Write a recording anew with the traces of each question in the other order."""
    target = folder / path.name
    rows = [row | {"traces": row["traces"][::-1]} for row in _records(path)]
    target.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return target


def _records(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


@contextmanager
def dev_set(data: Path, tokenizer: str = "minilm", turn: Any = None, second: bool = False) -> Iterator[Dev]:
    """Open the dev set.

    Parameters
    ----------
    data
        The folder that holds agent_memory.
    tokenizer
        What counts tokens, see `RecordedGenerator`.
    turn
        From float32[n, dim] vectors to other unit vectors: an encoder of another scale or quality.
    second
        Put the second recorded trace of each question first: another sample of the same generator.
    """
    folder = data / "agent_memory"
    ids = (folder / "dev" / "store_ids.txt").read_text(encoding="utf-8").split()
    with gzip.open(folder / "traces.jsonl.gz", "rt", encoding="utf-8") as lines:
        text_of = {row["episode_id"]: row["text"] for row in map(json.loads, lines)}
    texts = [text_of[name] for name in ids]
    queries = _records(folder / "dev" / "queries.jsonl")
    paths = {
        "strong": folder / "dev" / "expansions.jsonl",
        "weak": folder / "dev" / "expansions_weak.jsonl",
    }
    turned = (lambda vectors: vectors) if turn is None else turn
    with np.load(folder / "dev" / "minilm_vectors.npz") as arrays:
        vectors = turned(arrays["store"].astype(np.float32))
        table = dict(zip(texts, vectors, strict=True))
        for strength, key in (("strong", "probes"), ("weak", "probes_weak")):
            made = {row["query"]: row for row in _records(paths[strength])}
            for query, probes in zip(queries, arrays[key].astype(np.float32), strict=True):
                row = made[query["query"]]
                names = [query["query"], *row["traces"], *row["paraphrases"]]
                for name, vector in zip(names, turned(probes), strict=True):
                    table.setdefault(name, vector)
    encoder = RecordedEncoder(table, vectors.shape[1])
    with TemporaryDirectory() as scratch:
        if second:
            paths = {name: _swapped(path, Path(scratch)) for name, path in paths.items()}
        stores = {
            name: MemoryStore.create(Path(scratch) / name, encoder=encoder, **settings)
            for name, settings in STORES.items()
        }
        try:
            for store in stores.values():
                store.add({"id": name, "text": text} for name, text in zip(ids, texts, strict=True))
                store.commit()
            yield Dev(
                [query["query"] for query in queries],
                [query["target_episode_id"] for query in queries],
                stores,
                {name: RecordedGenerator(path, tokenizer=tokenizer) for name, path in paths.items()},
            )
        finally:
            for store in stores.values():
                store.close()
