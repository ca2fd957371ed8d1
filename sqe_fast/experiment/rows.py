"""Per-query rows of an experiment: the release's form and names, and what ours hold besides.

One JSONL file a method, one folder a seed. `read_experiment` takes our layout (``seed42/results``) and the
release's (``results_500_memory_seed42``) alike; of the release's rows what is ours alone is simply not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from sqe_fast._checks import check_int
from sqe_fast.errors import InvalidInputError
from sqe_fast.experiment._rows.names import METHOD_FILES, file_of
from sqe_fast.experiment._rows.parse import read_lines
from sqe_fast.experiment._rows.values import Experiment, MethodRows, SeedRows, aligned, columns
from sqe_fast.experiment._rows.write import write_rows
from sqe_fast.experiment.layout import PROBES, ROWS, seed_of

__all__ = [
    "METHOD_FILES",
    "Experiment",
    "MethodRows",
    "SeedRows",
    "file_of",
    "read_experiment",
    "read_probes",
    "read_rows",
    "read_seed",
    "row_folders",
    "write_rows",
]


def read_rows(path: str | PathLike[str]) -> MethodRows:
    """Read the rows of one method.

    Raises
    ------
    RecordError
        A row is broken, or its query_id stands there twice; the message names file and line.
    InvalidInputError
        The file cannot be read, or holds no row.
    """
    path = Path(path)
    parsed = read_lines(path)
    return columns(path, parsed)


def read_seed(folder: str | PathLike[str], seed: int | None = None) -> SeedRows:
    """Read the rows of all methods of one seed.

    Parameters
    ----------
    folder
        That of the row files, or ours of the seed, which has them in ``results``.
    seed
        By default the number that the folder's name ends with, as in ``seed42``.

    Raises
    ------
    RecordError
        A row is broken, or its query is missing or another one in another file; names file and line.
    InvalidInputError
        There are no rows, or the folder's name tells no seed.
    """
    folder = Path(folder)
    found = _results(folder)
    if found is None:
        raise InvalidInputError(f"the folder {str(folder)!r} holds no rows (*{ROWS})")
    if seed is None:
        seed = seed_of(folder)
        if seed is None and folder.name == "results":
            seed = seed_of(folder.absolute().parent)
    if seed is None:
        raise InvalidInputError(
            f"the folder's name {folder.name!r} does not end with a seed such as seed42; give seed="
        )
    order = {file: place for place, file in enumerate(METHOD_FILES.values())}
    files = sorted(found.glob(f"*{ROWS}"), key=lambda file: (order.get(file.name, len(order)), file.name))
    return aligned(check_int("seed", seed, 0), found, [read_rows(file) for file in files])


def read_experiment(root: str | PathLike[str], seeds: Sequence[int] | None = None) -> Experiment:
    """Read the rows of all seeds below `root`, or of `seeds` only, in our layout or the release's.

    Raises
    ------
    RecordError
        See `read_seed`.
    InvalidInputError
        There are no rows, a seed that was asked for has none, or two folders are of one seed.
    """
    root = Path(root)
    if not root.is_dir():
        raise InvalidInputError(f"there is no folder {str(root)!r}")
    folders = row_folders(root)
    if missing := sorted(set(seeds or ()) - set(folders)):
        has = ", ".join(map(str, sorted(folders))) or "none"
        raise InvalidInputError(f"{str(root)!r} holds no rows of seed {missing[0]}; it has {has}")
    if not folders:
        raise InvalidInputError(
            f"{str(root)!r} holds no rows: folders seedN/results (ours) or results_*_seedN (the release's) "
            f"with files *{ROWS} are looked for"
        )
    wanted = sorted(folders) if seeds is None else sorted(set(seeds))
    return Experiment(root, tuple(read_seed(folders[seed], seed) for seed in wanted))


def row_folders(root: Path) -> dict[int, Path]:
    """Return the folder of each seed that holds rows.

    Where several are of one seed, it is the one that has files by the names of `METHOD_FILES`: the release
    keeps its runs with measured tokens, under other names, in a folder beside.

    Raises
    ------
    InvalidInputError
        Two folders are of one seed, and neither or both have such files.
    """
    folders: dict[int, dict[Path, Path]] = {}
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        seed, results = seed_of(folder), _results(folder)
        if seed is not None and results is not None:
            folders.setdefault(seed, {})[folder] = results
    found = {}
    for seed, given in folders.items():
        named = [
            folder
            for folder, results in given.items()
            if len(given) == 1 or any((results / file).is_file() for file in METHOD_FILES.values())
        ]
        if len(named) != 1:
            one, other, *_ = given
            raise InvalidInputError(f"two folders hold rows of seed {seed}: {one} and {other}")
        found[seed] = named[0]
    return found


def read_probes(folder: str | PathLike[str]) -> list[dict[str, Any]] | None:
    """Return the probes of every question of a seed as `run` has kept them; None where there are none.

    Each is {"query_id", "query", "target_id", "traces", "paraphrases", "problem", "lists"}, and each of its
    lists {"name", "ids", "scores", "target_rank"}: a probe's own ranked list before fusion.
    """
    found = _results(Path(folder))
    path = (found or Path(folder)) / PROBES
    if not path.is_file():
        return None
    return [dict(row) for row in read_lines(path, retrieved=False).rows]


def _results(folder: Path) -> Path | None:
    """Return where the rows of a seed's folder are: in it, or in its folder ``results``."""
    for place in (folder / "results", folder):
        if place.is_dir() and next(place.glob(f"*{ROWS}"), None) is not None:
            return place
    return None
