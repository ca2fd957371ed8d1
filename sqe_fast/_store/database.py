"""The SQLite file of a store: making it, recognising it, connecting to it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqe_fast.errors import StoreError

__all__ = ["NAME", "connect", "create", "exists"]

NAME = "episodes.sqlite"
APPLICATION_ID = 0x53514546
FORMAT = 1
LOG_BYTES = 16 << 20  # what the log is cut back to after a large transaction
WAIT_S = 30.0  # for another process that recovers the log after a crash

SCHEMA = """
CREATE TABLE episodes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    text TEXT NOT NULL,
    task_id TEXT,
    fields TEXT NOT NULL,
    deleted INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX live ON episodes(id) WHERE deleted = 0;
CREATE INDEX gone ON episodes(deleted, id) WHERE deleted > 0;
CREATE TABLE state (one INTEGER PRIMARY KEY CHECK (one = 1), change INTEGER NOT NULL, settings TEXT NOT NULL);
"""


def create(folder: Path, settings: Mapping[str, Any]) -> None:
    """Write a new, empty file; one left by a creation that was cut short is completed.

    Raises
    ------
    StoreError
        It cannot be written, or there is a database of another program.
    """
    path = folder / NAME
    try:
        db = sqlite3.connect(path, isolation_level=None, timeout=WAIT_S)
        try:
            if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                raise StoreError(f"{str(path)!r} is another program's database; it is left as it is")
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            db.executescript(f"BEGIN IMMEDIATE;{SCHEMA}")
            db.execute("INSERT INTO state VALUES (1, 0, ?)", (json.dumps(settings),))
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {FORMAT}")
            db.execute("COMMIT")
        finally:
            db.close()
    except sqlite3.Error as error:
        raise StoreError(f"cannot create {str(path)!r}: {error}") from error


def exists(folder: Path) -> bool:
    """Return whether a store's file is there, whole; one that was cut short in its creation is not."""
    if not (folder / NAME).is_file():
        return False
    try:
        connect(folder, writable=False).close()
    except StoreError as error:
        if isinstance(error.__cause__, sqlite3.Error):
            raise
        return False
    return True


def connect(folder: Path, *, writable: bool) -> sqlite3.Connection:
    """Return a connection in autocommit mode that any thread may use, one at a time.

    Raises
    ------
    StoreError
        There is no store, it is of another format, or the file cannot be read.
    """
    if not (folder / NAME).is_file():
        raise StoreError(f"{str(folder)!r} is not a memory store: it has no {NAME}")
    try:
        db = _writer(folder) if writable else _reader(folder)
        try:
            kind = db.execute("PRAGMA application_id").fetchone()[0]
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if kind != APPLICATION_ID:
                raise StoreError(f"{str(folder)!r} is not a memory store: {NAME} was not written by one")
            if version != FORMAT:
                raise StoreError(
                    f"{str(folder)!r} is of format {version}; this version reads format {FORMAT}"
                )
        except BaseException:
            db.close()
            raise
    except sqlite3.Error as error:
        raise StoreError(f"cannot open {str(folder / NAME)!r}: {error}") from error
    return db


def _writer(folder: Path) -> sqlite3.Connection:
    db = _open(folder, "mode=rw")
    db.execute("PRAGMA synchronous = FULL")
    db.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
    return db


def _reader(folder: Path) -> sqlite3.Connection:
    db = _open(folder, "mode=ro")
    try:
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        # On a read-only medium the log's shared memory cannot be made; without a log none is needed.
        db.close()
        log = folder / f"{NAME}-wal"
        if log.exists() and log.stat().st_size:
            raise
        db = _open(folder, "mode=ro&immutable=1")
    except BaseException:
        db.close()
        raise
    return db


def _open(folder: Path, options: str) -> sqlite3.Connection:
    # Whatever a path holds, percent-encoded it is one path and no option.
    return sqlite3.connect(
        f"{(folder / NAME).absolute().as_uri()}?{options}",
        uri=True,
        isolation_level=None,
        timeout=WAIT_S,
        check_same_thread=False,
    )
