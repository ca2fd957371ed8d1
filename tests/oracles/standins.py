"""An encoder for the store's tests that needs no model and counts what it is given."""

from __future__ import annotations

import hashlib

import numpy as np


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
