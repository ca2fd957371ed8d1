"""A tiny model of true architecture, and policies that say written turns in tokens."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # noted.py

pytest.importorskip("torch")
pytest.importorskip("transformers")


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """The folder of a Llama of two layers with random weights, a tokenizer and a chat template."""
    from oracles.tiny import llama_folder

    return llama_folder(tmp_path_factory.mktemp("models") / "llama")


@pytest.fixture(scope="session")
def tokenizer(tiny):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(tiny)
