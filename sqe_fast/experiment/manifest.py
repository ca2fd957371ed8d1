"""Manifests: what was chosen and what came of it, as JSON that a person reads and a program compares."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sqe_fast._store.files import replace_file, sha256_of
from sqe_fast.episode import Episode
from sqe_fast.errors import InvalidInputError, RecordError

__all__ = ["changes", "episodes_sha256", "read_manifest", "source_sha256", "write_manifest"]

FORMAT = 1


def write_manifest(path: Path, content: Mapping[str, Any]) -> None:
    """Write a manifest in one step; equal content gives equal bytes."""
    told = {"format": FORMAT, **content}
    replace_file(path, (json.dumps(told, indent=2, allow_nan=False) + "\n").encode())


def read_manifest(path: Path) -> dict[str, Any]:
    """Return the content of a manifest.

    Raises
    ------
    InvalidInputError
        It is not there, or of another format.
    RecordError
        It is damaged.
    """
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise InvalidInputError(f"cannot read the manifest {path}: {error.strerror}") from error
    except ValueError as error:
        raise RecordError(f"{path}: not JSON ({error})") from None
    if not isinstance(content, dict) or "format" not in content:
        raise RecordError(f"{path}: not a manifest of an experiment")
    if content.pop("format") != FORMAT:
        raise InvalidInputError(f"{path} is of another format; this version reads format {FORMAT}")
    return content


def changes(had: Any, given: Any, name: str = "") -> list[str]:
    """Return how `given` differs from what a folder `had`, one text a value, by its path.

    Of many values together that one side lacks, such as a method, only the name is told.

    Examples
    --------
    >>> changes({"n": 5, "bm25": {"k1": 1.5}}, {"n": 5, "bm25": {"k1": 1.2}})
    ['bm25.k1: there it is 1.5, given 1.2']
    """
    if isinstance(had, Mapping) and isinstance(given, Mapping):
        keys = dict.fromkeys([*had, *given])
        return [
            change
            for key in keys
            for change in changes(had.get(key), given.get(key), f"{name}.{key}" if name else str(key))
        ]
    if isinstance(had, Mapping) and given is None:
        return [f"{name}: is there, and not given"]
    if had is None and isinstance(given, Mapping):
        return [f"{name}: is given, and not there"]
    return [] if had == given else [f"{name}: there it is {json.dumps(had)}, given {json.dumps(given)}"]


def source_sha256(path: Path) -> str:
    """Return the SHA-256 of a file; of a folder, that over the names and checksums of its files."""
    if path.is_file():
        return sha256_of(path)
    digest = hashlib.sha256()
    for file in sorted(file for file in path.rglob("*") if file.is_file()):
        digest.update(f"{file.relative_to(path).as_posix()} {sha256_of(file)}\n".encode())
    return digest.hexdigest()


def episodes_sha256(episodes: Iterable[Episode]) -> str:
    """Return the SHA-256 over the content of episodes, in order: what a store holds, not how."""
    digest = hashlib.sha256()
    for one in episodes:
        line = [one.id, one.text, one.task_id, dict(one.fields)]
        digest.update(json.dumps(line, sort_keys=True).encode("ascii") + b"\n")
    return digest.hexdigest()
