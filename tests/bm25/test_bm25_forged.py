"""Files whose checksums are right but whose content is not: refused, never a crash."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sqe_fast.bm25 import BM25Index
from sqe_fast.errors import IndexFileError
from tests.bm25 import corpora
from tests.bm25.index_file import IndexFile


@pytest.fixture
def path(tmp_path):
    return tmp_path / "forged"


@pytest.fixture
def file(path):
    """A file of three blocks, ready to be changed."""
    corpora.build_in_blocks(corpora.zipf_texts(150, seed=5, vocabulary=60), 64).save(path)
    return IndexFile(path.read_bytes())


def refused(path, data, message):
    path.write_bytes(data)
    with pytest.raises(IndexFileError, match=message) as caught:
        BM25Index.load(path, threads=2)
    assert str(path) in str(caught.value)


def test_an_unchanged_file_passes(path, file):
    path.write_bytes(file.bytes())
    assert len(BM25Index.load(path)) == 150


HEADERS = [
    ("k1", math.nan, "k1 must be"),
    ("k1", -1.0, "k1 must be"),
    ("k1", math.inf, "k1 must be"),
    ("b", 1.5, "b must be"),
    ("b", math.nan, "b must be"),
    ("delta", -0.1, "delta must be"),
    ("epsilon", 1e9, "epsilon must be"),
    ("variant", 5, "unknown variant"),
    ("variant", 2**32 - 1, "unknown variant"),
    ("tokenizer", b"x" * 64, "name has no end"),
    ("tokenizer", b"\xff\xfe", "tokenizer's name"),
    ("tokenizer", b"white\nspace", "tokenizer's name"),
    ("tokenizer", b"english", "tokenizer 'english', which is not known"),
    ("tokenizer", b"", "tokenizer '', which is not known"),
    ("n_blocks", 2**64 - 1, "too many blocks|cut off"),
    ("n_blocks", 2**61, "too many blocks|cut off"),
    ("n_blocks", 10**5, "too many blocks|cut off"),
    ("n_blocks", 40, "too many blocks|cut off|checksum"),
    ("version", 0, "version 0"),
    ("magic", b"SQEBM26\n", "not a BM25 index file"),
]


@pytest.mark.parametrize(("name", "value", "message"), HEADERS)
def test_headers(path, file, name, value, message):
    file.header[name] = value
    refused(path, file.bytes(), message)


def test_fewer_blocks_than_the_terms_need_are_still_whole(path, file):
    """A consistent file with fewer blocks is just a smaller index."""
    file.header["n_blocks"] = 2
    file.sections = file.sections[:13]
    path.write_bytes(file.bytes())
    index = BM25Index.load(path)
    assert len(index) == 128
    index.search(["w0 w1 w2"], k=5)


def change(values, at, value):
    values = values.copy()
    values[at] = value
    return values


SECTIONS = {
    "a document out of range": ("postings", lambda v: change(v, 0, v[0] | 0xFFFF)),
    "a code out of range": ("postings", lambda v: change(v, 0, v[0] | np.uint32(0xFFFF0000))),
    "a document twice": ("postings", lambda v: change(v, 1, v[0])),
    "documents descending": ("postings", lambda v: v[::-1].copy()),
    "a posting too few": ("postings", lambda v: v[:-1]),
    "no postings": ("postings", lambda v: v[:0]),
    "starts descending": ("starts", lambda v: change(v, 1, v[2] + 1)),
    "starts past the end": ("starts", lambda v: change(v, 1, 2**32 - 1)),
    "a first start": ("starts", lambda v: change(v, 0, 1)),
    "a last start": ("starts", lambda v: change(v, -1, v[-1] + 1)),
    "an empty list": ("starts", lambda v: change(v, 1, 0)),
    "a start too few": ("starts", lambda v: v[:-1]),
    "no starts": ("starts", lambda v: v[:0]),
    "a term out of range": ("terms", lambda v: change(v, -1, 2**32 - 1)),
    "a term twice": ("terms", lambda v: change(v, 1, v[0])),
    "terms descending": ("terms", lambda v: v[::-1].copy()),
    "a term frequency of 0": ("codes", lambda v: change(v, 0, 0)),
    "a term frequency above the length": ("codes", lambda v: change(v, 0, v[1] + 1)),
    "half a code": ("codes", lambda v: v[:-1]),
    "a length of 0 beside postings": ("codes", lambda v: change(change(v, 1, 0), 0, 0)),
    "no codes": ("codes", lambda v: v[:0]),
    "lengths of 0": ("lengths", lambda v: v * 0),
    "another length": ("lengths", lambda v: change(v, v.argmax(), 2**32 - 1)),
    "no documents": ("lengths", lambda v: v[:0]),
    "too few documents": ("lengths", lambda v: v[:10]),
    "too many documents": ("lengths", lambda v: np.resize(v, 65537)),
    "a slot out of range": ("slots", lambda v: change(v, v.argmax(), v.max() | np.uint64(0xFFFFFFF0))),
    "a slot without a term": ("slots", lambda v: change(v, v.argmax(), v.max() & ~np.uint64(0xFFFFFFFF))),
    "a slot too few": ("slots", lambda v: change(v, v.argmax(), 0)),
    "a slot twice": ("slots", lambda v: change(v, v.argmax(), v[v > 0][0])),
    "slots in another order": ("slots", lambda v: v[::-1].copy()),
    "slots of another hash": ("slots", lambda v: np.where(v > 0, v ^ np.uint64(1 << 40), v)),
    "no free slot": ("slots", lambda v: v[v > 0]),
    "slots of an odd number": ("slots", lambda v: np.append(v, v[:1])),
    "no slots": ("slots", lambda v: v[:0]),
    "offsets descending": ("offsets", lambda v: change(v, 3, v[-1] + 1)),
    "offsets past the end": ("offsets", lambda v: change(v, -1, 2**40)),
    "an offset too few": ("offsets", lambda v: v[:-1]),
    "no offsets": ("offsets", lambda v: v[:0]),
    "a first offset": ("offsets", lambda v: change(v, 0, 1)),
    "fewer term bytes": ("bytes", lambda v: v[:-1]),
    "one term twice": ("bytes", lambda v: np.full_like(v, v[0])),
}


@pytest.mark.parametrize("kind", SECTIONS)
def test_sections(path, file, kind):
    name, forge = SECTIONS[kind]
    file[name] = forge(file[name]).astype(file[name].dtype)
    refused(path, file.bytes(), "the index file is damaged: ")


TABLES = {
    "an offset past the end": lambda row: (2**40, *row[1:]),
    "an offset that overflows": lambda row: (2**64 - 64, *row[1:]),
    "an offset between two units": lambda row: (row[0] + 4, *row[1:]),
    "a size past the end": lambda row: (row[0], 2**40, row[2]),
    "a size that overflows": lambda row: (row[0], 2**64 - row[0] + 8, row[2]),
    "half an element": lambda row: (row[0], row[1] - 1, row[2]),
    "another checksum": lambda row: (*row[:2], row[2] ^ 1),
}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("section", [0, 1, 3, 7])
def test_tables(path, file, kind, section):
    table = IndexFile(file.bytes()).table
    table[section] = TABLES[kind](table[section])
    refused(path, file.bytes(table), "a section")


def test_sections_in_each_others_place(path, file):
    """Whole sections exchanged with their checksums: some number is then out of bounds."""
    table = IndexFile(file.bytes()).table
    for first in range(8):
        for second in range(first + 1, 8):
            swapped = list(table)
            swapped[first], swapped[second] = swapped[second], swapped[first]
            refused(path, file.bytes(swapped), "the index file is damaged: ")


def test_random_numbers_with_right_checksums(path, file):
    """Whatever the numbers are, the file is refused or searched without harm."""
    rng = np.random.default_rng(7)
    loaded = 0
    whole = [section.copy() for section in file.sections]
    for _ in range(400):
        file.sections = [section.copy() for section in whole]
        for _ in range(rng.integers(1, 4)):
            section = file.sections[rng.integers(len(whole))]
            at = rng.integers(len(section))
            limit, bit = np.iinfo(section.dtype).max, section.dtype.type(1)
            numbers = [0, 1, section[at] ^ bit, limit, rng.integers(0, limit, dtype=section.dtype)]
            section[at] = numbers[rng.integers(len(numbers))]
        path.write_bytes(file.bytes())
        try:
            index = BM25Index.load(path)
        except IndexFileError:
            continue
        loaded += 1
        assert np.isfinite(index.score_rows(["w0 w1 w2 w3", "w5"])).all()
        index.search(["w0 w1 w2 w3", "w5"], k=200)
        index.add(["w0 w999"])
        index.delete([0, 5])
    assert loaded < 200
