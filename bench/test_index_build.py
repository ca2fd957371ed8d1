"""Building an index from a list of Python strings, ours and every peer that reads strings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bench import peers
from bench.rows import Context

ENGINES = ("sqe_fast", *peers.PEERS)
THREADED = ("sqe_fast", "tantivy")


def cases() -> Iterator[Any]:
    """All cases; two threads only for those whose build uses them."""
    for corpus in ("zipf5k", "pypi200k", "zipf200k"):
        for threads in (1, 2):
            for engine in ENGINES if threads == 1 else THREADED:
                mark = pytest.mark.benchmark(group=f"build {corpus}, threads {threads}")
                yield pytest.param(corpus, threads, engine, marks=mark, id=f"{corpus}-{threads}thr-{engine}")


@pytest.mark.parametrize(("corpus", "threads", "engine"), list(cases()))
def test_build(context: Context, timed: Callable[..., None], corpus: str, threads: int, engine: str) -> None:
    def prepare() -> tuple[Callable[[], object], int]:
        texts = context.corpus(corpus).texts

        def build() -> None:
            made = context.make(engine)
            made.build(texts, threads)
            made.close()

        return build, len(texts)

    timed(prepare, "documents", corpus=corpus, engine=engine, threads=threads)
