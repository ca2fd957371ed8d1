"""Running the command line, in this process and as one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("click")
pytest.importorskip("rich")

ROOT = Path(__file__).resolve().parents[2]
NOTES = {
    "n1": "[THOUGHT] the import of yaml fails in [bold]setup[/bold]\n[ACTION] bash: pip install pyyaml",
    "n2": "the retry limit is set in client.py to five attempts",
    "n3": "timeout of the socket raised to thirty seconds after the retry storm",
}


def environment():
    return os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "100", "PYTHONWARNINGS": ""}


@pytest.fixture
def start():
    """Start `sqe-fast` as a process of its own; it is ended with the test."""
    begun = []

    def start(*arguments, **options):
        command = [sys.executable, "-m", "sqe_fast", *map(str, arguments)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
        begun.append(subprocess.Popen(command, env=environment(), **pipes))
        return begun[-1]

    yield start
    for process in begun:
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


@pytest.fixture
def run(capsys):
    """Run `sqe-fast` in this process: (exit code, standard output, standard error)."""
    from sqe_fast.cli import main

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture
def notes(tmp_path):
    """A JSONL file of three episodes."""
    path = tmp_path / "notes.jsonl"
    path.write_text("".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in NOTES.items()))
    return path


@pytest.fixture
def memory(tmp_path, notes, run):
    """A store of them, without vectors."""
    path = tmp_path / "memory"
    assert run("index", path, notes, "--encoder", "none")[0] == 0
    return path


@pytest.fixture
def worded(tmp_path, monkeypatch):
    """A store whose vectors come from a small encoder in place of a model."""
    pytest.importorskip("faiss")
    from oracles.small import TextEncoder, small_store

    from sqe_fast._cli import encoders

    encoder = TextEncoder()
    monkeypatch.setattr(encoders.PinnedEncoder, "_load", lambda _: encoder)
    path = tmp_path / "worded"
    small_store(path, encoder).close()
    return path
