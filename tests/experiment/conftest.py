"""A small experiment, really prepared and run: two seeds of 24 questions over hash vectors, no model."""

from __future__ import annotations

import json

import pytest
from oracles.small import ScriptedGenerator, TextEncoder
from oracles.steps import PROTOCOL, SETTINGS, Asker, write_steps

from sqe_fast.experiment.prepare import prepare
from sqe_fast.experiment.run import run
from sqe_fast.experiment.trajectories import Source


@pytest.fixture(scope="session")
def steps(tmp_path_factory):
    """A file of 300 episodes."""
    return write_steps(tmp_path_factory.mktemp("steps") / "steps.jsonl")


@pytest.fixture(scope="session")
def tiny_prepared(tmp_path_factory, steps):
    """The root of seed42 and seed43, prepared; treat it as read-only."""
    root = tmp_path_factory.mktemp("prepared")
    prepare(root, [42, 43], Source((str(steps),)), TextEncoder(), Asker(), protocol=PROTOCOL)
    return root


@pytest.fixture(scope="session")
def tiny_experiment(tmp_path_factory, steps):
    """The root of seed42 and seed43, nine methods each, one question's expansion failed; read-only."""
    pytest.importorskip("faiss")
    root = tmp_path_factory.mktemp("experiment")
    prepare(root, [42, 43], Source((str(steps),)), TextEncoder(), Asker(), protocol=PROTOCOL)
    first = json.loads((root / "seed42" / "questions.jsonl").read_text().split("\n")[0])["query"]
    run(root, TextEncoder(), ScriptedGenerator(fail={first}), settings=SETTINGS, chunk=10)
    return root
