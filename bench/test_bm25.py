"""BM25 search, ours and every peer, on the same queries: corpora x terms x k x threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bench import peers
from bench.rows import Context

ENGINES = ("sqe_fast", "sqe_fast okapi", *peers.PEERS)
ONE_THREAD = ("rank_bm25",)


def cases() -> Iterator[Any]:
    """All cases, corpus by corpus, so that each index is built once."""
    for corpus in ("zipf5k", "pypi5k", "zipf200k", "pypi200k"):
        for terms in (8, 80):
            for k in (10, 100):
                for threads in (1, 2):
                    for engine in ENGINES:
                        if threads == 2 and engine in ONE_THREAD:
                            continue
                        if engine == "rank_bm25" and corpus.endswith("200k") and (terms, k) != (8, 10):
                            continue  # seconds a query, the same for any k
                        group = f"bm25 {corpus}, {terms} terms, k {k}, threads {threads}"
                        mark = pytest.mark.benchmark(group=group)
                        name = f"{corpus}-{terms}t-k{k}-{threads}thr-{engine.replace(' ', '_')}"
                        yield pytest.param(corpus, terms, k, threads, engine, marks=mark, id=name)


@pytest.mark.parametrize(("corpus", "terms", "k", "threads", "engine"), list(cases()))
def test_search(
    context: Context, timed: Callable[..., None], corpus: str, terms: int, k: int, threads: int, engine: str
) -> None:
    timed(
        lambda: context.search(corpus, engine, terms, k, threads),
        "queries",
        corpus=corpus,
        engine=engine,
        threads=threads,
    )
