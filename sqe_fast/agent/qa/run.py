"""A run of one system over question sets, in a folder, that goes on where it was stopped.

RUN/manifest.json      what decides the answers, pinned; and on what they were made
RUN/rows.jsonl         one line a question, appended a batch at a time
RUN/LOCK               held by the one process that runs it
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from sqe_fast._checks import check_int
from sqe_fast._store.files import replace_file
from sqe_fast._store.locks import WriterLock
from sqe_fast.agent.presets import PRESETS
from sqe_fast.agent.qa.rows import make_row, parse_rows
from sqe_fast.agent.qa.sets import Question
from sqe_fast.agent.values import Rollout
from sqe_fast.errors import InvalidInputError, RecordError, StoreLockedError

__all__ = ["MANIFEST", "ROWS", "QARun", "Rolls", "read_run", "read_runs", "run_qa", "unanswered"]

MANIFEST, ROWS = "manifest.json", "rows.jsonl"
FORMAT = 1


class Rolls(Protocol):
    """What answers a batch of questions: a `sqe_fast.agent.rollout.Roller`."""

    def run(self, questions: Sequence[str], ids: Sequence[str] | None = None) -> list[Rollout]:
        """Return one rollout a question, in order."""
        ...


@dataclass(frozen=True, eq=False)
class QARun:
    """A run as it was read.

    Attributes
    ----------
    folder : Path
    settings : mapping
        As pinned.
    rows : tuple of dict
        See `sqe_fast.agent.qa.rows.make_row`.
    """

    folder: Path
    settings: Mapping[str, Any]
    rows: tuple[dict[str, Any], ...]

    @property
    def system(self) -> str:
        """The name of its preset."""
        return str(self.settings.get("system", self.folder.name))


def run_qa(
    folder: str | os.PathLike[str],
    questions: Sequence[Question],
    roller: Rolls,
    settings: Mapping[str, Any],
    *,
    batch: int = 256,
    searches: bool = True,
    retry_failed: bool = False,
    on_rows: Callable[[list[dict[str, Any]]], None] | None = None,
) -> int:
    """Answer the questions that `folder` has no row of, and append their rows.

    A batch's rows are written at once and are durable before the next batch begins, so that a process that is
    killed loses one batch at most.

    Parameters
    ----------
    folder : path
        Made where it is not there.
    questions : sequence of Question
        Other questions than last time may be given: those with a row are skipped.
    roller : Roller
        Or anything with its `run`.
    settings : mapping
        What decides the answers, as JSON: the same at each call for one folder. ``system`` is its name.
    batch : int
        Questions in step at a time.
    searches : bool
        See `make_row`.
    retry_failed : bool
        Questions whose generator failed (`finish` "failed") are asked again.
    on_rows : callable, optional
        Called with the rows of each batch once they are written.

    Returns
    -------
    int
        How many questions were answered now.

    Raises
    ------
    InvalidInputError
        The settings differ from those pinned, or a question or its golden answers differ from its row's.
    StoreLockedError
        Another process is at work in the folder.
    RecordError
        A row of the folder is damaged.
    """
    batch = check_int("batch", batch, 1)
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    try:
        lock = WriterLock(place)
    except StoreLockedError:
        raise StoreLockedError(
            f"{str(place)!r} is being run by another process; wait or name another"
        ) from None
    try:
        _pin(place / MANIFEST, settings)
        left = unanswered(place, questions, retry_failed=retry_failed)
        _drop_torn(place / ROWS)
        for start in range(0, len(left), batch):
            part = left[start : start + batch]
            rollouts = roller.run([one.question for one in part], ["/".join(one.key) for one in part])
            rows = [make_row(one, told, searches=searches) for one, told in zip(part, rollouts, strict=True)]
            _append(place / ROWS, rows)
            if on_rows is not None:
                on_rows(rows)
    finally:
        lock.release()
    return len(left)


def read_run(folder: str | os.PathLike[str]) -> QARun:
    """Return a run.

    Raises
    ------
    InvalidInputError
        The folder is no run, or has no rows.
    RecordError
        A row is damaged; a torn last one, of a run that was killed, is passed over.
    """
    place = Path(folder)
    manifest = _manifest(place / MANIFEST)
    rows = parse_rows(place / ROWS) if (place / ROWS).exists() else []
    if not rows:
        raise InvalidInputError(f"the run {str(place)!r} has no rows yet")
    return QARun(place, manifest["settings"], tuple(rows))


def read_runs(folders: Sequence[str | os.PathLike[str]]) -> list[QARun]:
    """Return the runs of folders, in order.

    A folder that is no run stands for the runs right below it, in the order of the presets, then by name.
    """
    order = {preset.name: place for place, preset in enumerate(PRESETS.values())}
    runs = []
    for folder in map(Path, folders):
        below = sorted(one.parent for one in folder.glob(f"*/{MANIFEST}"))
        if not (folder / MANIFEST).exists() and below:
            runs += sorted(map(read_run, below), key=lambda run: order.get(run.system, len(order)))
        else:
            runs.append(read_run(folder))
    return runs


def _manifest(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise InvalidInputError(
            f"{str(path.parent)!r} is no run of questions (no {MANIFEST}); `sqe-fast qa run` makes one"
        )
    try:
        manifest = json.loads(path.read_bytes())
        if manifest["format"] != FORMAT or not isinstance(manifest["settings"], dict):
            raise RecordError(f"{path}: format {manifest['format']!r} is not known here")
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, RecordError):
            raise
        raise RecordError(f"{path}: not the manifest of a run ({error})") from None
    return manifest  # type: ignore[no-any-return]


def _pin(path: Path, settings: Mapping[str, Any]) -> None:
    """Write the settings where no row was made with any; raise where rows were made with others."""
    asked = json.loads(json.dumps(dict(settings)))
    rows = path.parent / ROWS
    answered = rows.exists() and b"\n" in rows.read_bytes()
    if path.exists() and answered:
        pinned = _manifest(path)["settings"]
        if differing := _differences(pinned, asked):
            raise InvalidInputError(
                f"the run {str(path.parent)!r} was begun with other settings: {'; '.join(differing)}. "
                "Give the same ones, or name a new folder"
            )
        return
    if answered:
        raise RecordError(f"{str(path.parent)!r} holds {ROWS} and no {MANIFEST}; name a new folder")
    import sqe_fast

    environment = {
        "sqe_fast": sqe_fast.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cpus": len(os.sched_getaffinity(0)),
    }
    manifest = {"format": FORMAT, "settings": asked, "environment": environment}
    replace_file(path, json.dumps(manifest, indent=1, ensure_ascii=False).encode() + b"\n")


def _differences(pinned: Mapping[str, Any], asked: Mapping[str, Any], prefix: str = "") -> list[str]:
    found = []
    for name in sorted({*pinned, *asked}):
        old, new = pinned.get(name), asked.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            found += _differences(old, new, f"{prefix}{name}.")
        elif old != new:
            found.append(f"{prefix}{name} was {_short(old)}, now {_short(new)}")
    return found


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:60]}… ({len(text)} characters)"


def _drop_torn(path: Path) -> None:
    """Cut off what stands behind the last end of line: a row that a killed process began."""
    if path.exists():
        content = path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.truncate(path, whole)


def unanswered(
    folder: str | os.PathLike[str], questions: Sequence[Question], *, retry_failed: bool = False
) -> list[Question]:
    """Return the questions that a run has no row of, once each; with `retry_failed` those that failed too.

    Raises
    ------
    InvalidInputError
        A question or its golden answers differ from its row's, or one name stands for two questions.
    RecordError
        A row of the folder is damaged.
    """
    path = Path(folder) / ROWS
    rows = parse_rows(path) if path.exists() else []
    done = {(row["set"], row["id"]): row for row in rows}
    left: dict[tuple[str, str], Question] = {}
    for one in questions:
        row = done.get(one.key)
        if row is not None and (row["question"], row["golden_answers"]) != (
            one.question,
            [*one.golden_answers],
        ):
            raise InvalidInputError(
                f"{path} has a row {'/'.join(one.key)!r} of another question or with other golden answers; "
                "name a new folder"
            )
        if row is not None and not (retry_failed and row["finish"] == "failed"):
            continue
        if left.setdefault(one.key, one) != one:
            raise InvalidInputError(f"questions: {'/'.join(one.key)!r} stands for two different questions")
    return list(left.values())


def _append(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the rows in one go; they are durable on return."""
    data = "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
    with path.open("ab") as file:
        file.write(data.encode("utf-8", "backslashreplace"))
        file.flush()
        os.fsync(file.fileno())
