"""Progress on standard error, where that is a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

__all__ = ["Bar", "progress"]

Item = TypeVar("Item")


class Bar:
    """One running bar or count."""

    def __init__(self, bars: Any, task: Any) -> None:
        self._bars = bars
        self._task = task

    def add(self, n: int = 1) -> None:
        """Move on by n."""
        self._bars.update(self._task, advance=n)

    def counted(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items, moving on by one each."""
        for item in items:
            yield item
            self.add()


@contextmanager
def progress(what: str, total: int | None = None, show: bool = True) -> Iterator[Bar]:
    """Show a bar, or a count where the total is not known; nothing unless standard error is a terminal."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    shown = show and console.is_terminal
    count = [MofNCompleteColumn(), TimeRemainingColumn()] if total else [TextColumn("{task.completed:,.0f}")]
    bar = [BarColumn()] if total else []
    name = TextColumn("{task.description}", markup=False)
    columns = [SpinnerColumn(), name, *bar, *count, TimeElapsedColumn()]
    with Progress(*columns, console=console, disable=not shown, transient=True) as bars:
        yield Bar(bars, bars.add_task(what, total=total))
