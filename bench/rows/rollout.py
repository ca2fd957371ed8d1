"""Search agents: rollouts in step against one question at a time, and where their time goes.

Both sides are the same loop with the same generator; what differs is how many questions go through it
together. Recorded runs cost no generation, so their row is of everything else.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

from bench import agents, ours
from bench.measure import Timing, race
from bench.oracle import WrongResultError
from bench.peers import EngineUnavailableError
from bench.rows.base import Case, Context, Row, Settings
from bench.rows.engine import each, latencies, middle_and_end

__all__ = ["GOAL", "cases", "check_rollouts", "recorded_roller", "rooms"]

GOAL = "rollouts of search agents in step, against one question at a time"
LIVE = {"response": 64, "turn": 24, "answer": 16, "observation": 256, "prompt": 512}


def cases(settings: Settings) -> list[Case]:
    """Return the cases."""
    runs, asked = (500, 8) if settings.quick else (2000, 16)
    return [
        Case(GOAL, f"{runs:,} recorded Search-R1 runs, BM25", partial(recorded, runs)),
        Case(GOAL, f"{asked} questions, ExpandSearch, SmolLM2 in vLLM, BM25", partial(generated, asked)),
    ]


@lru_cache(maxsize=1)
def pool() -> Any:
    """Return the index of the pool, on one thread."""
    return ours.passages(agents.load().corpus)


def recorded_roller() -> Any:
    """Return Search-R1's loop with the recorded policy."""
    return ours.roller("search-r1", ours.recorded_policy(agents.load().turns), pool())


def check_rollouts(roller: Any, names: Sequence[str]) -> None:
    """In step and one at a time, every question must go the same way."""
    asked = [agents.load().questions[name] for name in names]
    for name, question, one in zip(names, asked, roller.run(asked, names), strict=True):
        alone = roller.run([question], [name])[0]
        if (alone.segments, alone.answer, alone.turns) != (one.segments, one.answer, one.turns):
            raise WrongResultError(f"rollout {name}: in step it goes another way than alone")


def rooms(rollouts: Sequence[Any]) -> str:
    """Lay out the share of each room in the time of some rollouts."""
    seconds = {room: sum(one.seconds[room] for one in rollouts) for room in rollouts[0].seconds}
    whole = sum(seconds.values())
    return ", ".join(f"{room} {spent / whole:.0%}" for room, spent in seconds.items() if spent)


def recorded(count: int, context: Context) -> Row:
    """Race all recorded runs in step against the same, one after the other."""
    names = list(agents.load().questions)[:count]
    asked = [agents.load().questions[name] for name in names]
    roller = recorded_roller()
    check_rollouts(roller, names[:100])
    calls = {
        "ours": lambda: roller.run(asked, names),
        "theirs": lambda: [roller.run([q], [name]) for q, name in zip(asked, names, strict=True)],
    }
    times = race(calls, context.settings.repeats)
    slow = latencies(lambda place: roller.run([asked[place]], [names[place]]), range(60))
    searches = sum(len(one.turns) for one in roller.run(asked, names))
    facts = (
        f"{searches:,} searches among {len(pool()):,} passages, k 3; time in step: {rooms(calls['ours']())}"
    )
    return row(f"{count:,} recorded Search-R1 runs, BM25", count, times, facts, slow)


def generated(count: int, context: Context) -> Row:
    """Race live rollouts; one pass one at a time, after a pass in step has warmed the model."""
    try:
        generator = ours.vllm(max_model_len=2048)
    except Exception as error:  # absent, or it cannot run here
        raise EngineUnavailableError(f"vLLM with SmolLM2: {error}") from error
    try:
        asked = list(dict.fromkeys(agents.load().questions.values()))[: 3 * count : 3]
        policy = agents.Begun(generator, {question: ours.search_of(question) for question in asked})
        roller = ours.roller("expandsearch", policy, pool(), compressor=generator, squeeze=32, **LIVE)
        roller.run(asked[:2])
        passes, made = [], []
        for _ in range(2):  # the second finds its prompts in the cache, as the other side will
            begin = time.perf_counter()
            made = roller.run(asked)
            passes.append(time.perf_counter() - begin)
        alone = each(lambda question: roller.run([question]), asked)
    finally:
        generator.close()
    times = {"ours": Timing(min(passes), max(passes)), "theirs": Timing(sum(alone), sum(alone))}
    tokens = sum((one.usage_policy + one.usage_compressor).total_tokens for one in made) / len(made)
    facts = (
        f"{sum(len(one.turns) for one in made)} searches, each first one begun for the model, {tokens:,.0f} "
        f"tokens a question, prompts seen before on both sides; time in step: {rooms(made)}"
    )
    case = f"{count} questions, ExpandSearch, SmolLM2 in vLLM, BM25"
    return row(case, count, times, facts, middle_and_end(alone))


def row(case: str, count: int, times: dict[str, Timing], facts: str, slow: str) -> Row:
    """Turn two timings into a row of rollouts a second."""
    mine, theirs = count / times["ours"].best, count / times["theirs"].best
    note = f"{facts}; one by itself: {slow}; load average {os.getloadavg()[0]:.1f}"
    return Row(GOAL, case, mine, theirs, "rollouts/s", mine / theirs, note)
