"""Building the next generation of a store's index from the truth and what the last ones hold."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqe_fast._store.files import sync_file, sync_folder
from sqe_fast._store.generation import BM25, ROWS, VECTORS, Generation, write_meta
from sqe_fast._store.settings import Encoder
from sqe_fast._store.truth import Truth
from sqe_fast.bm25 import BM25Index
from sqe_fast.errors import InvalidInputError, StoreError

__all__ = ["BUILDING", "build"]

BUILDING = ".building-"  # how the folder of one that is not whole yet begins
CHUNK = 4096  # rows of vectors in memory at a time, and texts in one call of the encoder
MAX_ROWS = 2**31 - 1  # positions in results are int32


def build(folder: Path, truth: Truth, encoder: Encoder | None, sources: Iterable[Generation]) -> None:
    """Build, from the truth as it is now, the generation `folder`; it appears whole or not at all.

    Parameters
    ----------
    folder : Path
        Not there yet; its parent is made where needed.
    truth : Truth
        Nobody may write to it meanwhile.
    encoder : Encoder or None
        Needed where a text has no vector yet.
    sources : iterable of Generation
        What to start from, best first; of each file the first whose checksum fits is used. Documents are
        taken out of the BM25 index and added, which equals a build from scratch; vectors are copied, and only
        texts without one are encoded. Checking first keeps damage from being copied into files that look
        sound.

    Raises
    ------
    StoreError
        A file cannot be written, or vectors are needed and there is no encoder. Nothing was changed.
    """
    moment = truth.moment()
    settings = truth.settings
    rows = truth.seqs(moment)
    if len(rows) > MAX_ROWS:
        raise StoreError(f"a store holds up to {MAX_ROWS} episodes; this one has {len(rows)}")
    bm25_from, vectors_from = _sound(sources, settings)
    scratch = folder.with_name(f"{BUILDING}{folder.name}")
    try:
        scratch.mkdir(parents=True)
        (scratch / ROWS).write_bytes(rows.tobytes())
        _write_bm25(scratch / BM25, settings, truth, rows, bm25_from)
        if settings["encoder"]:
            _write_vectors(scratch / VECTORS, truth, rows, encoder, vectors_from)
        write_meta(scratch, settings, moment, len(rows))
        for entry in scratch.iterdir():
            sync_file(entry)
        sync_folder(scratch)
        scratch.rename(folder)
        sync_folder(folder.parent)
    except BaseException as error:
        shutil.rmtree(scratch, ignore_errors=True)
        if isinstance(error, OSError) and not isinstance(error, StoreError):
            raise StoreError(
                f"cannot write the index in {str(folder.parent)!r}: {error}; the episodes are safe and the "
                "last index stands: make room or mend the folder, and commit again"
            ) from error
        raise


def _sound(
    sources: Iterable[Generation], settings: Mapping[str, Any]
) -> tuple[Generation | None, Generation | None]:
    """Return the first generation with a sound BM25 index and the first with sound vectors."""
    bm25 = vectors = None
    for source in sources:
        if source.settings != settings or source.fault(ROWS):
            continue
        if bm25 is None and not source.fault(BM25):
            bm25 = source
        if vectors is None and source.vectors is not None and not source.fault(VECTORS):
            vectors = source
        if bm25 and (vectors or not settings["encoder"]):
            break
    return bm25, vectors


def _write_bm25(
    path: Path, settings: Mapping[str, Any], truth: Truth, rows: NDArray[np.int64], base: Generation | None
) -> None:
    if base is None:
        index = BM25Index.build(truth.texts(rows), **settings["bm25"])
    else:
        # Loaded anew: the one that searches run on must not change under them.
        index = BM25Index.load(base.folder / BM25)
        gone = np.flatnonzero(np.isin(base.rows, rows, assume_unique=True, invert=True))
        if len(gone):
            index.delete(gone.tolist())
        # A row number only grows, so what is new stands behind all that was there.
        fresh = rows[np.searchsorted(rows, base.moment.last, side="right") :]
        if len(fresh):
            index.add(truth.texts(fresh))
    if len(index) != len(rows):
        raise StoreError(f"the BM25 index came out with {len(index)} documents for {len(rows)} episodes")
    index.save(path)


def _write_vectors(
    path: Path,
    truth: Truth,
    rows: NDArray[np.int64],
    encoder: Encoder | None,
    base: Generation | None,
) -> int:
    """Write the vectors of `rows`, a chunk in memory at a time; return how many texts were encoded."""
    dim = truth.settings["encoder"]["dim"]
    at = _positions(rows, base)
    old: dict[bytes, int] | None = None
    encoded = 0
    with path.open("wb") as file:
        for start in range(0, len(rows), CHUNK):
            source = at[start : start + CHUNK]
            part = np.empty((len(source), dim), np.float16)
            known = source >= 0
            if base is not None and base.vectors is not None:
                part[known] = base.vectors[source[known]]
            if not known.all():
                if old is None:
                    old = _texts_gone(truth, rows, base)
                missing = np.flatnonzero(~known)
                texts = list(truth.texts(rows[start : start + CHUNK][missing]))
                vectors, count = _vectors_of(texts, dim, encoder, base, old)
                part[missing] = vectors
                encoded += count
            file.write(part.data)
    return encoded


def _positions(rows: NDArray[np.int64], base: Generation | None) -> NDArray[np.int64]:
    """Return int64[n]: where each row stands in `base`, -1 for one that it lacks."""
    if base is None or base.count == 0:
        return np.full(len(rows), -1, np.int64)
    at = np.searchsorted(base.rows, rows)
    at[at == base.count] = 0
    return np.where(base.rows[at] == rows, at, -1)


def _texts_gone(truth: Truth, rows: NDArray[np.int64], base: Generation | None) -> dict[bytes, int]:
    """Return where in `base` each text stands that `rows` lack: one that comes back is not encoded again."""
    if base is None:
        return {}
    gone = np.flatnonzero(np.isin(base.rows, rows, assume_unique=True, invert=True))
    return {_key(text): int(row) for text, row in zip(truth.texts(base.rows[gone]), gone, strict=True)}


def _vectors_of(
    texts: list[str], dim: int, encoder: Encoder | None, base: Generation | None, old: Mapping[bytes, int]
) -> tuple[NDArray[np.float16], int]:
    """Return float16[n, dim] for texts without a row, each distinct one encoded once, and how many were."""
    keys = [_key(text) for text in texts]
    fresh = {key: text for key, text in zip(keys, texts, strict=True) if key not in old}
    made: dict[bytes, NDArray[np.float16]] = {}
    if fresh:
        if encoder is None:
            raise StoreError(
                f"{len(fresh)} texts have no vector yet and the store was opened without its encoder; open "
                "it with encoder="
            )
        made = dict(zip(fresh, _encoded(encoder, list(fresh.values()), dim), strict=True))
    out = np.empty((len(texts), dim), np.float16)
    for position, key in enumerate(keys):
        out[position] = made[key] if key in made else _row(base, old[key])
    return out, len(fresh)


def _row(base: Generation | None, row: int) -> NDArray[np.float16]:
    if base is None or base.vectors is None:
        raise StoreError("vectors to copy from are missing")
    vector: NDArray[np.float16] = base.vectors[row]
    return vector


def _encoded(encoder: Encoder, texts: list[str], dim: int) -> NDArray[np.float16]:
    """Return float16[n, dim] from the encoder, checked."""
    vectors = np.asarray(encoder.encode(texts, kind="document"))
    if vectors.shape != (len(texts), dim):
        raise InvalidInputError(
            f"encoder {encoder.name!r} must return float32[{len(texts)}, {dim}]; got "
            f"{vectors.dtype}{list(vectors.shape)}"
        )
    with np.errstate(over="ignore"):
        half = np.asarray(vectors, np.float16)
    if not np.isfinite(half).all():
        raise InvalidInputError(f"encoder {encoder.name!r} returned values that are not finite as float16")
    return half


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
