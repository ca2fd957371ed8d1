"""What a tokenizer is for: questions about agent traces find their trace, by a plain BM25."""

from __future__ import annotations

import gzip
import json
import math
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from sqe_fast.text import Tokenizer, stemmed, tokenize_batch

pytestmark = pytest.mark.slow


def recall_at_5(folder: Path, tokenizer: Tokenizer, k1: float = 1.2, b: float = 0.75) -> float:
    """Return the share of questions whose trace is among the first five, in percent."""
    with gzip.open(folder / "traces.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = {row["episode_id"]: row["text"] for row in map(json.loads, lines)}
    store = (folder / "dev" / "store_ids.txt").read_text().split()
    with (folder / "dev" / "queries.jsonl").open(encoding="utf-8") as lines:
        questions = [json.loads(line) for line in lines]
    documents = tokenize_batch([texts[episode] for episode in store], tokenizer)
    lengths = np.array([len(document) for document in documents])
    norms = k1 * (1 - b + b * lengths / lengths.mean())
    postings = defaultdict(list)
    for row, document in enumerate(documents):
        for token, count in Counter(document).items():
            postings[token].append((row, count))
    found = 0
    asked = tokenize_batch([question["query"] for question in questions], tokenizer)
    for question, tokens in zip(questions, asked, strict=True):
        scores = np.zeros(len(store))
        for token in tokens:
            if posting := postings.get(token):
                rows, counts = np.array(posting).T
                idf = math.log(1 + (len(store) - len(rows) + 0.5) / (len(rows) + 0.5))
                scores[rows] += idf * counts / (counts + norms[rows])
        best = np.argsort(-scores, kind="stable")[:5]
        found += store.index(question["target_episode_id"]) in best
    return 100 * found / len(questions)


def test_code_finds_traces(shared_data: Path) -> None:
    assert recall_at_5(shared_data / "agent_memory", "code") >= 58
    assert recall_at_5(shared_data / "agent_memory", "whitespace") < 30


def test_stemmed_code_finds_more(shared_data: Path) -> None:
    pytest.importorskip("Stemmer", reason="PyStemmer (extra `stem`) is not installed")
    assert recall_at_5(shared_data / "agent_memory", stemmed("code")) >= 63
