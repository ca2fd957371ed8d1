"""What the workers of verl share: retrievers and compressors by their names in a configuration."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from sqe_fast._checks import describe
from sqe_fast.agent.observe import Observation, Observer
from sqe_fast.agent.retrievers import IndexRetriever, ServerRetriever
from sqe_fast.agent.squeeze import Squeezer
from sqe_fast.agent.values import Asking, Retriever
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.generate import make_generator

__all__ = ["SharedObserver", "get_compressor", "get_retriever"]


def get_retriever(wanted: Any) -> Retriever | None:
    """Return a retriever from a configuration, one a process for each name.

    Parameters
    ----------
    wanted : str or Retriever or None
        "http://HOST:PORT" of a Search-R1 server, or a BEIR folder or file of passages (searched by BM25). An
        object that hydra has made (``_target_``) is taken as it is.
    """
    if wanted is None or hasattr(wanted, "search") or hasattr(wanted, "search_for"):
        found: Retriever | None = wanted
        return found
    if not isinstance(wanted, str):
        raise InvalidTypeError(f"retriever must be a str or an object with search; got {describe(wanted)}")
    return _retriever(wanted)


def get_compressor(wanted: Any, max_new_tokens: int = 512) -> Squeezer | None:
    """Return a compressor from a configuration, one a process for each spec of `make_generator`."""
    if wanted is None or isinstance(wanted, Squeezer):
        return wanted
    if isinstance(wanted, str):
        return _compressor(wanted, max_new_tokens)
    return Squeezer(wanted, max_new_tokens=max_new_tokens)


@lru_cache(maxsize=8)
def _retriever(wanted: str) -> Retriever:
    if wanted.startswith(("http://", "https://")):
        return ServerRetriever(wanted)
    if not Path(wanted).exists():
        raise InvalidInputError(
            f"retriever must be http://HOST:PORT or a file or folder of passages; got {wanted!r}"
        )
    return IndexRetriever.from_beir(wanted)


@lru_cache(maxsize=8)
def _compressor(spec: str, max_new_tokens: int) -> Squeezer:
    return Squeezer(make_generator(spec), max_new_tokens=max_new_tokens)


class SharedObserver:
    """Answers the searches of agent loops that run side by side in one event loop.

    Those that wait at the same time are one batch: one call of the retriever, one of the compressor. While a
    batch is under way (in a thread), the next one gathers.
    """

    def __init__(self, observer: Observer) -> None:
        self.observer = observer
        self._waiting: list[tuple[tuple[str, ...], Asking, asyncio.Future[Observation]]] = []
        self._task: asyncio.Task[None] | None = None

    async def observe(self, searches: Sequence[tuple[str, ...]], askings: Sequence[Asking]) -> Any:
        """Return one `Observation` for each search; raises what the retriever raises."""
        loop = asyncio.get_running_loop()
        futures = [loop.create_future() for _ in searches]
        self._waiting += zip(searches, askings, futures, strict=True)
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._work())
        return await asyncio.gather(*futures)

    async def _work(self) -> None:
        while True:
            await asyncio.sleep(0)  # whoever is ready to search joins
            batch, self._waiting = self._waiting, []
            if not batch:
                return
            try:
                found = await asyncio.to_thread(
                    self.observer.observe, [queries for queries, _, _ in batch], [who for _, who, _ in batch]
                )
            except Exception as error:  # each of those who wait gets it
                for _, _, future in batch:
                    if not future.done():
                        future.set_exception(error)
            else:
                for (_, _, future), one in zip(batch, found, strict=True):
                    if not future.done():
                        future.set_result(one)
