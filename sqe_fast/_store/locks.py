"""The writer's lock, and the pin that keeps a generation.

Locks are flock(2) locks: they end with the process that holds them, however it ends, and work on files opened
for reading. A child made by fork shares its parent's lock until it exits.
"""

from __future__ import annotations

import fcntl
import os
import weakref
from pathlib import Path

from sqe_fast.errors import StoreLockedError

__all__ = ["Pin", "WriterLock", "unlink_unpinned"]


class WriterLock:
    """The one right to write to a store, held until `release` or until the process ends."""

    def __init__(self, folder: Path) -> None:
        self._descriptor = os.open(folder / "LOCK", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._descriptor, 32).decode(errors="replace").strip()
            os.close(self._descriptor)
            who = f"process {holder}" if holder.isdigit() and int(holder) != os.getpid() else "this process"
            raise StoreLockedError(
                f"{str(folder)!r} is open for writing in {who if holder else 'another process'}; one writer "
                "at a time: close that one, or open with read_only=True"
            ) from None
        except OSError:
            os.close(self._descriptor)
            raise
        # Who holds it is for the message only: a full disk must not keep the store from opening.
        try:
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, str(os.getpid()).encode(), 0)
        except OSError:
            pass

    def release(self) -> None:
        """Let the next writer in; a second call does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class Pin:
    """Keeps the generation that `file` belongs to from being removed, for as long as this object lives."""

    def __init__(self, file: Path) -> None:
        descriptor = os.open(file, os.O_RDONLY)
        self._close = weakref.finalize(self, os.close, descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        # Removal may have come between opening and locking: the name must still lead to the locked file.
        here, there = os.fstat(descriptor), os.stat(file)
        if (here.st_dev, here.st_ino) != (there.st_dev, there.st_ino):
            self.release()
            raise FileNotFoundError(f"{file} was replaced")

    def release(self) -> None:
        """Allow removal; a second call does nothing."""
        self._close()


def unlink_unpinned(file: Path) -> bool:
    """Unlink `file` unless it is pinned; return whether it is gone.

    The lock is held over the unlinking: whoever pins at that moment waits, and then finds the name gone.
    """
    try:
        descriptor = os.open(file, os.O_RDONLY)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        file.unlink(missing_ok=True)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True
