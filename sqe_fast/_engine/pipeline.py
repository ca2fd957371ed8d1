"""Three stages a chunk, of which the middle one waits for a model: the next chunk begins meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

__all__ = ["overlapped"]

Chunk = TypeVar("Chunk")
First = TypeVar("First")
Second = TypeVar("Second")
Result = TypeVar("Result")


def overlapped(
    chunks: Iterable[Chunk],
    first: Callable[[Chunk], First],
    second: Callable[[First], Second],
    third: Callable[[First, Second], Result],
) -> Generator[Result, None, None]:
    """Yield ``third(a, second(a))`` for each ``a = first(chunk)``, in order.

    `first` and `third` run in the caller's thread, `second` in one thread beside it: while it works on a
    chunk, `first` of the next one and `third` of the one before are done. Two chunks are held at a time,
    whatever the number of chunks; a chunk's result comes when the next chunk has been read.
    """
    waiting: tuple[First, Future[Second]] | None = None
    worker = ThreadPoolExecutor(1, thread_name_prefix="sqe-expand")
    try:
        for chunk in chunks:
            state = first(chunk)
            coming = worker.submit(second, state)
            if waiting is not None:
                yield third(waiting[0], waiting[1].result())
            waiting = (state, coming)
        if waiting is not None:
            yield third(waiting[0], waiting[1].result())
    finally:
        worker.shutdown(wait=True, cancel_futures=True)
