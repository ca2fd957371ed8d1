"""The cache file: round trip, several processes at once, what it refuses."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from sqe_fast.errors import InvalidInputError
from sqe_fast.expansion.cache import ExpansionCache, cache_key
from sqe_fast.generate import Generation, Request

ROOT = Path(__file__).resolve().parents[1]

WRITER = """
import sys
from sqe_fast.expansion.cache import ExpansionCache
from sqe_fast.generate import Generation
cache = ExpansionCache(sys.argv[1])
for i in range(150):
    key = (i if i % 2 else (i + 1000) * 1000 + int(sys.argv[2])).to_bytes(32, "big")
    cache.put({key: Generation((f"text {i}",), 1, 0, 2, ("stop",))})
cache.close()
"""


def test_round_trip(tmp_path):
    cache = ExpansionCache(tmp_path / "c.sqlite")
    whole = Generation(("a\ud800", "日本"), 5, 3, 4, ("stop", "length"), 2, True, True, seconds=0.25)
    keys = [bytes([i]) * 32 for i in range(3)]
    cache.put({keys[0]: whole, keys[1]: Generation.failed("no")})
    cache.put([(keys[0], Generation(("later",)))])  # the first answer stays
    got = cache.get(keys)
    assert list(got) == [keys[0]]
    assert got[keys[0]] == Generation(
        whole.texts, 5, 3, 4, whole.finish_reasons, calls=2, estimated=True, verbatim=True, seconds=0.25
    )
    cache.close()
    again = ExpansionCache(tmp_path / "c.sqlite")
    assert again.get(keys) == got
    assert again.get([]) == {}
    again.close()


def test_a_file_of_the_first_version_is_read(tmp_path):
    cache = ExpansionCache(tmp_path / "c.sqlite")
    with sqlite3.connect(cache.path) as db:
        old = json.dumps([["text"], ["stop"], [5, 3, 4], False, True])
        db.execute("INSERT INTO generations VALUES (?, ?)", (b"k", old))
    db.close()
    assert cache.get([b"k"]) == {b"k": Generation(("text",), 5, 3, 4, ("stop",), 1, False, True)}
    cache.close()


def test_more_keys_than_one_statement_takes(tmp_path):
    cache = ExpansionCache(tmp_path / "c.sqlite")
    made = {i.to_bytes(32, "big"): Generation((str(i),)) for i in range(1300)}
    cache.put(made)
    assert {key: value.texts for key, value in cache.get(list(made)).items()} == {
        key: value.texts for key, value in made.items()
    }
    cache.close()


def test_two_processes_write_at_once(tmp_path):
    path = tmp_path / "c.sqlite"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(i)], cwd=ROOT, stderr=subprocess.PIPE)
        for i in (1, 2)
    ]
    for writer in writers:
        _, errors = writer.communicate(timeout=60)
        assert writer.returncode == 0, errors.decode()
    cache = ExpansionCache(path)
    assert len(cache) == 75 + 2 * 75  # the odd ones are the same in both
    cache.close()


def test_keys_tell_apart_what_decides_an_answer():
    base = {"kind": "traces", "n": 2, "temperature": 0.8, "max_new_tokens": 9, "seed": None}
    keys = {cache_key("g", "1", Request.of("p", **base))}
    for change in (
        {"kind": "x"},
        {"n": 3},
        {"temperature": 0.5},
        {"max_new_tokens": 8},
        {"seed": 0},
        {"stop": ("a",)},
        {"prefill": "a"},
    ):
        keys.add(cache_key("g", "1", Request.of("p", **(base | change))))
    keys |= {cache_key("g", "2", Request.of("p", **base)), cache_key("h", "1", Request.of("p", **base))}
    keys.add(cache_key("g", "1", Request.of("q", **base)))
    assert len(keys) == 11
    assert cache_key("g", "1", Request.of("p", **(base | {"temperature": 1}))) == cache_key(
        "g", "1", Request.of("p", **(base | {"temperature": 1.0}))
    )


def test_a_file_that_is_no_cache_is_refused(tmp_path):
    (tmp_path / "text").write_text("not a database, but long enough to be looked at as one" * 50)
    with pytest.raises(InvalidInputError, match="cannot open the expansion cache"):
        ExpansionCache(tmp_path / "text")
    with pytest.raises(InvalidInputError, match="cannot open"):
        ExpansionCache(tmp_path / "text" / "below")
