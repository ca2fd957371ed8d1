"""The truth of a store: `episodes.sqlite`, from which everything else can be built again.

Every transaction that changes something adds 1 to `change`. An episode is a row with a number `seq` that only
grows and is never given twice; a deleted row stays, with the change that deleted it, until no generation of
the index shows it. So what a generation shows is `seq <= last and (deleted = 0 or deleted > change)` at the
`change` and `last` that it was built at, whatever was written since. An episode whose text is replaced gets a
new row, at the end.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqe_fast._store.database import NAME, connect
from sqe_fast.episode import Episode, shown
from sqe_fast.errors import InvalidInputError, InvalidTypeError, StoreError

__all__ = ["NAME", "Moment", "Truth", "fields_json"]

SOME = 500  # values bound in one statement


@dataclass(frozen=True, slots=True)
class Moment:
    """What the truth held after its `change`-th change: rows up to `last` that no earlier one deleted."""

    change: int
    last: int


NOW = Moment(2**62, 2**62)


class Truth:
    """One connection to the truth; calls from several threads take turns.

    Parameters
    ----------
    folder : Path
        The folder of the store.
    writable : bool
        Whether this connection may write; only the holder of the writer's lock may.
    """

    def __init__(self, folder: Path, *, writable: bool) -> None:
        self.path = folder / NAME
        self._turn = threading.RLock()
        self._db = connect(folder, writable=writable)

    def close(self) -> None:
        """Close the connection; the last one to close folds the log into the file."""
        with self._turn:
            self._db.close()

    # -- reading -----------------------------------------------------------------------------------

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open on this connection."""
        return self._db.in_transaction

    @property
    def settings(self) -> dict[str, Any]:
        """What the store pins, as it was created."""
        return dict(json.loads(self._one("SELECT settings FROM state")))

    def moment(self) -> Moment:
        """Return the present."""
        with self._turn, self._errors("read"):
            change, last = self._db.execute(
                "SELECT change, (SELECT coalesce(max(seq), 0) FROM episodes) FROM state"
            ).fetchone()
        return Moment(change, last)

    def count(self, at: Moment = NOW) -> int:
        """Return how many episodes the store shows at a moment."""
        # One statement: between two, a writer may move a row from one part to the other.
        return int(
            self._one(
                "SELECT (SELECT count(*) FROM episodes WHERE deleted = 0 AND seq <= ?1) "
                "+ (SELECT count(*) FROM episodes WHERE deleted > ?2 AND deleted > 0 AND seq <= ?1)",
                at.last,
                at.change,
            )
        )

    def seqs(self, at: Moment = NOW) -> NDArray[np.int64]:
        """Return int64[n]: the numbers of the rows shown at a moment, ascending: the store's order."""
        with self._turn, self._errors("read"):
            found = self._db.execute(
                "SELECT seq FROM episodes WHERE deleted = 0 AND seq <= ? "
                "UNION ALL SELECT seq FROM episodes WHERE deleted > ? AND deleted > 0 AND seq <= ?",
                (at.last, at.change, at.last),
            )
            return np.sort(np.fromiter((seq for (seq,) in found), np.int64))

    def find(self, ids: Sequence[str], at: Moment = NOW) -> dict[str, int]:
        """Return the row number of each id that is shown at a moment."""
        rows = self._some(
            "SELECT id, seq FROM episodes WHERE deleted = 0 AND seq <= ? AND id IN", ids, at.last
        )
        found: dict[str, int] = dict(rows)
        if at is not NOW and (rest := [one for one in ids if one not in found]):
            found.update(
                self._some(
                    "SELECT id, seq FROM episodes WHERE deleted > ? AND deleted > 0 AND seq <= ? AND id IN",
                    rest,
                    at.change,
                    at.last,
                )
            )
        return found

    def texts(self, seqs: NDArray[np.int64]) -> Iterator[str]:
        """Yield the text of each row, in the order given; a few hundred in memory at a time."""
        return (text for (text,) in self._fetch("text", seqs))

    def ids(self, seqs: NDArray[np.int64]) -> Iterator[str]:
        """Yield the id of each row, in the order given."""
        return (one for (one,) in self._fetch("id", seqs))

    def episodes(self, seqs: NDArray[np.int64]) -> Iterator[Episode]:
        """Yield the episode of each row, in the order given."""
        for one, text, task, fields in self._fetch("id, text, task_id, fields", seqs):
            yield Episode(one, text, task, json.loads(fields))

    def damage(self) -> list[str]:
        """Return what SQLite's own check and the rules of this schema find wrong; empty when sound."""
        try:
            with self._turn:
                found = [line for (line,) in self._db.execute("PRAGMA integrity_check(20)") if line != "ok"]
        except sqlite3.Error as error:
            found = [str(error)]
        return [f"{NAME}: {line}" for line in found]

    # -- writing -----------------------------------------------------------------------------------

    def put(self, episodes: Iterable[Episode], replace: bool) -> tuple[int, int, int]:
        """Add episodes in one transaction; return (added, unchanged, replaced), durable on return.

        Raises
        ------
        InvalidInputError
            An id is there with another text and `replace` is false. Nothing of this call is kept, as after
            any other error, one of the iterable's own included.
        """
        added = unchanged = replaced = moved = 0
        with self._transaction() as change:
            for episode in episodes:
                with self._errors("add"):
                    row = self._db.execute(
                        "SELECT seq, text, task_id, fields FROM episodes WHERE id = ? AND deleted = 0",
                        (episode.id,),
                    ).fetchone()
                    new = (episode.text, episode.task_id, fields_json(episode))
                    if row is None:
                        added += 1
                    elif row[1] == episode.text and (not replace or row[2:] == new[1:]):
                        unchanged += 1
                        continue
                    elif not replace:
                        raise InvalidInputError(
                            f"episode {shown(episode.id)} is in the store with another text; pass "
                            "replace=True to replace it"
                        )
                    elif row[1] == episode.text:  # the index knows texts only: keep the row
                        replaced += 1
                        self._db.execute(
                            "UPDATE episodes SET task_id = ?, fields = ? WHERE seq = ?", (*new[1:], row[0])
                        )
                        continue
                    else:
                        replaced += 1
                        moved += 1
                        self._db.execute("UPDATE episodes SET deleted = ? WHERE seq = ?", (change, row[0]))
                    self._db.execute(
                        "INSERT INTO episodes (id, text, task_id, fields) VALUES (?, ?, ?, ?)",
                        (episode.id, *new),
                    )
            if not added + moved:  # nothing that the index would show
                self._db.execute("UPDATE state SET change = change - 1")
        return added, unchanged, replaced

    def drop(self, ids: Iterable[str]) -> int:
        """Delete episodes in one transaction; return how many were there, durable on return."""
        count = 0
        with self._transaction() as change:
            for one in ids:
                with self._errors("delete"):
                    count += self._db.execute(
                        "UPDATE episodes SET deleted = ? WHERE id = ? AND deleted = 0", (change, one)
                    ).rowcount
            if not count:
                self._db.execute("UPDATE state SET change = change - 1")
        return count

    def purge(self, change: int) -> None:
        """Remove for good what no generation built at `change` or later shows."""
        with self._turn, self._errors("purge"):
            self._db.execute("DELETE FROM episodes WHERE deleted > 0 AND deleted <= ?", (change,))

    # -- inside ------------------------------------------------------------------------------------

    @contextmanager
    def _transaction(self) -> Iterator[int]:
        """Hold one transaction, yield its change number; commit at the end, roll back on any error."""
        with self._turn:
            if self._db.in_transaction:
                raise InvalidInputError(
                    "a store cannot be written from inside an iterable that it is reading"
                )
            with self._errors("write"):
                self._db.execute("BEGIN IMMEDIATE")
            try:
                with self._errors("write"):
                    change = self._db.execute(
                        "UPDATE state SET change = change + 1 RETURNING change"
                    ).fetchone()[0]
                yield int(change)
                with self._errors("write"):
                    self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _errors(self, what: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.DataError, OverflowError) as error:
            raise InvalidInputError(f"an episode is too large for the store: {error}") from error
        except sqlite3.Error as error:
            raise StoreError(
                f"cannot {what} {str(self.path)!r}: {error}; what was confirmed before is kept"
            ) from error

    def _one(self, query: str, *values: int) -> Any:
        with self._turn, self._errors("read"):
            return self._db.execute(query, values).fetchone()[0]

    def _some(self, query: str, keys: Sequence[Any], *values: int) -> Iterator[Any]:
        """Yield the rows of `query (?, ?, ...)` over all keys, some hundred keys a statement."""
        for start in range(0, len(keys), SOME):
            part = keys[start : start + SOME]
            with self._turn, self._errors("read"):
                rows = self._db.execute(f"{query} ({','.join('?' * len(part))})", (*values, *part)).fetchall()
            yield from rows

    def _fetch(self, columns: str, seqs: NDArray[np.int64]) -> Iterator[tuple[Any, ...]]:
        for start in range(0, len(seqs), SOME):
            part = seqs[start : start + SOME].tolist()
            query = f"SELECT seq, {columns} FROM episodes WHERE seq IN"
            found = {row[0]: row[1:] for row in self._some(query, sorted(set(part)))}
            for seq in part:
                if seq not in found:
                    raise StoreError(f"{str(self.path)!r} lacks row {seq}, which the index names; run verify")
                yield found[seq]


def fields_json(episode: Episode) -> str:
    """Return the fields of an episode as JSON."""
    try:
        text = json.dumps(dict(episode.fields), ensure_ascii=False, allow_nan=False)
        text.encode()
    except TypeError as error:
        raise InvalidTypeError(
            f"fields of episode {shown(episode.id)} must be what JSON can hold: {error}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"fields of episode {shown(episode.id)} must be what JSON can hold: {error}"
        ) from error
    return text
