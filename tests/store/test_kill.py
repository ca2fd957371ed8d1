"""kill -9 at random moments of add, delete, replace, commit and opening."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def run_driver(folder, rounds, seed):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parents[1]), *sys.path])}
    done = subprocess.run(
        [sys.executable, str(HERE / "kill_driver.py"), str(folder), str(rounds), str(seed)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_a_few_kills_lose_nothing(tmp_path):
    assert run_driver(tmp_path / "m", 12, 1)["kills"] == 12


def test_a_kill_before_each_step_of_a_commit_loses_nothing(tmp_path):
    # Files and folders made durable, renamed, CURRENT replaced, an old generation removed: at least that
    # many.
    assert run_driver(tmp_path / "m", "points", 0)["kills"] >= 15


@pytest.mark.slow
def test_hundreds_of_kills_lose_nothing(tmp_path):
    tally = run_driver(tmp_path / "m", 240, 2026)
    assert tally["kills"] == 240
    # The kills must have hit what they are for, or the test shows nothing.
    assert tally["in_add"] >= 10
    assert tally["in_commit"] >= 10
    assert tally["confirmed"] >= 100
