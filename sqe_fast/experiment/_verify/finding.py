"""What a check found wrong, and where."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Finding"]


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong.

    Attributes
    ----------
    where : str
        A file of the experiment, with the line where there is one, or a cell of a table.
    what : str
        What is there, and what must be.
    query_id : str or None
        Of the row, where it is one.
    """

    where: str
    what: str
    query_id: str | None = None

    def __str__(self) -> str:
        row = f" ({self.query_id})" if self.query_id is not None else ""
        return f"{self.where}{row}: {self.what}"
