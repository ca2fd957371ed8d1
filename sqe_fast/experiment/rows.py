"""Per-query rows of an experiment: the release's form and names, and what ours hold besides.

One JSONL file a method, one folder a seed. `read_experiment` takes our layout (``seed42/results``) and the
release's (``results_500_memory_seed42``) alike; of the release's rows what is ours alone is simply not there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqe_fast._checks import check_int
from sqe_fast.errors import InvalidInputError, RecordError
from sqe_fast.experiment._rows.parse import Parsed, read_lines
from sqe_fast.experiment._rows.write import write_rows
from sqe_fast.experiment.layout import PROBES, ROWS, seed_of
from sqe_fast.methods import METHODS, Method

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

METHOD_FILES: Mapping[str, str] = MappingProxyType(
    {
        "Dense-Only": f"dense_only{ROWS}",
        "BM25-Only": f"bm25_only{ROWS}",
        "Hybrid-RRF": f"hybrid_rrf{ROWS}",
        "Paraphrases-Only": f"paraphrases_only{ROWS}",
        "HyDE-Traces-Only": f"traces_only{ROWS}",
        "Always-Expand": f"always_expand{ROWS}",
        "Random-Gated-Expansion": f"random_budget{ROWS}",
        "Selective-QE": f"proposed{ROWS}",
    }
)
"""The release's file of each of its methods; any other method is in ``ALIAS_detailed.jsonl``."""

_NAME_OF = {file: name for name, file in METHOD_FILES.items()}


def file_of(method: Method) -> str:
    """Return the name of the file that holds the rows of a method.

    Examples
    --------
    >>> from sqe_fast.methods import get_method
    >>> file_of(get_method("sqe")), file_of(get_method("oracle"))
    ('proposed_detailed.jsonl', 'oracle_detailed.jsonl')
    """
    return METHOD_FILES.get(method.name, f"{method.alias}{ROWS}")


@dataclass(frozen=True, eq=False)
class MethodRows:
    """The rows of one method over n queries, as columns.

    Attributes
    ----------
    method : str
        The method's name in the release, such as "Selective-QE".
    path : Path
        The file.
    query_ids, queries, targets : tuple of str
        Of each row.
    lines : tuple of int
        The line of the file that each row stands on, from 1.
    retrieved : tuple of tuple of str
        The ids of the hits, best first, at most 10 in the protocol.
    rank : int32[n]
        1-based rank of the target among them; 0: not retrieved.
    expanded : bool[n]
        Whether lists of an expansion took part.
    top1 : float64[n]
        Dense score of the question's own best hit; nan where the row has none.
    calls, prompt_tokens, completion_tokens, cached_tokens : int64[n]
        What the generation of the row's expansion cost when it was made; 0 where the row does not say.
    seconds : float64[n]
        Seconds of the query; nan where not measured. The run's manifest says how.
    signals : mapping of str to float64[n]
        What the gate could see; nan for a value that is absent or infinite.
    raw : tuple of mapping
        The rows as read.
    """

    method: str
    path: Path
    query_ids: tuple[str, ...]
    queries: tuple[str, ...]
    targets: tuple[str, ...]
    lines: tuple[int, ...]
    retrieved: tuple[tuple[str, ...], ...]
    rank: NDArray[np.int32]
    expanded: NDArray[np.bool_]
    top1: NDArray[np.float64]
    calls: NDArray[np.int64]
    prompt_tokens: NDArray[np.int64]
    completion_tokens: NDArray[np.int64]
    cached_tokens: NDArray[np.int64]
    seconds: NDArray[np.float64]
    signals: Mapping[str, NDArray[np.float64]]
    raw: tuple[Mapping[str, Any], ...]

    def __len__(self) -> int:
        return len(self.query_ids)

    def hit(self, k: int) -> NDArray[np.bool_]:
        """bool[n]: the target is among the first k hits."""
        found: NDArray[np.bool_] = (self.rank > 0) & (self.rank <= check_int("k", k, 1))
        return found

    def taken(self, order: Sequence[int]) -> MethodRows:
        """Return the rows at these positions, in this order."""
        changed: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                changed[field.name] = value[list(order)]
            elif isinstance(value, tuple):
                changed[field.name] = tuple(value[i] for i in order)
        signals = {name: values[list(order)] for name, values in self.signals.items()}
        return replace(self, **changed, signals=signals)


@dataclass(frozen=True, eq=False)
class SeedRows:
    """The rows of all methods of one seed, aligned: row i of each method is of the same query.

    Attributes
    ----------
    seed : int
    folder : Path
        The folder of the row files.
    query_ids, queries, targets : tuple of str
        n of each.
    methods : mapping of str to MethodRows
        By name, in the order of `METHOD_FILES`, further ones behind.
    """

    seed: int
    folder: Path
    query_ids: tuple[str, ...]
    queries: tuple[str, ...]
    targets: tuple[str, ...]
    methods: Mapping[str, MethodRows]

    def __len__(self) -> int:
        return len(self.query_ids)


@dataclass(frozen=True, eq=False)
class Experiment:
    """The seeds of an experiment, in rising order."""

    root: Path
    seeds: tuple[SeedRows, ...]


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
    return _columns(path, parsed)


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
    return _aligned(check_int("seed", seed, 0), found, [read_rows(file) for file in files])


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


def _columns(path: Path, parsed: Parsed) -> MethodRows:
    rows = parsed.rows
    names = dict.fromkeys(name for row in rows for name in row.get("signals") or ())
    retrieved = tuple(tuple(row["retrieved_ids"]) for row in rows)
    targets = tuple(row["target_id"] for row in rows)
    pairs = zip(retrieved, targets, strict=True)
    ranks = [ids.index(target) + 1 if target in ids else 0 for ids, target in pairs]
    return MethodRows(
        method=_method_name(path, rows[0]),
        path=path,
        query_ids=tuple(row["query_id"] for row in rows),
        queries=tuple(row["query"] for row in rows),
        targets=targets,
        lines=parsed.lines,
        retrieved=retrieved,
        rank=np.array(ranks, np.int32),
        expanded=np.array([bool(meta.get("expanded")) for meta in parsed.metas], np.bool_),
        top1=parsed.floats("top1_score_before_expansion"),
        calls=parsed.ints("llm_calls"),
        prompt_tokens=parsed.ints("prompt_tokens"),
        completion_tokens=parsed.ints("completion_tokens"),
        cached_tokens=np.array([row.get("cached_tokens") or 0 for row in rows], np.int64),
        seconds=parsed.floats("elapsed_seconds"),
        signals={
            name: np.array([_number((row.get("signals") or {}).get(name)) for row in rows], np.float64)
            for name in names
        },
        raw=tuple(rows),
    )


def _method_name(path: Path, row: Mapping[str, Any]) -> str:
    if path.name in _NAME_OF:
        return _NAME_OF[path.name]
    if isinstance(row.get("method"), str):
        return str(row["method"])
    alias = path.name.removesuffix(ROWS)
    return next((method.name for method in METHODS.values() if method.alias == alias), alias)


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _aligned(seed: int, folder: Path, parts: Sequence[MethodRows]) -> SeedRows:
    first = parts[0]
    line_of = {name: place for place, name in enumerate(first.query_ids)}
    methods: dict[str, MethodRows] = {}
    for part in parts:
        if part.method in methods:
            raise InvalidInputError(
                f"{part.path} and {methods[part.method].path.name} both hold rows of {part.method}"
            )
        place_of = {name: place for place, name in enumerate(part.query_ids)}
        for name, place in place_of.items():
            where = f"{part.path}:{part.lines[place]}: query_id {name!r}"
            at = line_of.get(name)
            if at is None:
                raise RecordError(f"{where} is not in {first.path.name}")
            other = f"{first.path.name}:{first.lines[at]}"
            if part.targets[place] != first.targets[at]:
                raise RecordError(
                    f"{where} has the target {part.targets[place]!r}; {other} has {first.targets[at]!r}"
                )
            if part.queries[place] != first.queries[at]:
                raise RecordError(f"{where} has another query than {other}")
        for name, at in line_of.items():
            if name not in place_of:
                raise RecordError(
                    f"{part.path}: no row of query_id {name!r}, which {first.path.name}:{first.lines[at]} has"
                )
        order = [place_of[name] for name in first.query_ids]
        methods[part.method] = part if order == list(range(len(order))) else part.taken(order)
    return SeedRows(seed, folder, first.query_ids, first.queries, first.targets, methods)
