"""Files of a store: durable writes and checksums."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

__all__ = ["replace_file", "sha256_of", "sync_file", "sync_folder"]

BLOCK = 1 << 20


def sync_folder(folder: Path) -> None:
    """Make the entries of a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """Make the content of a file durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Give `path` a new content in one step: at any moment it has the old one or the new one, whole.

    Without `durable` a crash of the machine may damage it: for what is easily made again.
    """
    fresh = path.with_name(path.name + ".new")
    with fresh.open("wb") as file:
        file.write(content)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    fresh.replace(path)
    if durable:
        sync_folder(path.parent)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file as hex digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()
