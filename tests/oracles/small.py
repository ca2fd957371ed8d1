"""A small store for the engine's tests: hash vectors, a generator that makes what it is told to."""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np

from sqe_fast.generate.base import Generation
from sqe_fast.store import MemoryStore

WORDS = ["cache", "retry", "lint", "parse", "commit", "branch", "socket"]
WORDS += ["timeout", "import", "merge", "token", "shard", "vector", "index"]


@lru_cache(1000)
def word_vector(word, dim):
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "little")
    return np.random.default_rng(seed).standard_normal(dim)


class TextEncoder:
    """Unit vectors that add up a hash of each word, so that texts with common words are near."""

    name = "words"

    def __init__(self, dim=16, query_prefix="", document_prefix=""):
        self.dim = dim
        self.settings = {"query_prefix": query_prefix, "document_prefix": document_prefix}
        self.calls = []

    def encode(self, texts, kind="document"):
        texts = list(texts)
        self.calls.append((kind, texts))
        prefix = self.settings[f"{kind}_prefix"]
        return np.array([self.vector(prefix + text) for text in texts], np.float32).reshape(-1, self.dim)

    def vector(self, text):
        total = np.zeros(self.dim)
        for word in (text or "empty").lower().split() or ["blank"]:
            total += word_vector(word, self.dim)
        return total / np.linalg.norm(total)


class ScriptedGenerator:
    """Makes traces and paraphrases from the question's words; `fail` and `short` name questions."""

    name = "scripted"

    def __init__(self, fail=(), short=(), raises=None):
        self.fail = set(fail)
        self.short = set(short)
        self.raises = raises
        self.calls = []

    def generate(self, requests):
        self.calls.append([(request.kind, request.question, request.n) for request in requests])
        if self.raises is not None:
            raise self.raises
        return [self.answer(request) for request in requests]

    def answer(self, request):
        if request.question in self.fail:
            return Generation.failed("time-out", calls=1)
        if request.kind == "joint":
            wanted = dict(zip(("traces", "paraphrases"), request.want, strict=True))
        else:
            wanted = {request.kind: request.n if request.kind == "traces" else 2}
        texts = []
        for kind, number in wanted.items():
            first = request.after if kind == "traces" else 0
            texts += [f"{request.question} {kind} {WORDS[first + n]}" for n in range(number)]
        count = len(texts)
        if request.question in self.short and request.kind == "paraphrases":
            texts = texts[:1]
        return Generation(
            tuple(texts),
            prompt_tokens=10,
            cached_tokens=4,
            completion_tokens=3 * count,
            verbatim=True,
            traces=wanted["traces"] if request.kind == "joint" else 0,
        )

    def close(self):
        pass


def small_store(folder, encoder=None, n=60):
    store = MemoryStore.create(folder, encoder=encoder, tokenizer="whitespace", variant="okapi", k1=1.5)
    texts = [f"step {i} {WORDS[i % 14]} {WORDS[(i * 5 + 3) % 14]} {WORDS[(i // 14) % 14]}" for i in range(n)]
    store.add({"id": f"e{i}", "text": text} for i, text in enumerate(texts))
    store.commit()
    return store
