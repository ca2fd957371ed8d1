"""The exceptions this package raises on purpose; each message says what was given and what is allowed."""

from __future__ import annotations

__all__ = [
    "IndexFileError",
    "InvalidInputError",
    "InvalidTypeError",
    "MissingExtraError",
    "ModelUnavailableError",
    "RecordError",
    "SqeFastError",
    "StoreError",
    "StoreLockedError",
]


class SqeFastError(Exception):
    """Base of every error raised on purpose by this package."""


class InvalidInputError(SqeFastError, ValueError):
    """An argument has the right type but a value, shape or range that is not allowed."""


class InvalidTypeError(SqeFastError, TypeError):
    """An argument has a type that is not allowed."""


class IndexFileError(SqeFastError, OSError):
    """An index file is missing, damaged, of another kind or version, or cannot be written."""


class MissingExtraError(SqeFastError, ImportError):
    """A feature needs a package that is not installed; the message names the extra to install."""


class RecordError(SqeFastError, ValueError):
    """A record of an input file is broken; the message names the file and the line or record."""


class StoreError(SqeFastError, OSError):
    """A memory store cannot be opened, read or written; what `add` confirmed before is kept."""


class StoreLockedError(StoreError):
    """Another process, or another object in this one, has the memory store open for writing."""


class ModelUnavailableError(SqeFastError, RuntimeError):
    """A model's weights or its endpoint cannot be had; the message says how to get one."""
