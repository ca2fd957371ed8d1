"""One generation of a store's index: its files, and reading them.

A generation is a folder of `bm25.bin`, `vectors.f16` (float16[n, dim], C order, no header; absent in a store
without an encoder), `rows.i64` (int64[n]: the truth's number of each row) and `meta.json`, which pins the
settings, the moment, and the size and SHA-256 of the others.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqe_fast._store.files import sha256_of
from sqe_fast._store.locks import Pin
from sqe_fast._store.truth import Moment, Truth
from sqe_fast.bm25 import BM25Index
from sqe_fast.errors import IndexFileError

__all__ = ["BM25", "META", "ROWS", "VECTORS", "Generation", "write_meta"]

FORMAT = 1
META, BM25, VECTORS, ROWS = "meta.json", "bm25.bin", "vectors.f16", "rows.i64"


class Generation:
    """A generation, opened for reading and pinned: it is not removed while this object lives.

    Parameters
    ----------
    folder : Path
        Its folder.
    salvage : bool
        Take one that is not whole too, for the files that may still be sound (`fault` tells which).

    Raises
    ------
    IndexFileError
        Its meta.json is damaged, or a file is missing or of another size (contents are `damage`'s to check).
    FileNotFoundError
        It is not there (any more).
    """

    def __init__(self, folder: Path, *, salvage: bool = False) -> None:
        self.folder = folder
        self._pin = Pin(folder / META)
        self.meta = _read_meta(folder / META)
        self.number = int(folder.name)
        self.moment = Moment(self.meta["change"], self.meta["last"])
        self.settings: dict[str, Any] = self.meta["settings"]
        self.count: int = self.meta["rows"]
        torn = {name: fault for name in self.meta["files"] if (fault := self._size_fault(name))}
        if torn and not salvage:
            raise IndexFileError(next(iter(torn.values())))
        encoder = self.settings["encoder"]
        self.rows: NDArray[np.int64] = (
            np.empty(0, np.int64) if ROWS in torn else _mapped(folder / ROWS, np.int64, (self.count,))
        )
        self.vectors: NDArray[np.float16] | None = (
            _mapped(folder / VECTORS, np.float16, (self.count, encoder["dim"]))
            if encoder and VECTORS not in torn
            else None
        )

    @cached_property
    def bm25(self) -> BM25Index:
        """The BM25 index, loaded when first asked for; treat it as read-only."""
        return BM25Index.load(self.folder / BM25)

    def _size_fault(self, name: str) -> str | None:
        written = self.meta["files"][name]["bytes"]
        try:
            size = (self.folder / name).stat().st_size
        except FileNotFoundError:
            return f"{self.folder / name} is missing"
        return (
            None if size == written else f"{self.folder / name} has {size} bytes where {written} were written"
        )

    def release(self) -> None:
        """Drop the pin; arrays already handed out stay valid."""
        self._pin.release()

    def fault(self, name: str) -> str | None:
        """Return what is wrong with the content of a file, by its full checksum; None when it is sound."""
        try:
            if sha256_of(self.folder / name) == self.meta["files"][name]["sha256"]:
                return None
        except OSError as error:
            return f"{self.folder / name} cannot be read: {error.strerror}"
        return f"{self.folder / name} does not have the checksum that was written"

    def damage(self, truth: Truth) -> dict[str, str]:
        """Return what is wrong with each file, by its name, from full checksums and counts."""
        found = {name: fault for name in self.meta["files"] if (fault := self.fault(name))}
        if BM25 not in found:
            try:
                count = len(BM25Index.load(self.folder / BM25))
            except (OSError, ValueError) as error:
                found[BM25] = str(error)
            else:
                if count != self.count:
                    found[BM25] = (
                        f"{self.folder / BM25} holds {count} documents where the store has {self.count}"
                    )
        if ROWS not in found and not np.array_equal(self.rows, truth.seqs(self.moment)):
            found[ROWS] = f"{self.folder / ROWS} does not list the episodes of the store"
        if self.settings != truth.settings:
            found[META] = f"{self.folder / META} has other settings than the store"
        return found


def write_meta(folder: Path, settings: Mapping[str, Any], moment: Moment, rows: int) -> None:
    files = {
        entry.name: {"bytes": entry.stat().st_size, "sha256": sha256_of(entry)}
        for entry in sorted(folder.iterdir())
    }
    meta = {
        "format": FORMAT,
        "change": moment.change,
        "last": moment.last,
        "rows": rows,
        "settings": settings,
        "files": files,
    }
    (folder / META).write_text(
        json.dumps({**meta, "sha256": _meta_sum(meta)}, indent=1, sort_keys=True) + "\n"
    )


def _read_meta(path: Path) -> dict[str, Any]:
    try:
        meta = json.loads(path.read_bytes())
        claimed = meta.pop("sha256")
        sound = claimed == _meta_sum(meta)
    except (ValueError, KeyError, AttributeError, TypeError):
        sound = False
    if not sound:
        raise IndexFileError(f"{path} is damaged: its checksum does not fit")
    if meta["format"] != FORMAT:
        raise IndexFileError(f"{path} is of format {meta['format']}; this version reads format {FORMAT}")
    return dict(meta)


def _meta_sum(meta: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(meta, sort_keys=True).encode()).hexdigest()


def _mapped(path: Path, dtype: type[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    if 0 in shape:
        return np.empty(shape, dtype)  # an empty file cannot be mapped
    return np.asarray(np.memmap(path, dtype, "r", shape=shape))
