"""One file: what is saved comes back; what is not a whole file of ours is refused by name."""

from __future__ import annotations

import os
import resource
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import xxhash

from sqe_fast import _core
from sqe_fast.bm25 import BM25Index
from sqe_fast.errors import IndexFileError, InvalidInputError, InvalidTypeError
from tests.bm25 import corpora
from tests.bm25.index_file import HEADER, SECTION, IndexFile

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "an index.bm25"


@pytest.mark.parametrize("variant", corpora.VARIANTS)
@pytest.mark.parametrize("block_docs", [64, 65536])
def test_round_trip(variant, block_docs, path):
    texts = corpora.zipf_texts(500, seed=3, vocabulary=200)
    queries = corpora.queries_of(texts, 8, 20)
    index = corpora.build_in_blocks(texts, block_docs, variant=variant, k1=0.9, b=0.4)
    index.save(path)
    for threads in (1, 2, 5):
        loaded = BM25Index.load(path, threads=threads)
        corpora.same_results(index, loaded, queries)
        assert {k: v for k, v in loaded.info.items() if k != "nbytes"} == {
            k: v for k, v in index.info.items() if k != "nbytes"
        }
    loaded.save(path)  # over the file that it is mapped from
    corpora.same_results(index, loaded, queries)
    loaded.add(texts[:40])
    loaded.delete(range(100, 300))
    texts = [text for row, text in enumerate(texts + texts[:40]) if not 100 <= row < 300]
    rebuilt = BM25Index.build(texts, variant=variant, k1=0.9, b=0.4)
    corpora.same_results(loaded, rebuilt, queries)
    loaded.save(path)
    corpora.same_results(BM25Index.load(path), rebuilt, queries)


@pytest.mark.parametrize("texts", [[], [""], ["", "a"], ["a"]])
def test_round_trip_of_next_to_nothing(texts, path):
    BM25Index.build(texts).save(path)
    loaded = BM25Index.load(path)
    corpora.same_results(loaded, BM25Index.build(texts), ["a", "", "b"])
    loaded.add(["a b"])
    corpora.same_results(loaded, BM25Index.build([*texts, "a b"]), ["a", "b"])


def test_an_emptied_index(path):
    index = BM25Index.build(["a b", "c"])
    index.delete([0, 1])
    index.save(path)
    loaded = BM25Index.load(path)
    assert len(loaded) == 0
    loaded.add(["c d"])
    assert loaded.search(["c"], k=1).ids.tolist() == [[0]]


@pytest.mark.parametrize("tokenizer", ["whitespace", "code", "word"])
def test_the_tokenizer_is_part_of_the_file(tokenizer, path):
    BM25Index.build(["fooBar baz"], tokenizer).save(path)
    assert BM25Index.load(path).tokenizer == tokenizer
    assert BM25Index.load(path, tokenizer=tokenizer).tokenizer == tokenizer
    other = "word" if tokenizer == "code" else "code"
    with pytest.raises(InvalidInputError, match=f"^tokenizer: .* was built with {tokenizer}; got {other}"):
        BM25Index.load(path, tokenizer=other)
    with pytest.raises(InvalidInputError, match=r"^tokenizer: .*; got <tokens>"):
        BM25Index.load(path, tokenizer=None)
    with pytest.raises(InvalidInputError, match=r"^tokenizer must be one of"):
        BM25Index.load(path, tokenizer="english")
    with pytest.raises(InvalidTypeError, match=r"^tokenizer must be one of"):
        BM25Index.load(path, tokenizer=3)


def test_a_callable_is_given_again(path):
    BM25Index.build(["a b"], str.split).save(path)
    with pytest.raises(InvalidInputError, match="was built with a Python callable; pass it to load again"):
        BM25Index.load(path)
    assert BM25Index.load(path, tokenizer=str.split).search(["b"], k=1).ids.tolist() == [[0]]


def test_ready_tokens_stay_ready_tokens(path):
    BM25Index.build([["a b", "c"]], None).save(path)
    for loaded in (BM25Index.load(path), BM25Index.load(path, tokenizer=None)):
        assert loaded.search([["a b"]], k=1).ids.tolist() == [[0]]


def test_checksums_are_those_of_xxhash(path):
    """Sections of every length modulo 32, the empty one included, and the chained header checksum."""
    for n in range(1, 40):
        BM25Index.build([" ".join(f"{'x' * i}" for i in range(1, n + 1)), "y" * n]).save(path)
        data = path.read_bytes()
        file = IndexFile(data)
        for offset, size, checksum in file.table:
            assert xxhash.xxh64_intdigest(data[offset : offset + size]) == checksum
        assert file.bytes() == data
    BM25Index.build([]).save(path)
    assert IndexFile(path.read_bytes()).bytes() == path.read_bytes()


def test_a_mapped_file_may_be_replaced(path):
    texts = corpora.zipf_texts(300, seed=4, vocabulary=100)
    queries = corpora.queries_of(texts, 8, 10)
    first = BM25Index.build(texts)
    first.save(path)
    mapped = BM25Index.load(path)
    for number in range(5):
        BM25Index.build([f"other {number}"] * (number + 1)).save(path)
        corpora.same_results(mapped, first, queries)
    assert len(BM25Index.load(path)) == 5
    path.unlink()
    corpora.same_results(mapped, first, queries)


def test_saves_from_several_threads_leave_one_whole_file(path):
    indices = [corpora.build_in_blocks([f"a w{n}"] * n, 65536) for n in range(1, 9)]
    mask = os.umask(0o027)
    try:

        def save(index):
            for _ in range(20):
                index.save(path)
                assert 1 <= len(BM25Index.load(path, threads=1)) <= 8

        savers = [threading.Thread(target=save, args=(index,)) for index in indices]
        for saver in savers:
            saver.start()
        for saver in savers:
            saver.join()
        assert os.umask(0o027) == 0o027  # the process's own mask is as it was
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        assert os.listdir(path.parent) == [path.name]
    finally:
        os.umask(mask)


def refused(path):
    with pytest.raises(IndexFileError) as caught:
        BM25Index.load(path)
    assert os.fspath(path) in str(caught.value)
    return str(caught.value)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of a file of several blocks."""
    path = tmp_path_factory.mktemp("whole") / "index"
    corpora.build_in_blocks(corpora.zipf_texts(150, seed=5, vocabulary=60), 64).save(path)
    return path.read_bytes()


def test_every_byte_counts(whole, path):
    """A flipped bit anywhere in the file is noticed, in the space between sections too."""
    rng = np.random.default_rng(0)
    for place in [*range(HEADER.size), *rng.integers(0, len(whole), 600)]:
        data = bytearray(whole)
        data[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(data)
        refused(path)


def test_every_cut_is_noticed(whole, path):
    for length in [
        0,
        1,
        7,
        8,
        100,
        *range(130, 145),
        *np.random.default_rng(1).integers(145, len(whole), 200),
    ]:
        path.write_bytes(whole[: int(length)])
        refused(path)
    path.write_bytes(whole[:-1])
    assert "size" in refused(path)
    path.write_bytes(whole + b"\0")
    assert "size" in refused(path)


def test_two_damages_of_one_kind_do_not_cancel(whole, path):
    """Equal parts of the file swapped, and one section put in the place of another."""
    file = IndexFile(whole)
    for first in range(len(file.table)):
        for second in range(first + 1, len(file.table)):
            table = list(file.table)
            if whole[slice(table[first][0], sum(table[first][:2]))] == b"":
                continue
            table[first], table[second] = table[second], table[first]
            data = bytearray(whole)
            for number, row in enumerate(table):
                SECTION.pack_into(data, HEADER.size + number * SECTION.size, *row)
            path.write_bytes(data)
            assert "checksum" in refused(path)


def test_foreign_files(path, tmp_path):
    path.write_bytes(b"")
    assert "empty" in refused(path)
    path.write_text("a text file\n" * 100)
    assert "not a BM25 index file" in refused(path)
    np.savez(tmp_path / "arrays.npz", np.zeros(100))
    assert "not a BM25 index file" in refused(tmp_path / "arrays.npz")
    path.write_bytes(b"SQEBM25\n")
    assert "not a BM25 index file" in refused(path)
    assert "not a regular file" in refused(tmp_path)
    assert "No such file" in refused(tmp_path / "missing")
    assert "Not a directory" in refused(path / "below a file")
    assert "not a regular file" in refused("/dev/null")
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in refused(tmp_path / "pipe")  # and nobody waits for a writer
    if os.geteuid() != 0:
        path.chmod(0)
        assert "Permission denied" in refused(path)


def test_another_version_is_named(whole, path):
    file = IndexFile(whole)
    file.header["version"] = 2
    path.write_bytes(file.bytes())
    assert "version 2, this build reads version 1" in refused(path)


NAMES = ["ein Übel", "索引", "a\nb", "🙂", "x" * 255, b"\xff\xfe raw".decode("utf-8", "surrogateescape")]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_any_file_name(name, tmp_path):
    for given in (tmp_path / name, str(tmp_path / name), os.fsencode(tmp_path / name)):
        BM25Index.build(["a b", "c"]).save(given)
        assert len(BM25Index.load(given)) == 2
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("path", ["", b"", "a\0b", b"\0", "/tmp/\ud800"])
@pytest.mark.parametrize("call", [BM25Index.load, BM25Index.build(["a"]).save])
def test_what_is_no_file_name(call, path):
    with pytest.raises(InvalidInputError, match=r"^path must be a file name"):
        call(path)


@pytest.mark.parametrize("path", [None, 3, 1.5, ["a"], object()])
@pytest.mark.parametrize("call", [BM25Index.load, BM25Index.build(["a"]).save])
def test_what_is_no_path(call, path):
    with pytest.raises(InvalidTypeError, match=r"^path must be a str or os.PathLike"):
        call(path)


def test_places_that_cannot_be_written(tmp_path):
    index = BM25Index.build(["a"])
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    for place, reason in {
        "missing/index": "No such file",
        "file/index": "Not a directory",
        "folder": "directory",
        "y" * 300: "File name too long",
    }.items():
        with pytest.raises(IndexFileError, match=reason) as caught:
            index.save(tmp_path / place)
        assert str(tmp_path / place) in str(caught.value)
    with pytest.raises(IndexFileError, match="/proc/index"):
        index.save("/proc/index")
    if os.geteuid() != 0:
        (tmp_path / "folder").chmod(0o500)
        with pytest.raises(IndexFileError, match="Permission denied"):
            index.save(tmp_path / "folder" / "index")
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]
    assert os.listdir(tmp_path / "folder") == []


def test_a_full_disk_leaves_the_old_file(path):
    index = BM25Index.build(corpora.zipf_texts(2000, seed=6))
    BM25Index.build(["old"]).save(path)
    before = path.read_bytes()
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    for limit in (0, 100, 4096, 100_000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, old[1]))
        try:
            with pytest.raises(IndexFileError, match="cannot be written: File too large"):
                index.save(path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, old)
        assert path.read_bytes() == before
        assert os.listdir(path.parent) == [path.name]
    index.save(path)
    assert len(BM25Index.load(path)) == 2000


LOCALE_SCRIPT = """
import locale, os, sys
from sqe_fast.bm25 import BM25Index
from sqe_fast.errors import InvalidInputError
texts = ["gr\\u00f6\\u00dfe \\u7d22\\u5f15", "na\\u00efve \\U0001f642", "\\ud800 lone"]
index = BM25Index.build(texts, variant="lucene")
index.save("plain")
loaded = BM25Index.load("plain")
hits = loaded.search(["GR\\u00d6\\u00dfE", "\\U0001f642", "\\ud800", "\\u7d22\\u5f15"], k=1)
assert hits.ids.ravel().tolist() == [0, 1, 2, 0], hits
name = "\\u7d22\\u5f15"
try:
    index.save(name)
    assert len(BM25Index.load(name)) == 3
except InvalidInputError as error:
    assert "path must be a file name" in str(error)
    assert sys.getfilesystemencoding() != "utf-8"
print(sys.getfilesystemencoding(), locale.getpreferredencoding(False))
"""


def test_other_locales(tmp_path):
    """Texts, vocabulary and file names under an ASCII locale."""
    answers = []
    for settings in ({"PYTHONCOERCECLOCALE": "0"}, {}, {"PYTHONUTF8": "1"}):
        environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG"))},
            "LC_ALL": "C",
            "PYTHONUTF8": "0",
            "PYTHONPATH": str(ROOT),
            **settings,
        }
        done = subprocess.run(
            [sys.executable, "-c", LOCALE_SCRIPT],
            env=environment,
            cwd=tmp_path,
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        answers.append(done.stdout.split()[0])
    assert answers[0] == "ascii"


def test_hard_vocabulary_comes_back(path):
    texts = ["größe 索引 🙂", "\ud800 \udfff x", "nul\0in", "a" * 70_000 + " b", "éa ÉA e\u0301"]
    index = BM25Index.build(texts, variant="lucene")
    index.save(path)
    corpora.same_results(BM25Index.load(path), index, [*texts, "nul", "🙂", "\udfff"])
    assert BM25Index.load(path).document_frequencies(["🙂", "\udfff", "nul\0in", "éa"]).tolist() == [
        1,
        1,
        1,
        1,
    ]


def test_the_core_takes_the_bytes_of_a_name(path):
    core = BM25Index.build(["a"])._core
    core.save(os.fsencode(path))
    assert _core.Bm25Index.load(os.fsencode(path), 1).info()["n_docs"] == 1
