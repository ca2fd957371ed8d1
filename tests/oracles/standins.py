"""Plain parts that the store's tests use: an encoder that counts, and an index where BM25 is not built."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
import types
import zlib
from pathlib import Path

import numpy as np

from sqe_fast.errors import IndexFileError, InvalidInputError


class HashEncoder:
    """Unit vectors drawn from a hash of each text; `encoded` lists every text that it was given."""

    def __init__(self, dim=8, **settings):
        self.name = "hash"
        self.dim = dim
        self.settings = {"pooling": "cls", "length": 512, "prefix": "", **settings}
        self.encoded = []

    def encode(self, texts, kind="document"):
        assert kind == "document"
        self.encoded += texts
        return np.stack([self.vector(text) for text in texts])

    def vector(self, text):
        """Return float32[dim]: the vector of one text."""
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
        vector = np.random.default_rng(seed).standard_normal(self.dim).astype(np.float32)
        return vector / np.linalg.norm(vector)


class StandInIndex:
    """Keeps the texts themselves, under the methods that the store asks of BM25Index."""

    def __init__(self, texts, settings):
        self.held = list(texts)
        self.settings = settings

    @classmethod
    def build(cls, texts, *, tokenizer="whitespace", variant="okapi", k1=1.5, b=0.75):
        if tokenizer not in ("whitespace", "code", "word"):
            raise InvalidInputError(f"tokenizer must be one of whitespace, code, word; got {tokenizer!r}")
        return cls(texts, {"tokenizer": tokenizer, "variant": variant, "k1": k1, "b": b})

    def __len__(self):
        return len(self.held)

    def add(self, texts):
        self.held += list(texts)

    def delete(self, rows):
        gone = set(rows)
        self.held = [text for row, text in enumerate(self.held) if row not in gone]

    def save(self, path):
        body = json.dumps([self.settings, self.held]).encode()
        Path(path).write_bytes(zlib.crc32(body).to_bytes(4, "little") + body)

    @classmethod
    def load(cls, path):
        data = Path(path).read_bytes()
        if int.from_bytes(data[:4], "little") != zlib.crc32(data[4:]):
            raise IndexFileError(f"{path} is damaged")
        settings, texts = json.loads(data[4:])
        return cls(texts, settings)


def install_index():
    """Put the stand-in at sqe_fast.bm25 where there is no real one."""
    if "sqe_fast.bm25" not in sys.modules and importlib.util.find_spec("sqe_fast.bm25") is None:
        module = types.ModuleType("sqe_fast.bm25")
        module.BM25Index = StandInIndex
        sys.modules["sqe_fast.bm25"] = module
