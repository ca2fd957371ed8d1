"""The index folder of a store: its generations, which of them is current, and what may be removed."""

from __future__ import annotations

import re
import shutil
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqe_fast._store.build import BUILDING, build
from sqe_fast._store.files import replace_file
from sqe_fast._store.generation import META, Generation
from sqe_fast._store.locks import unlink_unpinned
from sqe_fast._store.settings import Encoder
from sqe_fast._store.truth import NAME, Truth
from sqe_fast.errors import IndexFileError, StoreError

__all__ = ["Index"]

NUMBER = re.compile(r"\d{8,}")
TRIES = 5


class Index:
    """The generations of one store.

    Parameters
    ----------
    store : Path
        The folder of the store.
    settings : mapping
        What the store pins; a generation with other settings is not one of it.
    """

    def __init__(self, store: Path, settings: Mapping[str, Any]) -> None:
        self._store = store
        self._settings = settings
        self._folder = store / "index"
        self._current = store / "CURRENT"

    def numbers(self) -> list[int]:
        """Return the numbers of the generations that are there, ascending; one without meta.json is none."""
        if not self._folder.is_dir():
            return []
        entries = self._folder.iterdir()
        return sorted(
            int(one.name) for one in entries if NUMBER.fullmatch(one.name) and (one / META).exists()
        )

    def current(self) -> Generation | None:
        """Return the current generation, or None unless it is whole and of this store."""
        number = self._current_number()
        found = None if number is None else next(self._whole([number]), None)
        return found if found is not None and found.settings == self._settings else None

    def newest(self) -> Generation:
        """Return the last whole generation: the current one or, with a warning, the newest before it.

        Raises
        ------
        IndexFileError
            There is none.
        """
        # A writer may replace and remove between the reading of CURRENT and the pin: look again before
        # judging.
        for _ in range(TRIES):
            if (current := self.current()) is not None:
                return current
        for generation in self._whole(reversed(self.numbers())):
            if generation.settings == self._settings:
                warnings.warn(
                    f"the current index of {str(self._store)!r} is torn; reading generation "
                    f"{generation.number}: open the store for writing, or run verify, to rebuild it",
                    RuntimeWarning,
                    stacklevel=3,
                )
                return generation
        raise IndexFileError(
            f"{str(self._store)!r} has no whole index: open it for writing, or run verify, to build it "
            f"from {NAME}"
        )

    def rebuild(self, truth: Truth, encoder: Encoder | None) -> Generation:
        """Build the next generation from the truth and the best of what is there, and make it current.

        Raises
        ------
        StoreError
            It cannot be written, or texts have no vector and there is no encoder. The last one stays current.
        """
        current, numbers = self._current_number(), self.numbers()
        best_first = sorted(numbers, key=lambda number: (number == current, number), reverse=True)
        sources = list(self._whole(best_first, salvage=True))
        folder = self._folder_of(max([0, *numbers]) + 1)
        try:
            self._remove(keep=numbers)
            build(folder, truth, encoder, sources)
            replace_file(self._current, f"{folder.name}\n".encode())
        except OSError as error:
            if isinstance(error, StoreError):
                raise
            raise StoreError(f"cannot write {self._current}: {error.strerror}; commit again") from error
        finally:
            for source in sources:
                source.release()
        return Generation(folder)

    def tidy(self, truth: Truth, current: int) -> None:
        """Remove all but the current generation, the newest whole one beside it, and those that are pinned.

        What no generation shows any more then leaves the truth for good. This is housekeeping: what a full
        disk keeps it from is left to the next time.
        """
        others = [number for number in reversed(self.numbers()) if number != current]
        before = next(self._whole(others), None)
        with suppress(OSError):
            stays = self._remove(keep=[current] if before is None else [current, before.number])
            truth.purge(min(one.moment.change for one in self._whole(stays, salvage=True)))

    def check(self, truth: Truth) -> tuple[list[str], list[int], bool]:
        """Return what is wrong, which generations are torn, and whether the current one holds."""
        problems, torn = [], []
        for number in self.numbers():
            if found := self._faults(number, truth):
                problems += found
                torn.append(number)
        current = self._current_number()
        if current is None:
            problems.append(f"{self._current} does not name a generation")
        elif current not in self.numbers():
            problems.append(f"{self._current} names generation {current}, which is not there")
        return problems, torn, current in self.numbers() and current not in torn

    def discard(self, torn: Iterable[int]) -> list[str]:
        """Remove torn generations, pinned or not; return what was done."""
        done = []
        for folder in map(self._folder_of, torn):
            if (folder / META).exists():
                (folder / META).unlink()
                done.append(f"removed {folder}")
        self._remove(keep=self.numbers())
        return done

    def _folder_of(self, number: int) -> Path:
        return self._folder / f"{number:08d}"

    def _current_number(self) -> int | None:
        try:
            name = self._current.read_text().strip()
        except (FileNotFoundError, UnicodeDecodeError):
            return None
        return int(name) if NUMBER.fullmatch(name) else None

    def _whole(self, numbers: Iterable[int], *, salvage: bool = False) -> Iterator[Generation]:
        """Yield each generation that is whole, or with `salvage` each whose meta.json is."""
        for number in numbers:
            try:
                yield Generation(self._folder_of(number), salvage=salvage)
            except OSError:
                continue

    def _remove(self, keep: Iterable[int]) -> list[int]:
        """Remove what was left half built and each generation neither kept nor pinned; return what stays."""
        kept = set(keep)
        for number in self.numbers():
            if number not in kept:
                unlink_unpinned(self._folder_of(number) / META)
        stays = self.numbers()
        # Without meta.json nobody opens it, so a removal cut short leaves nothing that looks whole.
        for entry in self._folder.iterdir() if self._folder.is_dir() else ():
            left = NUMBER.fullmatch(entry.name) and int(entry.name) not in stays
            if left or entry.name.startswith(BUILDING):
                shutil.rmtree(entry, ignore_errors=True)
        return stays

    def _faults(self, number: int, truth: Truth) -> list[str]:
        folder = self._folder_of(number)
        try:
            generation = Generation(folder)
        except FileNotFoundError:
            return [f"{folder / META} is missing"]
        except OSError as error:
            return [str(error)]
        found = list(generation.damage(truth).values())
        generation.release()
        return found
