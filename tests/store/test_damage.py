"""What a crash, a bad disk or a full one can do to a store, and what the store does about it."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess

import numpy as np
import pytest
from oracles.standins import HashEncoder

from sqe_fast._store.index import Index
from sqe_fast._store.truth import Truth
from sqe_fast.errors import IndexFileError, StoreError
from sqe_fast.store import MemoryStore

TEXTS = {f"id{n}": f"text {n} " * 5 for n in range(30)}
FILES = ("bm25.bin", "vectors.f16", "rows.i64", "meta.json")


@pytest.fixture
def path(tmp_path):
    """A closed store of two generations."""
    path = tmp_path / "m"
    with MemoryStore.create(path, encoder=HashEncoder()) as store:
        store.add([{"id": one, "text": text} for one, text in TEXTS.items()])
        store.commit()
    return path


def current(path):
    return path / "index" / (path / "CURRENT").read_text().strip()


def flip(file):
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0x10
    file.write_bytes(data)


def cut(file):
    file.write_bytes(file.read_bytes()[:-3])


def check_sound(store):
    encoder = HashEncoder()
    assert store.texts(range(len(TEXTS))) == list(TEXTS.values())
    assert len(store.bm25) == len(TEXTS)
    for row, text in enumerate(TEXTS.values()):
        assert np.array_equal(store.vectors[row], encoder.vector(text).astype(np.float16))
    report = store.verify()
    assert report.ok
    assert report.problems == ()


@pytest.mark.parametrize(
    "harm", [cut, os.unlink, lambda file: file.write_bytes(b"")], ids=["cut", "gone", "empty"]
)
@pytest.mark.parametrize("name", FILES)
def test_a_torn_index_is_rebuilt_when_a_writer_opens(path, name, harm):
    harm(current(path) / name)
    encoder = HashEncoder()
    with MemoryStore.open(path, encoder=encoder) as store:
        check_sound(store)
    # Vectors that are sound are taken over; only what was lost is made again.
    assert len(encoder.encoded) == (0 if name in ("bm25.bin",) else len(TEXTS))


@pytest.mark.parametrize("name", FILES)
def test_a_flipped_bit_is_found_and_repaired(path, name):
    flip(current(path) / name)
    encoder = HashEncoder()
    if name == "meta.json":  # read at once
        with MemoryStore.open(path, encoder=encoder) as store:
            check_sound(store)
        return
    with MemoryStore.open(path, read_only=True) as reader:
        report = reader.verify()  # a reader checks and repairs nothing
        assert (report.ok, report.repaired) == (False, ())
        assert any(name in problem for problem in report.problems)
    with MemoryStore.open(path, encoder=encoder) as store:
        report = store.verify(repair=False)
        assert (report.ok, report.repaired) == (False, ())
        report = store.verify()
        assert report.ok
        assert any(name in problem for problem in report.problems)
        assert any("built generation" in what for what in report.repaired)
        check_sound(store)
        assert len(encoder.encoded) == (0 if name == "bm25.bin" else len(TEXTS))


@pytest.mark.parametrize("name", FILES[:3])
def test_a_commit_does_not_copy_damage_into_files_that_look_sound(path, name):
    flip(current(path) / name)
    with MemoryStore.open(path, encoder=HashEncoder()) as store:
        store.add([{"id": "new", "text": "new"}])
        store.commit()
        store.delete(["new"])
        store.commit()
        check_sound(store)


def test_vectors_lost_without_an_encoder_are_an_error_that_says_so(path):
    cut(current(path) / "vectors.f16")
    with pytest.raises(StoreError, match=r"30 texts have no vector.*encoder="):
        MemoryStore.open(path)
    with MemoryStore.open(path, encoder=HashEncoder()) as store:
        check_sound(store)
    flip(current(path) / "vectors.f16")
    with MemoryStore.open(path) as store:
        report = store.verify()
        assert not report.ok
        assert any("encoder=" in problem for problem in report.problems)
        assert len(store) == 30


def test_vectors_are_salvaged_from_the_generation_before(path):
    with MemoryStore.open(path, encoder=HashEncoder()) as store:
        store.add([{"id": "new", "text": "new"}])
        store.commit()
        store.delete(["new"])
    cut(current(path) / "vectors.f16")
    encoder = HashEncoder()
    with MemoryStore.open(path, encoder=encoder) as store:
        check_sound(store)
    assert encoder.encoded == []


@pytest.mark.parametrize("content", [None, b"", b"rubbish\n", b"\xff\xfe", b"99999999\n"])
def test_a_lost_current_is_rebuilt(path, content):
    (path / "CURRENT").unlink()
    if content is not None:
        (path / "CURRENT").write_bytes(content)
    with (
        pytest.warns(RuntimeWarning, match="is torn; reading generation"),
        MemoryStore.open(path, read_only=True) as r,
    ):
        assert len(r) == len(TEXTS)
    encoder = HashEncoder()
    with MemoryStore.open(path, encoder=encoder) as store:
        check_sound(store)
    assert encoder.encoded == []


def test_a_reader_falls_back_to_the_generation_before_and_says_so(path):
    with MemoryStore.open(path, encoder=HashEncoder()) as store:
        store.add([{"id": "new", "text": "new"}])
        store.delete(["id0"])
        store.commit()
    cut(current(path) / "bm25.bin")
    with pytest.warns(RuntimeWarning, match="is torn"):
        reader = MemoryStore.open(path, read_only=True)
    with reader:
        assert reader.texts(range(len(TEXTS))) == list(TEXTS.values())  # also what is deleted since
        assert reader.rows(["new", "id0"]).tolist() == [-1, 0]
        assert len(reader) == len(list(reader)) == len(TEXTS)
        assert reader.get("id0").text == TEXTS["id0"]


def test_a_reader_without_any_whole_generation_is_told_what_to_do(path):
    for folder in (path / "index").iterdir():
        (folder / "meta.json").unlink()
    with pytest.raises(IndexFileError, match="no whole index: open it for writing"):
        MemoryStore.open(path, read_only=True)


def test_verify_reports_damage_in_the_truth(path):
    data = bytearray((path / "episodes.sqlite").read_bytes())
    data[4096 * 3 : 4096 * 4] = b"\xa5" * 4096
    (path / "episodes.sqlite").write_bytes(data)
    with MemoryStore.open(path, encoder=HashEncoder()) as store:
        report = store.verify()
        assert not report.ok
        assert report.repaired == ()
        assert any("episodes.sqlite" in problem for problem in report.problems)


def test_leftovers_of_a_killed_commit_are_removed(path):
    index = path / "index"
    (index / ".building-00000009").mkdir()
    (index / ".building-00000009" / "bm25.bin").write_bytes(b"half")
    (index / "00000077").mkdir()  # a removal cut short: meta.json goes first
    (index / "00000077" / "vectors.f16").write_bytes(b"rest")
    with MemoryStore.open(path, encoder=HashEncoder()) as store:
        assert store.verify().ok
        store.add([{"id": "new", "text": "new"}])
        store.commit()
        assert len(list(index.iterdir())) == 2


def test_a_damaged_older_generation_is_removed(path):
    with MemoryStore.open(path, encoder=HashEncoder()) as store:
        old = min((path / "index").iterdir())
        flip(old / "meta.json")
        report = store.verify()
        assert report.ok
        assert report.repaired == (f"removed {old}",)
        assert store.verify().problems == ()
        assert not old.exists()


@contextlib.contextmanager
def file_limit(size):
    """Let no file of this process grow beyond `size`: writes then fail as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_files_that_cannot_grow_lose_nothing(path):
    big = [{"id": f"big{n}", "text": " ".join(f"w{n}x{i}" for i in range(5_000))} for n in range(20)]
    with MemoryStore.open(path, encoder=HashEncoder()) as store:
        with file_limit(64 * 1024), pytest.raises(StoreError, match="what was confirmed before is kept"):
            store.add(big)
        assert len(store) == len(TEXTS)
        check_sound(store)
        store.add(big)
        with (
            file_limit(64 * 1024),
            pytest.raises(StoreError, match="the episodes are safe and the last index stands"),
        ):
            store.commit()
        assert len(store.snapshot) == len(TEXTS)
        assert len(list((path / "index").glob(".building*"))) == 0
        store.commit()
        assert len(store.snapshot) == len(TEXTS) + 20
        assert store.verify().ok


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 3 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("mounting a small file system needs rights that this process lacks")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_loses_nothing(small_disk):
    path = small_disk / "m"
    with MemoryStore.create(path, encoder=HashEncoder()) as store:
        store.add([{"id": one, "text": text} for one, text in TEXTS.items()])
        store.commit()
        big = [{"id": f"big{n}", "text": f"{n} " * 20_000} for n in range(1000)]
        with pytest.raises(StoreError, match="what was confirmed before is kept"):
            store.add(big)
        assert len(store) == len(TEXTS)
        kept = 0
        with contextlib.suppress(StoreError):
            for one in big:
                store.add([one])
                kept += 1
        assert 5 < kept < 1000
        with pytest.raises(StoreError, match="the episodes are safe"):
            store.commit()
        with MemoryStore.open(path, read_only=True) as reader:
            check_sound(reader)
        assert len(store) == len(TEXTS) + kept
    with MemoryStore.open(path, encoder=HashEncoder()) as store:  # a full disk does not keep it from opening
        assert len(store) == len(TEXTS) + kept
        assert store.get("big0").text == "0 " * 20_000
        subprocess.run(["mount", "-o", "remount,size=40m", str(small_disk)], check=True)
        store.commit()
        assert len(store.snapshot) == len(TEXTS) + kept
        assert store.verify().ok


@pytest.fixture
def read_only_disk(path):
    """The store on a medium that cannot be written; root is held back by a mount only."""
    if subprocess.run(["mount", "--bind", str(path), str(path)], capture_output=True, check=False).returncode:
        pytest.skip("a read-only mount needs rights that this process lacks")
    subprocess.run(["mount", "-o", "remount,ro,bind", str(path)], check=True)
    yield path
    subprocess.run(["umount", "-l", str(path)], check=True)


def test_a_read_only_medium_can_be_read_and_says_what_cannot_be_done(read_only_disk):
    with MemoryStore.open(read_only_disk, read_only=True) as reader:
        check_sound(reader)
        assert list(reader.texts([3])) == [TEXTS["id3"]]
    with pytest.raises(StoreError, match="for writing: Read-only file system; read_only=True may do"):
        MemoryStore.open(read_only_disk)


def test_a_folder_that_turns_read_only_under_a_writer_is_a_clear_error(path):
    with MemoryStore.open(path, encoder=HashEncoder()) as store:
        if subprocess.run(
            ["mount", "--bind", str(path), str(path)], capture_output=True, check=False
        ).returncode:
            pytest.skip("a read-only mount needs rights that this process lacks")
        subprocess.run(["umount", "-l", str(path)], check=True)
        store.add([{"id": "new", "text": "new"}])
        index = path / "index"
        subprocess.run(["mount", "--bind", str(index), str(index)], check=True)
        subprocess.run(["mount", "-o", "remount,ro,bind", str(index)], check=True)
        try:
            with pytest.raises(StoreError, match=r"cannot write the index.*Read-only file system"):
                store.commit()
            assert store.texts([0]) == [TEXTS["id0"]]
        finally:
            subprocess.run(["umount", "-l", str(index)], check=True)
        store.commit()
        assert store.rows(["new"]).tolist() == [len(TEXTS)]
        assert len(Index(path, {}).numbers()) == 2


def test_housekeeping_that_fails_does_not_fail_a_commit(path, monkeypatch):
    def full(self, change):
        raise StoreError("database or disk is full")

    monkeypatch.setattr(Truth, "purge", full)
    with MemoryStore.open(path, encoder=HashEncoder()) as store:
        store.delete(["id0"])
        store.commit()
        assert len(store.snapshot) == len(TEXTS) - 1
    monkeypatch.undo()
    with MemoryStore.open(path, encoder=HashEncoder()) as store:
        assert store.verify().ok
