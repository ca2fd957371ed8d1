"""BM25 search: against bm25s, the best of all peers, rank_bm25, one thread, and the baseline kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from bench import ours, peers
from bench.measure import race
from bench.rows.base import Case, Context, Row, Settings, need_two_cores

__all__ = ["cases"]

SMALL, LARGE = ("zipf5k", "pypi5k"), ("zipf200k", "pypi200k")
QPS = "queries/s"
CONTENDERS = tuple(name for name in peers.PEERS if name != "rank_bm25")
QUICK_CONTENDERS = ("bm25s", "bm25q-u8", "pisa")  # the others take long to build and were never the best
THREADS_BATCH = {8: 1_000, 80: 200}  # what the two-thread rows search, in quick runs too


def cases(settings: Settings) -> list[Case]:
    """Return the cases, corpus by corpus."""
    rows: list[Case] = []
    for corpus in (*SMALL, *LARGE):
        for k in settings.ks:
            rows += [
                Case(goal, f"{corpus}, {terms} terms, k {k}", partial(versus, goal, corpus, terms, k, names))
                for goal, terms, names in races(corpus, settings)
            ]
        if corpus in SMALL or not settings.quick:
            goal = "BM25 okapi, against rank_bm25"
            rows.append(Case(goal, f"{corpus}, 8 terms, k 10", partial(okapi, goal, corpus)))
        for terms in (8, 80):
            name = f"{corpus}, {terms} terms, k 10"
            goal = "two threads against one"
            rows.append(Case(goal, name, partial(two_threads, goal, corpus, terms)))
            goal = "instruction set level, against baseline"
            for level in ("avx2", "avx512"):
                title = f"{level}: {name}"
                rows.append(Case(goal, title, partial(isa_level, goal, title, corpus, terms, level)))
    return rows


def races(corpus: str, settings: Settings) -> list[tuple[str, int, tuple[str, ...]]]:
    """Return (goal, terms of a query, peers) for a corpus."""
    size = "5k" if corpus in SMALL else "200k"
    pairs: list[tuple[str, int, tuple[str, ...]]] = [
        (f"BM25, {size} documents, against bm25s numba", 8, ("bm25s",)),
        ("BM25, 80-term queries, against bm25s numba", 80, ("bm25s",)),
    ]
    if corpus in LARGE:
        names = QUICK_CONTENDERS if settings.quick else CONTENDERS
        pairs.append(("BM25, 200k documents, against the best peer", 8, names))
        if not settings.quick:
            pairs.append(("BM25, 80-term queries, against the best peer", 80, CONTENDERS))
    return pairs


def versus(goal: str, corpus: str, terms: int, k: int, names: tuple[str, ...], context: Context) -> Row:
    """Race ours (Lucene's formula, as the peers) against peers and take the fastest of those."""
    calls: dict[str, Callable[[], Any]] = {}
    counts, absent = {}, []
    for name in ("sqe_fast", *names):
        try:
            calls[name], counts[name] = context.search(corpus, name, terms, k)
        except peers.EngineUnavailableError as error:
            absent.append(str(error))
    if len(calls) == 1:
        raise peers.EngineUnavailableError("; ".join(absent))
    speeds = {
        name: counts[name] / timing.best for name, timing in race(calls, context.settings.repeats).items()
    }
    mine = speeds.pop("sqe_fast")
    best = max(speeds, key=lambda name: speeds[name])
    note = ""
    if len(names) > 1:
        listed = sorted(speeds.items(), key=lambda item: -item[1])
        note = "; ".join([f"{name} {speed:,.0f}" for name, speed in listed] + absent)
    return Row(goal, f"{corpus}, {terms} terms, k {k}", mine, speeds[best], QPS, mine / speeds[best], note)


def okapi(goal: str, corpus: str, context: Context) -> Row:
    """Race ours with rank_bm25's formula against rank_bm25 (a few queries, scaled per query)."""
    calls, counts = {}, {}
    for name in ("sqe_fast okapi", "rank_bm25"):
        calls[name], counts[name] = context.search(corpus, name, 8, 10)
    speeds = {name: counts[name] / timing.best for name, timing in race(calls, 3).items()}
    mine, theirs = speeds["sqe_fast okapi"], speeds["rank_bm25"]
    note = f"rank_bm25 timed on {counts['rank_bm25']} queries, ours on {counts['sqe_fast okapi']}"
    return Row(goal, f"{corpus}, 8 terms, k 10", mine, theirs, QPS, mine / theirs, note)


def two_threads(goal: str, corpus: str, terms: int, context: Context) -> Row:
    """Race ours on two threads against ours on one."""
    need_two_cores()
    two, count = context.search(corpus, "sqe_fast", terms, 10, 2, THREADS_BATCH[terms])
    one, _ = context.search(corpus, "sqe_fast", terms, 10, 1, THREADS_BATCH[terms])
    times = race({"two": two, "one": one}, context.settings.repeats)
    mine, theirs = count / times["two"].best, count / times["one"].best
    return Row(goal, f"{corpus}, {terms} terms, k 10", mine, theirs, QPS, mine / theirs)


def isa_level(goal: str, case: str, corpus: str, terms: int, level: str, context: Context) -> Row:
    """Race ours at an instruction set level against ours at the lowest."""
    call, count = context.search(corpus, "sqe_fast", terms, 10)
    if level not in ours.isa_levels():
        raise peers.EngineUnavailableError(f"this machine has no {level}")

    def at(wanted: str) -> None:
        with ours.use_isa(wanted):
            call()

    times = race({"level": partial(at, level), "baseline": partial(at, "baseline")}, context.settings.repeats)
    mine, theirs = count / times["level"].best, count / times["baseline"].best
    return Row(goal, case, mine, theirs, QPS, mine / theirs)
