"""Building an index from Python strings: time, memory over the corpus, and a stream of two million texts."""

from __future__ import annotations

from functools import lru_cache, partial

from bench.measure import race
from bench.memory import probe
from bench.rows.base import Case, Context, Row, Settings

__all__ = ["cases"]

CORPUS = "zipf200k"


def cases(settings: Settings) -> list[Case]:
    """Return the cases."""
    time_goal, memory_goal = "index build, time against tantivy", "index build, memory over the corpus, MB"
    stream_goal = "2,000,000 documents streamed, peak of the process, MB"
    rows = [
        Case(time_goal, f"{CORPUS}, {count} thread{'s' * (count > 1)}", partial(build_time, time_goal, count))
        for count in (1, 2)
    ]
    rows += [
        Case(memory_goal, f"{CORPUS}, {kind}", partial(build_memory, memory_goal, kind))
        for kind in ("peak", "steady")
    ]
    rows.append(Case(stream_goal, "30 tokens each, indexed and searched", partial(stream, stream_goal)))
    return rows


def build_time(goal: str, threads: int, context: Context) -> Row:
    """Race building from a list of strings."""
    texts = context.corpus(CORPUS).texts

    def build(name: str) -> None:
        context.make(name).build(texts, threads)

    repeats = 1 if context.settings.quick else 3
    times = race({name: partial(build, name) for name in ("sqe_fast", "tantivy")}, repeats, budget=60)
    mine, theirs = times["sqe_fast"].best, times["tantivy"].best
    case = f"{CORPUS}, {threads} thread{'s' * (threads > 1)}"
    return Row(goal, case, mine, theirs, "s", mine / theirs)


@lru_cache
def probed(engine: str) -> dict[str, float]:
    """Measure an engine once for both memory rows."""
    figures: dict[str, float] = probe(engine, CORPUS)
    return figures


def build_memory(goal: str, kind: str, context: Context) -> Row:
    """Measure growth in fresh processes: at the worst moment of building, and afterwards."""
    context.drop()
    mine, theirs = probed("sqe_fast"), probed("tantivy")
    value = mine[f"{kind}_mb"]
    return Row(goal, f"{CORPUS}, {kind}", value, theirs[f"{kind}_mb"], "MB", value, "theirs: tantivy")


def stream(goal: str, context: Context) -> Row:
    """Measure the peak of a process that indexes 2,000,000 texts from a generator and searches them."""
    context.drop()
    seen = probe("sqe_fast", "zipf2m", threads=2, stream=True, search=1_000)
    note = (
        f"index peak {seen['peak_mb']:,.0f} MB, steady {seen['steady_mb']:,.0f} MB; built in "
        f"{seen['seconds']:.1f} s with making the texts; 1,000 queries in {seen['search_seconds']:.2f} s"
    )
    value = seen["process_peak_mb"]
    return Row(goal, "30 tokens each, indexed and searched", value, None, "MB", value, note)
