"""The memory that the engine's rows search: the dev set of real agent steps, else the sample that ships here.

Both come with questions, recorded expansions and a vector of every text, so that no row waits for a model
unless it is about one.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LookupEncoder", "Memory", "load"]

ROOT = Path(__file__).resolve().parents[1]
VARIABLE = "SQE_FAST_DATA"


class LookupEncoder:
    """An encoder whose vectors are made already (`table`, text -> float32[dim]); `live` encodes others."""

    name = "lookup"

    def __init__(self, table: dict[str, NDArray[np.float32]], dim: int) -> None:
        self.table = table
        self.dim = dim
        self.settings = {"pooling": "mean"}
        self.live: Any = None

    def encode(self, texts: Sequence[str], kind: str = "document") -> NDArray[np.float32]:
        fresh = list(dict.fromkeys(text for text in texts if text not in self.table)) if self.live else []
        made = dict(zip(fresh, self.live.encode(fresh), strict=True)) if fresh else {}
        table = {**self.table, **made} if made else self.table
        return np.array([table[text] for text in texts], np.float32).reshape(-1, self.dim)


@dataclass(frozen=True, eq=False)
class Memory:
    """Episodes, questions, the file of expansions, and vectors of all texts if they were found with them."""

    name: str
    ids: list[str]
    texts: list[str]
    asked: list[str]
    recorded: Path
    known: dict[str, NDArray[np.float32]]

    def questions(self, count: int) -> list[str]:
        """Return the questions, cycled to `count`."""
        return list(islice(cycle(self.asked), count))

    @cached_property
    def expansions(self) -> dict[str, dict[str, list[str]]]:
        """The recorded expansions by question."""
        return {row["query"]: row for row in records(self.recorded)}

    @cached_property
    def encoder(self) -> LookupEncoder:
        """Looks up the vectors; what was not found with the data MiniLM encodes here, once."""
        table = self.known
        if not table:
            from bench import ours

            texts = [*self.texts, *self.asked]
            for row in self.expansions.values():
                texts += [*row["traces"], *row["paraphrases"]]
            table = dict(zip(texts, ours.encoder("minilm").encode(texts), strict=True))
        return LookupEncoder(table, len(next(iter(table.values()))))

    @cached_property
    def vectors(self) -> NDArray[np.float32]:
        """float32[episodes, dim], as the store keeps them: rounded to float16."""
        return self.encoder.encode(self.texts).astype(np.float16).astype(np.float32)

    @cached_property
    def store(self) -> Any:
        """A MemoryStore of the episodes in a temporary folder, with the encoder that looks up."""
        from bench import ours

        return ours.store(Path(self.folder.name) / "memory", self.encoder, self.ids, self.texts)

    @property
    def checksum(self) -> str:
        """CRC-32 of the texts."""
        return f"{zlib.crc32(chr(10).join(self.texts).encode()):08x}"

    @cached_property
    def folder(self) -> TemporaryDirectory[str]:
        """A folder that lives as long as this memory."""
        return TemporaryDirectory(prefix="sqe-bench-")


def records(path: Path) -> list[dict[str, Any]]:
    """Read a JSONL file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


@lru_cache(maxsize=1)
def load() -> Memory:
    """Return the dev memory where the real data is, else the sample memory."""
    wish = os.environ.get(VARIABLE)
    folder = (Path(wish) if wish else ROOT.parent / "shared" / "data") / "agent_memory"
    return dev(folder) if folder.is_dir() else sample(ROOT / "examples" / "sample")


def dev(folder: Path) -> Memory:
    """Read the dev set: 5,000 steps, 360 questions, MiniLM's vectors of all."""
    ids = (folder / "dev" / "store_ids.txt").read_text(encoding="utf-8").split()
    with gzip.open(folder / "traces.jsonl.gz", "rt", encoding="utf-8") as lines:
        text_of = {row["episode_id"]: row["text"] for row in map(json.loads, lines)}
    texts = [text_of[name] for name in ids]
    asked = [row["query"] for row in records(folder / "dev" / "queries.jsonl")]
    recorded = folder / "dev" / "expansions.jsonl"
    made = {row["query"]: row for row in records(recorded)}
    arrays = np.load(folder / "dev" / "minilm_vectors.npz")
    known = dict(zip(texts, arrays["store"].astype(np.float32), strict=True))
    for question, vectors in zip(asked, arrays["probes"].astype(np.float32), strict=True):
        probes = [question, *made[question]["traces"], *made[question]["paraphrases"]]
        known |= zip(probes, vectors, strict=True)
    return Memory("dev memory", ids, texts, asked, recorded, known)


def sample(folder: Path) -> Memory:
    """Read the sample memory: some 300 steps, 84 questions, no vectors."""
    episodes = records(folder / "episodes.jsonl")
    return Memory(
        "sample memory",
        [row["id"] for row in episodes],
        [row["text"] for row in episodes],
        [row["query"] for row in records(folder / "questions.jsonl")],
        folder / "expansions.jsonl",
        {},
    )
