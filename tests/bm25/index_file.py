"""The index file read and written by its description, for tests that damage or forge one."""

from __future__ import annotations

import struct

import numpy as np
import xxhash

HEADER = struct.Struct("<8sII4dQQ64sQ")
FIELDS = ["magic", "version", "variant", "k1", "b", "delta", "epsilon", "file_bytes", "n_blocks", "tokenizer"]
SECTION = struct.Struct("<QQQ")
VOCABULARY = {"slots": np.uint64, "offsets": np.uint64, "bytes": np.uint8}
BLOCK = {
    "lengths": np.uint32,
    "codes": np.uint32,
    "terms": np.uint32,
    "starts": np.uint32,
    "postings": np.uint32,
}


class IndexFile:
    """Header fields by name, and the sections as arrays; `bytes()` puts it together with right checksums."""

    def __init__(self, data):
        *values, self.checksum = HEADER.unpack_from(data)
        self.header = dict(zip(FIELDS, values, strict=True))
        kinds = [*VOCABULARY.values(), *list(BLOCK.values()) * self.header["n_blocks"]]
        self.table = [SECTION.unpack_from(data, HEADER.size + i * SECTION.size) for i in range(len(kinds))]
        self.sections = [
            np.frombuffer(data, kind, size // np.dtype(kind).itemsize, offset).copy()
            for kind, (offset, size, _) in zip(kinds, self.table, strict=True)
        ]

    def index_of(self, name, block=0):
        """Return the number of a section."""
        if name in VOCABULARY:
            return list(VOCABULARY).index(name)
        return len(VOCABULARY) + block * len(BLOCK) + list(BLOCK).index(name)

    def __getitem__(self, name):
        return self.sections[self.index_of(name)]

    def __setitem__(self, name, values):
        self.sections[self.index_of(name)] = values

    def bytes(self, table=None):
        """Return the file; `table` replaces the section table (offset, bytes, checksum)."""
        offset = -(-(HEADER.size + len(self.sections) * SECTION.size) // 64) * 64
        body, rows = b"", []
        for section in self.sections:
            data = section.tobytes()
            rows.append((offset + len(body), len(data), xxhash.xxh64_intdigest(data)))
            body += data + bytes(-len(data) % 64)
        end = rows[-1][0] + rows[-1][1]
        rows = rows if table is None else table
        packed = b"".join(SECTION.pack(*row) for row in rows)
        header = {"file_bytes": end, **{k: v for k, v in self.header.items() if k != "file_bytes"}}
        if self.header["file_bytes"] is None:
            header["file_bytes"] = 0
        values = [header[name] for name in FIELDS]
        checksum = xxhash.xxh64_intdigest(packed, xxhash.xxh64_intdigest(HEADER.pack(*values, 0)))
        start = HEADER.pack(*values, checksum) + packed
        return (start + bytes(offset - len(start)) + body)[:end]
