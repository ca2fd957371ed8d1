"""The one verb of the readers: `read`, and the iterator that it returns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path

from sqe_fast._checks import describe
from sqe_fast.episode import Episode
from sqe_fast.errors import InvalidInputError, InvalidTypeError, RecordError, SqeFastError
from sqe_fast.readers import hub
from sqe_fast.readers.containers import Row, Rows, file_rows
from sqe_fast.readers.forms import Form, Names, form_of, unknown_record

__all__ = ["Reading", "read"]

SUFFIXES = (".jsonl", ".json", ".ndjson", ".parquet", ".traj")
HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")


def read(
    path_or_name: str | PathLike[str],
    *,
    skip_bad: bool = False,
    on_bad: Callable[[RecordError], None] | None = None,
    split: str = "tool",
) -> Reading:
    r"""Return the episodes of a file, a folder or a data set on the Hugging Face hub, one at a time.

    Parameters
    ----------
    path_or_name : str or path
        A file (JSON Lines, JSON or Parquet; gzip accepted for the first two), a folder (its files in sorted
        order; names with suffixes that no reader knows are passed over), or `owner/name` on the hub.
    skip_bad : bool
        Count broken records and go on, where the default is to raise at the first.
    on_bad : callable, optional
        Called with the `RecordError` of each record that is skipped.
    split : str
        Which split of a data set on the hub.

    Returns
    -------
    Reading
        An iterator of `Episode`; its `skipped` counts the broken records passed over so far.

    Raises
    ------
    InvalidInputError
        Nothing is there under that name.
    MissingExtraError
        Parquet without the extra `parquet`, or a data set on the hub without the extra `datasets`.
    RecordError
        While iterating: a broken record, with its file and its line or row.

    Notes
    -----
    A record's own id is kept (an int becomes its digits). A step of a trajectory gets `<trajectory>/<step>`;
    the trajectory is the record's `traj_id` or `instance_id`, else the file's path below the folder that is
    read, and a name seen before in the same reading gets `#2`, `#3` and so on.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "memory.jsonl").write_text('{"id": "a", "text": "make test failed"}\nnot json')
    >>> reading = read(folder, skip_bad=True)
    >>> [episode.id for episode in reading], reading.skipped
    (['a'], 1)
    """
    if not isinstance(path_or_name, (str, PathLike)):
        raise InvalidTypeError(f"path_or_name must be a path or a str; got {describe(path_or_name)}")
    path = Path(path_or_name)
    if path.exists():
        return Reading(_path_rows(path), skip_bad, on_bad)
    name = str(path_or_name)
    if not HUB_NAME.fullmatch(name) or _suffix(path) is not None:
        raise InvalidInputError(
            f"there is no file or folder {name!r} (and a data set on the hub is named owner/name)"
        )
    rows = (Row(f"{name}, row {number}", record) for number, record in hub.records(name, split))
    return Reading(iter([(name, rows)]), skip_bad, on_bad)


class Reading(Iterator[Episode]):
    """The iterator that `read` returns.

    Attributes
    ----------
    skipped : int
        How many broken records were passed over so far; always 0 without `skip_bad`.
    """

    def __init__(
        self,
        sources: Iterator[tuple[str, Rows]],
        skip_bad: bool,
        on_bad: Callable[[RecordError], None] | None,
    ) -> None:
        self.skipped = 0
        self._skip_bad = skip_bad
        self._on_bad = on_bad
        self._episodes = self._run(sources)

    def __next__(self) -> Episode:
        return next(self._episodes)

    def _run(self, sources: Iterator[tuple[str, Rows]]) -> Iterator[Episode]:
        names = Names()
        for source, rows in sources:
            form: Form | None = None
            for row in rows:
                try:
                    if isinstance(row.record, SqeFastError):
                        raise row.record
                    form = form_of(row.record) or form
                    if form is None:
                        raise unknown_record(row.record)
                    found = list(form.episodes(row.record, source, names))
                except (SqeFastError, RecursionError) as error:
                    self._bad(RecordError(f"{row.where}: {error}"), error)
                else:
                    yield from found

    def _bad(self, error: RecordError, cause: Exception) -> None:
        if not self._skip_bad:
            raise error from cause
        self.skipped += 1
        if self._on_bad is not None:
            self._on_bad(error)


def _suffix(path: Path) -> str | None:
    """Return the known suffix of `path`, that of the packed file for a name in .gz; None for any other."""
    inner = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return inner.suffix.lower() if inner.suffix.lower() in SUFFIXES else None


def _path_rows(path: Path) -> Iterator[tuple[str, Rows]]:
    """Yield (name that ids of trajectories start with, rows) of a file, or of each file of a folder."""
    if not path.is_dir():
        yield _stem(Path(path.name)), file_rows(path)
        return
    files = sorted(file for file in path.rglob("*") if file.is_file() and _suffix(file) is not None)
    files = [file for file in files if not any(part.startswith(".") for part in file.relative_to(path).parts)]
    if not files:
        raise InvalidInputError(
            f"the folder {str(path)!r} holds no file with a suffix of {', '.join(SUFFIXES)}"
        )
    for file in files:
        if not _beside_corpus(file):
            yield _stem(file.relative_to(path)), file_rows(file)


def _beside_corpus(file: Path) -> bool:
    """Return whether `file` is the questions of a BEIR folder, whose records look like documents."""
    return file.name.startswith("queries") and any(
        (file.parent / name).exists() for name in ("corpus.jsonl", "corpus.jsonl.gz", "corpus.parquet")
    )


def _stem(relative: Path) -> str:
    """Return the path without its known suffixes: `run/a.traj.json.gz` is `run/a`."""
    while relative.suffix.lower() in (".gz", *SUFFIXES) and relative.stem:
        relative = relative.with_suffix("")
    return relative.as_posix()
