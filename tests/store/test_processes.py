"""One writer and many readers, in several processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from oracles.standins import HashEncoder

from sqe_fast._store.index import Index
from sqe_fast.errors import StoreLockedError
from sqe_fast.store import MemoryStore

TESTS = Path(__file__).parents[1]

PRELUDE = """
import sys, time, warnings
warnings.simplefilter("error")
from oracles.standins import HashEncoder
from sqe_fast.store import MemoryStore
path = sys.argv[1]
"""

HOLDER = """
store = MemoryStore.open(path, encoder=HashEncoder())
print("held", flush=True)
time.sleep(60)
"""

# Every generation holds whole groups of ten, and each group's texts carry its number.
READER = """
store = MemoryStore.open(path, read_only=True)
seen = set()
end = time.monotonic() + 60  # something is broken if this is reached
while len(seen) < int(sys.argv[2]) and time.monotonic() < end:
    store.refresh()
    rows = range(len(store))
    texts = store.texts(rows)
    assert len(texts) % 10 == 0, len(texts)
    assert len(store.vectors) == len(store.bm25) == len(store) == len(texts)
    assert store.rows(store.ids(rows)).tolist() == list(rows)
    groups = [text.split()[1] for text in texts]
    assert all(len(set(groups[n:n + 10])) == 1 for n in range(0, len(groups), 10))
    seen.add(store.snapshot.generation)
print(len(seen))
"""


def start(code, *arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS.parent), str(TESTS), *sys.path])}
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def group(number):
    return [{"id": f"g{number}-{n}", "text": f"group {number} step {n}"} for n in range(10)]


def test_a_second_writer_is_told_who_holds_the_store_and_death_frees_it(tmp_path, store):
    path = tmp_path / "memory"
    with pytest.raises(StoreLockedError, match="open for writing in this process"):
        MemoryStore.open(path)
    store.close()
    holder = start(HOLDER, path)
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(
            StoreLockedError, match=f"open for writing in process {holder.pid}; one writer at a time"
        ):
            MemoryStore.open(path)
        with MemoryStore.open(path, read_only=True) as reader:
            assert len(reader) == 0
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        MemoryStore.open(path).close()
    finally:
        holder.kill()
        holder.communicate()


def test_readers_see_whole_generations_while_a_writer_works(tmp_path, store):
    store.add(group(0))
    store.commit()
    readers = [start(READER, tmp_path / "memory", 40) for _ in range(2)]
    number, present = 0, [0]
    while any(reader.poll() is None for reader in readers):
        number += 1
        store.add(group(number))
        present.append(number)
        if len(present) > 8:
            gone = present.pop(number % len(present))
            store.delete([one["id"] for one in group(gone)])
        store.commit()
    for reader in readers:
        out, err = reader.communicate(timeout=60)
        assert reader.returncode == 0, err
        assert int(out) == 40  # it did see generations pass
    assert store.verify().ok
    assert len(Index(tmp_path / "memory", {}).numbers()) <= 2


def test_a_reader_keeps_its_generation_until_it_refreshes(tmp_path, store):
    store.add(group(1))
    store.commit()
    path = tmp_path / "memory"
    with MemoryStore.open(path, read_only=True) as reader:
        held, vectors = reader.snapshot.generation, np.array(reader.vectors)
        store.delete([one["id"] for one in group(1)[:5]])
        for number in range(2, 7):
            store.add(group(number))
            store.commit()
        # Far behind, and yet everything it shows is there: texts that are deleted since, vectors, the index.
        assert reader.texts(range(10)) == [one["text"] for one in group(1)]
        assert reader.get("g1-0").text == "group 1 step 0"
        assert np.array_equal(reader.vectors, vectors)
        assert len(reader.bm25) == len(reader) == 10
        assert held in Index(path, {}).numbers()
        assert reader.refresh()
        assert not reader.refresh()
        assert len(reader) == 55
        assert "g1-0" not in reader
    store.add(group(9))
    store.commit()
    assert held not in Index(path, {}).numbers()


def test_a_snapshot_of_the_writer_outlives_its_commits(store):
    store.add(group(1))
    store.commit()
    snapshot = store.snapshot
    store.delete(snapshot.ids(range(5)))
    for number in range(2, 6):
        store.add(group(number))
        store.commit()
    assert snapshot.texts(range(10)) == [one["text"] for one in group(1)]
    assert snapshot.rows(["g1-0", "g5-0"]).tolist() == [0, -1]
    assert store.rows(["g1-0", "g5-0"]).tolist() == [-1, 35]


def test_mapped_vectors_outlive_their_files(tmp_path, store):
    store.add(group(1))
    store.commit()
    vectors, expected = store.vectors, np.array(store.vectors)
    for number in range(2, 6):
        store.add(group(number))
        store.commit()
    assert len(Index(tmp_path / "memory", {}).numbers()) == 2
    assert np.array_equal(vectors, expected)
    assert isinstance(vectors[0, 0], np.float16)
    assert HashEncoder().vector("group 1 step 0").astype(np.float16)[0] == vectors[0, 0]
