"""Parquet files, in batches, through pyarrow (the extra `parquet`)."""

from __future__ import annotations

import datetime
import decimal
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqe_fast.errors import InvalidInputError, MissingExtraError

__all__ = ["MAGIC", "records"]

MAGIC = b"PAR1"
BATCH = 1024  # rows in memory at a time


def records(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield (row number from 1, record); a file that cannot be read to its end ends with an error."""
    try:
        pyarrow = importlib.import_module("pyarrow")
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise MissingExtraError(
            f"{path} is Parquet; reading it needs pyarrow: pip install 'sqe_fast[parquet]'"
        ) from None
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=BATCH):
                for record in batch.to_pylist():
                    number += 1
                    yield number, _plain(record)
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        yield number + 1, InvalidInputError(f"not Parquet that can be read: {error}")


def _plain(value: Any) -> Any:
    """Return `value` with times as ISO 8601 text and decimals as text, which JSON can hold."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return str(value) if isinstance(value, (decimal.Decimal, datetime.timedelta)) else value
