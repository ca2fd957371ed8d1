"""Data sets on the Hugging Face hub, streamed through `datasets` (the extra of that name)."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from sqe_fast.errors import InvalidInputError, MissingExtraError

__all__ = ["records"]


def records(name: str, split: str, config: str | None = None) -> Iterator[tuple[int, Any]]:
    """Yield (row number from 1, record) of one split of a data set, without downloading it whole.

    `config` names one of the parts of a data set that has several.

    Raises
    ------
    MissingExtraError
        `datasets` is not installed.
    InvalidInputError
        The data set or the split cannot be had.
    """
    try:
        datasets = importlib.import_module("datasets")
    except ImportError:
        raise MissingExtraError(
            f"there is no file or folder {name!r}; reading a data set of that name from the hub needs "
            "datasets: pip install 'sqe_fast[datasets]'"
        ) from None
    try:
        stream = datasets.load_dataset(name, config, split=split, streaming=True)
    except Exception as error:  # the library raises errors of many kinds for what cannot be had
        part = f"{config}, split {split!r}" if config else f"split {split!r}"
        raise InvalidInputError(f"{name!r} ({part}) cannot be had from the hub: {error}") from error
    return _records(stream)


def _records(stream: Any) -> Iterator[tuple[int, Any]]:
    number = 0
    try:
        for number, record in enumerate(stream, 1):
            yield number, record
    except OSError as error:  # the network; a part of a data set must not pass for the whole
        yield number + 1, InvalidInputError(f"cannot be read further: {error}")
