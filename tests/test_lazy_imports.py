"""Modules that a store or an engine imports must not load torch and its like."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HEAVY = ("torch", "transformers", "faiss", "vllm", "openai", "huggingface_hub", "sklearn")


MODULES = ["encode", "dense", "usage", "expand", "engine", "methods", "gate", "cli"]
MODULES += ["generate", "generate.vllm", "generate.transformers"]
MODULES += ["agent", "agent.rollout", "agent.retrievers", "agent.rewards", "agent.replay"]
MODULES += ["agent.expanding", "agent.qa.run", "agent.qa.report", "agent.qa.page"]


@pytest.mark.parametrize("module", MODULES)
def test_heavy_packages_wait_until_they_are_needed(module):
    code = f"import sys, sqe_fast.{module}; print([m for m in {HEAVY} if m in sys.modules])"
    got = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert got.stdout.strip() == "[]"
