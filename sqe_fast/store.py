"""MemoryStore: the memory of an agent on disk.

SQLite holds the truth (what `add` confirmed is durable), the BM25 index and the vectors are derived from it,
in generations of which readers see the last whole one:

    memory/episodes.sqlite                                         the truth, in WAL mode
    memory/index/<generation>/{bm25.bin,vectors.f16,rows.i64,meta.json}
    memory/CURRENT                                                 the generation in use, replaced in one step
    memory/LOCK                                                    held by the one writer

The folder must be on a local file system: neither SQLite's log nor the locks work across machines.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sqe_fast._checks import describe
from sqe_fast._store import database
from sqe_fast._store.database import NAME
from sqe_fast._store.files import sync_folder
from sqe_fast._store.generation import Generation
from sqe_fast._store.index import Index
from sqe_fast._store.locks import WriterLock
from sqe_fast._store.reports import AddResult, StoreStats, VerifyReport
from sqe_fast._store.settings import Encoder, bm25_settings, differences, encoder_settings
from sqe_fast._store.snapshot import Snapshot
from sqe_fast._store.truth import NOW, Moment, Truth
from sqe_fast.bm25 import BM25Index
from sqe_fast.episode import Episode, check_id
from sqe_fast.errors import InvalidInputError, InvalidTypeError, StoreError

__all__ = ["AddResult", "MemoryStore", "Snapshot", "StoreStats", "VerifyReport"]


class MemoryStore:
    """A memory on disk: episodes, a BM25 index and, with an encoder, vectors; see `create` and `open`.

    One writer at a time, in one process; any number of readers beside it, in any number of processes. A
    writer that is killed at any moment loses nothing that `add` or `delete` had returned from. Methods may be
    called from several threads; after a fork, a child must open the store anew.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> store = MemoryStore.create(folder)
    >>> store.add([{"id": "a", "text": "pip install failed: no network", "task_id": "t1"}])
    AddResult(added=1, unchanged=0, replaced=0)
    >>> store.commit()
    2
    >>> store.texts([0]), store.rows(["a", "b"]).tolist()
    (['pip install failed: no network'], [0, -1])
    >>> store.close()
    """

    def __init__(
        self, path: Path, truth: Truth, view: Truth, lock: WriterLock | None, encoder: Encoder | None
    ) -> None:
        self.path = path
        self._truth = truth  # writes, and reads of a commit
        self._view = view  # all other reads: never in the middle of a transaction
        self._lock = lock
        self._encoder = encoder
        self._writing = RLock()
        self._process = os.getpid()
        self._snapshot: Snapshot | None = None
        self._settings = truth.settings
        self._index = Index(path, self._settings)

    # -- making and opening ------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        encoder: Encoder | None = None,
        tokenizer: str = "code",
        variant: str = "lucene",
        k1: float = 1.2,
        b: float = 0.75,
    ) -> Self:
        """Make an empty store in a folder and return it, open for writing.

        Parameters
        ----------
        path : str or path
            A folder that is empty or not there yet.
        encoder : Encoder, optional
            What makes the vectors; its name, dimension and settings are pinned. Without one the store has
            none.
        tokenizer, variant, k1, b
            Of the BM25 index, see `BM25Index.build`; pinned too.

        Raises
        ------
        InvalidInputError
            There is a store already, the folder holds other things, or a setting is not allowed.
        StoreError
            The folder cannot be written.
        """
        settings: dict[str, Any] = {
            "bm25": bm25_settings(tokenizer, variant, k1, b),
            "encoder": encoder_settings(encoder),
        }
        # Refuses a tokenizer or variant that does not exist, before anything is made.
        BM25Index.build([], **settings["bm25"])
        folder = _path(path)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            sync_folder(folder.parent)
            strange = {entry.name for entry in folder.iterdir()} - {
                "LOCK",
                NAME,
                NAME + "-wal",
                NAME + "-shm",
            }
            if not (folder / NAME).exists() and strange:
                raise InvalidInputError(
                    f"{str(folder)!r} is not empty (it holds {min(strange)!r}); name a new folder"
                )
            lock = WriterLock(folder)
        except OSError as error:
            if isinstance(error, StoreError):
                raise
            raise StoreError(f"cannot make a store in {str(folder)!r}: {error.strerror}") from error
        try:
            if database.exists(folder):
                raise InvalidInputError(
                    f"{str(folder)!r} is a memory store already; open it with MemoryStore.open"
                )
            database.create(folder, settings)
            sync_folder(folder)
        except BaseException:
            lock.release()
            raise
        return cls._writer(folder, lock, encoder)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        read_only: bool = False,
        encoder: Encoder | None = None,
        tokenizer: str | None = None,
        variant: str | None = None,
        k1: float | None = None,
        b: float | None = None,
    ) -> Self:
        """Open a store.

        Parameters
        ----------
        path : str or path
            The folder of the store.
        read_only : bool
            Open the last whole generation for reading; this works beside a writer and on a medium that cannot
            be written. It stays at that generation until `refresh`.
        encoder : Encoder, optional
            Needed for a `commit` that has new texts; it must be the one that the store was made with.
        tokenizer, variant, k1, b
            If given, they must be those that the store was made with.

        Raises
        ------
        StoreLockedError
            Somebody has it open for writing.
        InvalidInputError
            A setting differs from the store's; the message says which.
        StoreError
            There is no store, or its truth is damaged, or (for a writer) its index is torn and cannot be
            rebuilt without the encoder.
        IndexFileError
            For a reader: there is no whole generation of the index.

        Notes
        -----
        A writer that finds the index torn rebuilds it from the truth at once. A reader that finds the newest
        generation torn uses the one before, with a RuntimeWarning.
        """
        folder = _path(path)
        if not (folder / NAME).is_file():
            raise StoreError(f"{str(folder)!r} is not a memory store: it has no {NAME}")
        given = {"tokenizer": tokenizer, "variant": variant, "k1": k1, "b": b}
        if read_only:
            view = Truth(folder, writable=False)
            store = cls(folder, view, view, None, encoder)
            try:
                store._check_settings(given)
                store._show(store._index.newest())
            except BaseException:
                view.close()
                raise
            return store
        try:
            lock = WriterLock(folder)
        except OSError as error:
            if isinstance(error, StoreError):
                raise
            raise StoreError(
                f"cannot open {str(folder)!r} for writing: {error.strerror}; read_only=True may do"
            ) from error
        return cls._writer(folder, lock, encoder, given)

    @classmethod
    def settings_of(cls, path: str | os.PathLike[str]) -> dict[str, Any]:
        """Return what the store in a folder pins, `bm25` and `encoder`, whatever state its index is in.

        Raises
        ------
        StoreError
            There is no store, or its truth cannot be read.
        """
        truth = Truth(_path(path), writable=False)
        try:
            return dict(truth.settings)
        finally:
            truth.close()

    @classmethod
    def _writer(
        cls, folder: Path, lock: WriterLock, encoder: Encoder | None, given: Mapping[str, Any] | None = None
    ) -> Self:
        """Return a store open for writing, its index whole; on any error everything is let go."""
        opened: list[Truth] = []
        try:
            opened.append(Truth(folder, writable=True))
            opened.append(Truth(folder, writable=False))
            truth, view = opened
            store = cls(folder, truth, view, lock, encoder)
            store._check_settings(given or {})
            current = store._index.current()
            if current is None:
                store._rebuild()
            else:
                store._show(current)
                store._index.tidy(store._truth, current.number)  # what a killed commit left
        except BaseException:
            for truth in opened:
                truth.close()
            lock.release()
            raise
        return store

    def close(self) -> None:
        """Let the store go; what was added and not committed is kept, and indexed by the next commit."""
        with self._writing:
            if self._process != os.getpid():  # the parent's connections and lock are not a child's to close
                return
            self._snapshot = None
            self._view.close()
            self._truth.close()
            if self._lock is not None:
                self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- writing -----------------------------------------------------------------------------------

    def add(self, episodes: Iterable[Episode | Mapping[str, Any]], *, replace: bool = False) -> AddResult:
        """Add episodes in one transaction; on return they are durable. Searches see them after `commit`.

        Parameters
        ----------
        episodes : iterable of Episode or mapping
            Read as a stream; a mapping is taken as by `Episode.from_record`.
        replace : bool
            Give an episode that is there another text, task or fields. One whose text changes moves to the
            end of the store's order. Without it, the same id with the same text is left as it is.

        Raises
        ------
        InvalidInputError, InvalidTypeError
            An episode is not valid, or its id is there with another text and `replace` is false.
        StoreError
            It cannot be written, for example because the disk is full.

        After any error, one raised by `episodes` itself included, nothing of this call is in the store.
        """
        if isinstance(episodes, (str, bytes, Mapping, Episode)) or not isinstance(episodes, Iterable):
            raise InvalidTypeError(
                f"episodes must be an iterable of Episode or mappings; got {describe(episodes)}; for one "
                "pass [episode]"
            )
        with self._as_writer():
            return AddResult(*self._truth.put(map(_episode, episodes), bool(replace)))

    def delete(self, ids: Iterable[str]) -> int:
        """Delete episodes in one transaction, durable on return; return how many of the ids were there.

        Searches stop seeing them after `commit`. Ids that the store lacks are passed over.
        """
        if isinstance(ids, (str, bytes)) or not isinstance(ids, Iterable):
            raise InvalidTypeError(
                f"ids must be an iterable of str; got {describe(ids)}; for one id pass [id]"
            )
        with self._as_writer():
            return self._truth.drop(check_id(f"ids[{position}]", one) for position, one in enumerate(ids))

    def commit(self) -> int:
        """Bring the index up to date with the episodes; return the number of the generation in use.

        Only texts that the index has no vector for are encoded. An error leaves the last generation in use
        and the episodes where they are; a later commit starts again.

        Raises
        ------
        StoreError
            The index cannot be written, or there are new texts and the store was opened without its encoder.
        """
        with self._as_writer():
            # No name for the snapshot here: it would pin the generation that `tidy` may remove.
            if self.snapshot.moment.change != self._truth.moment().change:
                self._rebuild()
            return self.snapshot.generation

    def verify(self, repair: bool = True) -> VerifyReport:
        """Check every checksum and count, and rebuild from the truth what is derived and does not hold.

        A store opened read-only is checked and never repaired. What the truth itself has lost cannot be
        repaired; the report says so.
        """
        with self._writing:
            number = self.snapshot.generation
            if problems := self._truth.damage():
                return VerifyReport(False, tuple(problems), (), 0, number)
            problems, torn, current_holds = self._index.check(self._truth)
            repaired: list[str] = []
            ok = not problems
            if problems and repair and self._lock is not None:
                try:
                    if not current_holds:
                        self._rebuild()
                        repaired.append(
                            f"built generation {self.snapshot.generation} of the index from {NAME}"
                        )
                    repaired += self._index.discard(torn)
                    ok = True
                except (StoreError, InvalidInputError) as error:
                    problems.append(str(error))
            return VerifyReport(
                ok, tuple(problems), tuple(repaired), self._truth.count(), self.snapshot.generation
            )

    # -- reading -----------------------------------------------------------------------------------

    @property
    def snapshot(self) -> Snapshot:
        """What searches see now; hold on to it for work of several steps, it never changes."""
        self._check_process()
        if self._snapshot is None:
            raise StoreError(f"the store {str(self.path)!r} is closed")
        return self._snapshot

    def refresh(self) -> bool:
        """Move a reader to the newest whole generation; return whether that is another than before."""
        before = self.snapshot.generation
        if self._lock is None:
            with self._writing:
                self._show(self._index.newest())
        return self.snapshot.generation != before

    @property
    def settings(self) -> dict[str, Any]:
        """What the store pins: `bm25` and `encoder`."""
        return {key: dict(value) if value else value for key, value in self._settings.items()}

    @property
    def encoder(self) -> Encoder | None:
        """The encoder that the store was opened with."""
        return self._encoder

    @property
    def bm25(self) -> BM25Index:
        """The BM25 index of the present snapshot."""
        return self.snapshot.bm25

    @property
    def vectors(self) -> NDArray[np.float16] | None:
        """float16[n, dim] or None: the vectors of the present snapshot, mapped from disk."""
        return self.snapshot.vectors

    def ids(self, rows: ArrayLike) -> list[str]:
        """Return the id of each row of the present snapshot."""
        return self.snapshot.ids(rows)

    def texts(self, rows: ArrayLike) -> list[str]:
        """Return the text of each row of the present snapshot."""
        return self.snapshot.texts(rows)

    def episodes(self, rows: ArrayLike) -> list[Episode]:
        """Return the episode of each row of the present snapshot."""
        return self.snapshot.episodes(rows)

    def rows(self, ids: Sequence[str]) -> NDArray[np.int32]:
        """Return int32[n]: the row of each id in the present snapshot, -1 for one that it lacks."""
        return self.snapshot.rows(ids)

    def get(self, id: str) -> Episode | None:
        """Return the episode of that id, or None. A writer sees what it added, before `commit` too."""
        moment = self._moment()
        seq = self._view.find([check_id("id", id)], moment).get(id)
        return None if seq is None else next(self._view.episodes(np.array([seq], np.int64)))

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and self.get(id) is not None

    def __len__(self) -> int:
        """Return how many episodes there are; a writer counts what it added, before `commit` too."""
        indexed = len(self.snapshot)
        return indexed if self._lock is None else self._view.count()

    def __iter__(self) -> Iterator[Episode]:
        """Yield every episode in the store's order, a few hundred in memory at a time."""
        return self._view.episodes(self._view.seqs(self._moment()))

    def stats(self) -> StoreStats:
        """Return counts, sizes and settings."""
        snapshot = self.snapshot
        moment = snapshot.moment
        episodes = len(self)
        # Of what is indexed, the writer counts what is there still; a reader sees nothing newer.
        kept = len(snapshot) if self._lock is None else self._view.count(Moment(NOW.change, moment.last))
        folder = snapshot.folder
        files = [self.path / NAME, self.path / f"{NAME}-wal", *sorted(folder.glob("*"))]
        return StoreStats(
            episodes=episodes,
            indexed=len(snapshot),
            to_add=episodes - kept,
            to_remove=len(snapshot) - kept,
            generation=snapshot.generation,
            size={str(file.relative_to(self.path)): file.stat().st_size for file in files if file.exists()},
            settings=self.settings,
        )

    def __repr__(self) -> str:
        how = "read-only" if self._lock is None else "writable"
        return f"MemoryStore({str(self.path)!r}, {how})"

    # -- inside ------------------------------------------------------------------------------------

    def _moment(self) -> Moment:
        """Return what the methods of this object see: a reader its snapshot, the writer the present."""
        moment = self.snapshot.moment
        return moment if self._lock is None else NOW

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise StoreError(
                f"the store {str(self.path)!r} was opened before a fork; open it anew in the child"
            )

    @contextmanager
    def _as_writer(self) -> Iterator[None]:
        self._check_process()
        if self._lock is None:
            raise StoreError(f"the store {str(self.path)!r} was opened read-only")
        with self._writing:
            if self._snapshot is None:
                raise StoreError(f"the store {str(self.path)!r} is closed")
            if self._truth.in_transaction:
                raise InvalidInputError(
                    "a store cannot be written from inside an iterable that it is reading"
                )
            yield

    def _check_settings(self, given: Mapping[str, Any]) -> None:
        if found := differences(self._settings, given, self._encoder):
            raise InvalidInputError(
                f"{str(self.path)!r} was made with other settings: {'; '.join(found)}. Open it with its "
                "own, or "
                "make a new store"
            )

    def _show(self, generation: Generation) -> None:
        self._snapshot = Snapshot(generation, self._view)

    def _rebuild(self) -> None:
        self._show(self._index.rebuild(self._truth, self._encoder))
        self._index.tidy(self._truth, self.snapshot.generation)


def _path(path: str | os.PathLike[str]) -> Path:
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise InvalidTypeError(f"path must be a folder's path; got {describe(path)}")
    return Path(path)


def _episode(given: object) -> Episode:
    return given if isinstance(given, Episode) else Episode.from_record(given)  # type: ignore[arg-type]
