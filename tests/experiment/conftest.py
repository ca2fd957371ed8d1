"""A small experiment, really run: two seeds of 24 questions over hash vectors, no model."""

from __future__ import annotations

import random

import pytest
from oracles.small import WORDS, ScriptedGenerator, TextEncoder, small_store

from sqe_fast.engine import Engine
from sqe_fast.experiment.rows import file_of, write_rows
from sqe_fast.methods import METHODS, get_method


def tiny_questions(store, seed, n=24):
    """Return n (query, target) pairs: some words of the target, and one that is not."""
    draw = random.Random(seed)
    targets = draw.sample([episode.id for episode in store], n)
    pairs = []
    for target in targets:
        words = store.get(target).text.split()[2:]
        pairs.append(
            (f"where did the {draw.choice(words)} meet {draw.choice(words)} {draw.choice(WORDS)}?", target)
        )
    return pairs


@pytest.fixture(scope="session")
def tiny_experiment(tmp_path_factory):
    """The root of the experiment: seed42 and seed43, the nine methods."""
    pytest.importorskip("faiss")
    root = tmp_path_factory.mktemp("experiment")
    for seed in (42, 43):
        folder = root / f"seed{seed}"
        encoder = TextEncoder()
        store = small_store(folder / "memory", encoder)
        questions, targets = zip(*tiny_questions(store, seed), strict=True)
        methods = [get_method(name) for name in METHODS]
        methods = [m.changed(threshold=0.75) if m.alias == "sqe" else m for m in methods]
        methods = [m.changed(seed=seed) if m.alias == "random" else m for m in methods]
        engine = Engine(store, encoder, ScriptedGenerator(fail=questions[:1]))
        batches = engine.search_methods(questions, methods, k=10, targets=targets)
        ids = [f"q{i:04d}" for i in range(len(questions))]
        (folder / "results").mkdir()
        for name, batch in batches.items():
            write_rows(
                folder / "results" / file_of(METHODS[name]), batch, ids, targets, seconds=[0.01] * len(ids)
            )
        store.close()
    return root
