"""Generations kept on disk between runs, so that a question is paid for once."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sqe_fast.errors import InvalidInputError
from sqe_fast.generate.base import Generation, Request

__all__ = ["ExpansionCache", "cache_key"]

_SCHEMA = "CREATE TABLE IF NOT EXISTS generations (key BLOB PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
_ASK_AT_ONCE = 500
_BUSY_SECONDS = 60.0


def cache_key(generator: str, version: str, request: Request) -> bytes:
    """Return the 32-byte key of a request: all that decides the distribution of its answer."""
    parts = [
        generator,
        version,
        request.kind,
        request.chat(),
        request.n,
        float(request.temperature),
        request.max_new_tokens,
        request.seed,
        list(request.stop),
        *([request.prefill] if request.prefill else []),
    ]
    if request.after:  # only then: keys of caches that are there already stay what they are
        parts.append(request.after)
    # ASCII escapes: a lone surrogate in a question has no UTF-8.
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode("ascii")).digest()


class ExpansionCache:
    """A SQLite file of generations; several processes and threads may use it at once.

    Only whole answers are kept: a failure is asked again next time.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the file, making it and its folder if absent."""
        self.path = Path(path)
        self._lock = threading.Lock()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(
                self.path, timeout=_BUSY_SECONDS, check_same_thread=False, isolation_level=None
            )
            with contextlib.suppress(sqlite3.OperationalError):  # another process is switching it now
                self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise InvalidInputError(f"cannot open the expansion cache {self.path}: {error}") from error

    def __len__(self) -> int:
        with self._lock:
            return int(self._db.execute("SELECT count(*) FROM generations").fetchone()[0])

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Generation]:
        """Return what is known of `keys`; calls, tokens and seconds are those of when it was made."""
        found: dict[bytes, Generation] = {}
        with self._lock:
            for start in range(0, len(keys), _ASK_AT_ONCE):
                part = keys[start : start + _ASK_AT_ONCE]
                marks = ",".join("?" * len(part))
                query = f"SELECT key, value FROM generations WHERE key IN ({marks})"
                found.update((bytes(k), _load(v)) for k, v in self._db.execute(query, part))
        return found

    def put(self, generations: Mapping[bytes, Generation] | Iterable[tuple[bytes, Generation]]) -> None:
        """Keep generations that did not fail; what is there already stays."""
        pairs = generations.items() if isinstance(generations, Mapping) else generations
        rows = [(key, _dump(made)) for key, made in pairs if made.error is None]
        if not rows:
            return
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._db.executemany("INSERT OR IGNORE INTO generations VALUES (?, ?)", rows)
                self._db.execute("COMMIT")
            except BaseException:
                self._db.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()


def _dump(made: Generation) -> str:
    tokens = [made.prompt_tokens, made.cached_tokens, made.completion_tokens]
    cost = [made.calls, made.seconds]
    return json.dumps(
        [made.texts, made.finish_reasons, tokens, made.estimated, made.verbatim, cost, made.traces],
        ensure_ascii=True,
    )


def _load(value: str) -> Generation:
    texts, reasons, (prompt, cached, completion), estimated, verbatim, *rest = json.loads(value)
    # Files of earlier versions do not say.
    calls, seconds = rest[0] if rest else (1, None)
    traces = rest[1] if len(rest) > 1 else 0
    return Generation(
        tuple(texts),
        prompt_tokens=prompt,
        cached_tokens=cached,
        completion_tokens=completion,
        finish_reasons=tuple(reasons),
        calls=calls,
        estimated=estimated,
        verbatim=verbatim,
        seconds=seconds,
        traces=traces,
    )
