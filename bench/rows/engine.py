"""The engine: encoding, the batched pass with recorded and with live expansions, and all methods at once.

Throughput is of the whole batch; latencies are of one question asked by itself, on both sides.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from bench import memories, ours
from bench.measure import Timing, race
from bench.oracle import WrongResultError
from bench.peers import EngineUnavailableError
from bench.peers.sentences import SentenceEncoder
from bench.peers.sqe_reference import SqeReference
from bench.rows.base import Case, Context, Row, Settings

__all__ = ["cases", "check_answers", "recorded_sides", "same_ids"]

QUESTIONS = 500
LIVE_TOKENS = 24
THRESHOLDS = (0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8)
COSINE = 1e-3

Ids = list[list[str]]


def cases(settings: Settings) -> list[Case]:
    """Return the cases."""
    texts, few, asked = (150, 40, 8) if settings.quick else (500, 120, 16)
    encoding = "encoding, against sentence-transformers"
    recorded = "one batched SQE pass, against one question at a time"
    generation = "one batched SQE pass with live generation, against one call at a time"
    several = "all methods in one pass, against one by one"
    return [
        Case(encoding, f"MiniLM, {texts} steps", partial(encode, encoding, texts)),
        Case(recorded, f"{QUESTIONS} questions, recorded expansions", partial(batched, recorded, few)),
        Case(several, "eight methods", partial(methods, several, False)),
        Case(several, "eight methods and a sweep of eight thresholds", partial(methods, several, True)),
        Case(generation, f"{asked} questions, SmolLM2 in vLLM", partial(generated, generation, asked)),
    ]


def memory(context: Context) -> memories.Memory:
    """Return the memory in use, named beside the corpora of the other rows."""
    found = memories.load()
    context.checksums[found.name] = found.checksum
    return found


@lru_cache(maxsize=1)
def sentences() -> SentenceEncoder:
    """Return the other encoder."""
    return SentenceEncoder(ours.model_folder("minilm"))


@lru_cache(maxsize=1)
def reference() -> SqeReference:
    """Return the reference's way over the memory in use."""
    found = memories.load()
    return SqeReference(found.ids, found.texts, found.vectors)


def each(call: Callable[[Any], object], items: Sequence[Any]) -> list[float]:
    """Call with each item by itself and return the seconds of each."""
    seconds = []
    for item in items:
        start = time.perf_counter()
        call(item)
        seconds.append(time.perf_counter() - start)
    return seconds


def latencies(call: Callable[[Any], object], items: Sequence[Any]) -> str:
    """Lay out the latencies of single items."""
    return middle_and_end(each(call, items))


def middle_and_end(seconds: Sequence[float]) -> str:
    """Lay out the middle and the slow end of some times."""
    p50, p99 = np.percentile(seconds, (50, 99)) * 1e3
    return f"p50 {p50:,.2f} ms, p99 {p99:,.2f} ms"


def row_of(
    goal: str,
    case: str,
    unit: str,
    counts: tuple[int, int],
    times: dict[str, Timing],
    slow: tuple[str, str],
    facts: str,
) -> Row:
    """Turn two timings of `counts` items into a row of items a second; `slow`: latencies of both sides."""
    mine, theirs = counts[0] / times["ours"].best, counts[1] / times["theirs"].best
    note = f"{facts}; one by itself: ours {slow[0]}, theirs {slow[1]}; load average {os.getloadavg()[0]:.1f}"
    return Row(goal, case, mine, theirs, unit, mine / theirs, note)


def same_ids(mine: Sequence[Sequence[str]], theirs: Sequence[Sequence[str]], what: str) -> None:
    """Both sides must return the same ids in the same order."""
    for number, (a, b) in enumerate(zip(mine, theirs, strict=True)):
        if list(a) != list(b):
            raise WrongResultError(f"{what}: question {number}: {list(a)} against {list(b)}")


def encode(goal: str, count: int, context: Context) -> Row:
    """Race our encoder against sentence-transformers on the same texts with the same threads."""
    found = memory(context)
    texts = found.texts[:: max(1, len(found.texts) // count)][:count]
    mine, theirs = ours.encoder("minilm"), sentences()
    cosine = np.sum(mine.encode(texts) * theirs.encode(texts), axis=1).min()
    if cosine < 1 - COSINE:
        raise WrongResultError(f"sqe_fast encoder: cosine {cosine:.5f} to sentence-transformers")
    calls: dict[str, Callable[[], object]] = {
        "ours": partial(mine.encode, texts),
        "theirs": partial(theirs.encode, texts),
    }
    times = race(calls, context.settings.repeats)
    facts = f"{found.name}, {theirs.tokens(texts):.0f} tokens a text, {mine.dtype}, cosine >= {cosine:.5f}"
    slow = (
        latencies(lambda text: mine.encode([text]), texts[:60]),
        latencies(theirs.encode_one, texts[:60]),
    )
    return row_of(goal, f"MiniLM, {count} steps", "texts/s", (len(texts), len(texts)), times, slow, facts)


def recorded_sides(found: memories.Memory) -> tuple[Any, Callable[[str], list[str]]]:
    """Return our engine, and the reference's answer to one question; both read the same expansions.

    A chunk never holds a question twice: repeats of the cycled questions save us nothing.
    """
    engine = ours.engine(found.store, ours.recorded(found.recorded), chunk=len(found.asked))
    table, expansions, way = found.encoder.table, found.expansions, reference()
    return engine, lambda question: way.answer(question, table.__getitem__, expansions.__getitem__)


def check_answers(engine: Any, answer: Callable[[str], list[str]], questions: Sequence[str]) -> None:
    """The engine must give the reference's ids."""
    batch = engine.search(questions)
    same_ids(batch.ids, [answer(question) for question in questions], "sqe_fast engine")


def batched(goal: str, few: int, context: Context) -> Row:
    """Race one pass over all questions against the reference on a few, spread evenly over the same."""
    found = memory(context)
    questions = found.questions(QUESTIONS)
    spread = found.asked[:: max(1, len(found.asked) // few)][:few]
    engine, answer = recorded_sides(found)
    check_answers(engine, answer, spread)
    calls: dict[str, Callable[[], object]] = {
        "ours": partial(engine.search, questions),
        "theirs": lambda: [answer(question) for question in spread],
    }
    times = race(calls, context.settings.repeats)
    batch = engine.search(questions)
    facts = (
        f"{found.name}, {batch.gated.mean():.0%} expanded, {batch.usage.total_tokens / len(batch):.0f} "
        f"tokens a question (words of the recording, the same texts on both sides), ours "
        f"{times['ours'].best * 1e3:,.0f} ms for all, theirs measured on {len(spread)} and scaled"
    )
    slow = (latencies(lambda question: engine.search([question]), spread), latencies(answer, spread))
    case = f"{QUESTIONS} questions, recorded expansions"
    return row_of(goal, case, "questions/s", (len(questions), len(spread)), times, slow, facts)


def methods(goal: str, sweep: bool, context: Context) -> Row:
    """Race all methods in one call against one call each, the engine on both sides."""
    found = memory(context)
    questions = found.questions(QUESTIONS)
    engine, _ = recorded_sides(found)
    chosen = [*ours.methods(), *(ours.sweep(THRESHOLDS) if sweep else [])]
    together = engine.search_methods(questions, chosen)
    for name, batch in together.items():
        alone = engine.search(questions, chosen[list(together).index(name)])
        same_ids(batch.ids, alone.ids, f"{name} among all")
    calls: dict[str, Callable[[], object]] = {
        "ours": lambda: engine.search_methods(questions, chosen),
        "theirs": lambda: [engine.search(questions, method) for method in chosen],
    }
    times = race(calls, context.settings.repeats)
    most = max(batch.usage.total_tokens for batch in together.values())
    total = sum(batch.usage.total_tokens for batch in together.values())
    facts = (
        f"{found.name}, {most / len(questions):,.0f} tokens a question for all together against "
        f"{total / len(questions):,.0f} (words of the recording)"
    )
    few = found.asked[:60]
    slow = (
        latencies(lambda question: engine.search_methods([question], chosen), few),
        latencies(lambda question: [engine.search([question], method) for method in chosen], few),
    )
    case = "eight methods and a sweep of eight thresholds" if sweep else "eight methods"
    return row_of(goal, case, "questions/s", (len(questions), len(questions)), times, slow, facts)


def generated(goal: str, count: int, context: Context) -> Row:
    """Race one pass with one live generation call against one question, and one request, at a time."""
    found = memory(context)
    try:
        generator = ours.vllm(max_model_len=1024)
    except Exception as error:  # absent, or it cannot run here
        raise EngineUnavailableError(f"vLLM with SmolLM2: {error}") from error
    try:
        return live(goal, found, generator, count)
    finally:
        generator.close()


def live(goal: str, found: memories.Memory, generator: Any, count: int) -> Row:
    """Measure with a generator; both sides use the same requests, models and threads."""
    questions = found.asked[:: max(1, len(found.asked) // count)][:count]
    expander = ours.expander(generator, max_new_tokens=LIVE_TOKENS)
    kept = Keeper(expander)
    found.encoder.live = ours.encoder("minilm")
    encode, way = sentences().encode_one, reference()
    engine = ours.engine(found.store, kept)
    batch = engine.search(questions)

    def replayed(question: str) -> dict[str, list[str]]:
        return kept.made[question]

    look_up: Callable[[str], Any] = lambda text: found.encoder.encode([text])[0]  # noqa: E731
    same_ids(batch.ids, [way.answer(q, look_up, replayed) for q in questions], "sqe_fast engine, live")

    spent: list[int] = []

    def one_at_a_time(question: str) -> dict[str, list[str]]:
        """Ask for each trace and for the paraphrases: three calls, as the protocol has it."""
        made = [expander.expand([question], K, P)[0] for K, P in ((1, 0), (1, 0), (0, 2))]
        spent.append(sum(one.usage.total_tokens for one in made))
        return {
            "traces": [text for one in made for text in one.traces],
            "paraphrases": list(made[2].paraphrases),
        }

    def answer(question: str) -> list[str]:
        return way.answer(question, encode, one_at_a_time)

    # A pass of theirs takes a minute: one, after ours has warmed the model and its prompt cache for both.
    theirs = each(answer, questions)
    passes = [each(engine.search, [questions])[0] for _ in range(2)]
    times = {
        "ours": Timing(min(passes), max(passes)),
        "theirs": Timing(sum(theirs), sum(theirs)),
    }
    slow = (latencies(lambda question: engine.search([question]), questions), middle_and_end(theirs))
    facts = (
        f"{found.name}, {batch.gated.mean():.0%} expanded, at most {LIVE_TOKENS} new tokens a sample, "
        f"tokens a question {batch.usage.total_tokens / len(batch):,.0f} against "
        f"{sum(spent) / len(questions):,.0f}, prompts seen before on both sides, one pass of theirs"
    )
    case = f"{count} questions, SmolLM2 in vLLM"
    return row_of(goal, case, "questions/s", (len(questions), len(questions)), times, slow, facts)


class Keeper:
    """An expander that remembers the texts it made."""

    def __init__(self, expander: Any) -> None:
        self.expander = expander
        self.made: dict[str, dict[str, list[str]]] = {}

    def expand(self, questions: Sequence[str], K: Sequence[int], P: Sequence[int]) -> Any:
        made = self.expander.expand(questions, K=K, P=P)
        for one in made:
            self.made[one.question] = {"traces": list(one.traces), "paraphrases": list(one.paraphrases)}
        return made
