"""sqe_fast as the benches call it: every use of its public functions by the benches is in this file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bench.peers.base import Arrays, Engine

__all__ = [
    "SqeFast",
    "bootstrap",
    "decide",
    "encoder",
    "engine",
    "evidence",
    "expander",
    "experiment",
    "fuse_ids",
    "fuse_lists",
    "gate_grids",
    "gate_left_out",
    "gate_questions",
    "gate_sweep",
    "gates",
    "isa_levels",
    "isa_name",
    "methods",
    "model_folder",
    "passages",
    "read_experiment",
    "recorded",
    "recorded_policy",
    "report",
    "roller",
    "search_of",
    "signal",
    "signals",
    "store",
    "sweep",
    "tokenizer",
    "use_isa",
    "vllm",
]

StringLists = Sequence[Sequence[tuple[str, float]]]


class SqeFast(Engine):
    """BM25Index, given plain strings: reading the words of a query is part of its measured time."""

    name: ClassVar[str] = "sqe_fast"

    def __init__(self, variant: str = "lucene") -> None:
        self.variant = variant
        self.formula = variant

    def build(self, texts: Iterable[str], threads: int = 1) -> None:
        from sqe_fast.bm25 import BM25Index

        self.index = BM25Index.build(
            texts, tokenizer="whitespace", variant=self.variant, k1=self.k1, b=self.b, threads=threads
        )

    def prepare(self, queries: Sequence[str]) -> list[str]:
        return list(queries)

    def search(self, prepared: list[str], k: int, threads: int = 1) -> Any:
        return self.index.search(prepared, k=k, threads=threads)

    def arrays(self, result: Any, k: int) -> Arrays:
        return result.ids, result.scores


def fuse_ids(ids: NDArray[np.int32], k: int, threads: int = 1) -> NDArray[np.int32]:
    """RRF over ids [n, L, depth] -> ids [n, k]."""
    from sqe_fast.fusion import rrf

    fused: NDArray[np.int32] = rrf(ids, k=k, constant=60.0, threads=threads).ids
    return fused


def fuse_lists(batch: Sequence[StringLists], k: int) -> list[list[tuple[str, float]]]:
    """RRF over lists of (id, score), one call a query as in the reference's loop."""
    from sqe_fast.fusion import rrf_lists

    return [rrf_lists(lists, k=k, constant=60.0) for lists in batch]


def bootstrap(deltas: NDArray[np.int8], resamples: int, threads: int = 1) -> tuple[float, ...]:
    """Paired bootstrap -> (mean, low, high, p_one_sided, p_two_sided)."""
    from sqe_fast.stats import paired_bootstrap

    return tuple(paired_bootstrap(deltas, resamples=resamples, seed=0, threads=threads))


def tokenizer(name: str, threads: int = 1) -> Callable[[list[str]], Any]:
    """A function that reads a batch of texts into words."""
    from sqe_fast.text import tokenize_batch

    return lambda texts: tokenize_batch(texts, name, threads=threads)


def encoder(name: str, threads: int | None = None) -> Any:
    """The encoder `name`."""
    from sqe_fast.encode import Encoder

    return Encoder.load(name, threads=threads)


def store(folder: Path, encoder: Any, ids: Sequence[str], texts: Sequence[str]) -> Any:
    """A committed MemoryStore with rank_bm25's formula."""
    from sqe_fast.store import MemoryStore

    made = MemoryStore.create(
        folder, encoder=encoder, tokenizer="whitespace", variant="okapi", k1=1.5, b=0.75
    )
    made.add({"id": name, "text": text} for name, text in zip(ids, texts, strict=True))
    made.commit()
    return made


def recorded(path: Path) -> Any:
    """A generator that reads its answers from `path`."""
    from sqe_fast.generate import make_generator

    return make_generator(f"recorded:{path}")


def vllm(max_model_len: int) -> Any:
    """SmolLM2 in vLLM, in this process."""
    from sqe_fast.generate import make_generator

    return make_generator("vllm:smollm2", max_model_len=max_model_len)


def expander(generator: Any, **settings: Any) -> Any:
    """What makes a generator's answers probes."""
    from sqe_fast.expand import Expander

    return Expander(generator, **settings)


def engine(store: Any, generator: Any, chunk: int = 1024) -> Any:
    """The engine over a store."""
    from sqe_fast.engine import Engine

    return Engine(store, generator=generator, chunk=chunk)


def methods() -> list[str]:
    """The eight methods' names: all but the oracle."""
    from sqe_fast.methods import METHODS

    return [name for name, method in METHODS.items() if method.alias != "oracle"]


def sweep(thresholds: Sequence[float]) -> list[Any]:
    """Selective expansion with other thresholds, each under a name of its own."""
    from sqe_fast.methods import get_method

    return [
        replace(get_method("sqe", threshold=number), name=f"Selective-QE {number}") for number in thresholds
    ]


def experiment(root: Path) -> Any:
    """Rows made up below `root`, read as an experiment."""
    from bench.experiments import write_rows
    from sqe_fast.experiment.rows import METHOD_FILES

    return read_experiment(write_rows(root, dict(METHOD_FILES)))


def read_experiment(root: Path) -> Any:
    """The rows below `root`."""
    from sqe_fast.experiment.rows import read_experiment as read

    return read(root)


def report(root: Path, page: bool) -> None:
    """Rows to files: every table as CSV, Markdown and LaTeX, and perhaps the page."""
    from sqe_fast.experiment.page import write_page
    from sqe_fast.experiment.report import write_report

    rows = read_experiment(root)
    tables = write_report(root / "report", rows)
    if page:
        write_page(root / "report" / "index.html", rows, tables)


def gate_grids() -> tuple[tuple[float, ...], tuple[float, ...], float]:
    """Thresholds of the sweep and of leaving one seed out, and the budget of the second."""
    from sqe_fast.experiment.published import LOO_THRESHOLDS, MAX_EXPANSION_RATE, SWEEP_THRESHOLDS

    return SWEEP_THRESHOLDS, LOO_THRESHOLDS, MAX_EXPANSION_RATE


def gate_questions(experiment: Any) -> list[list[tuple[float, bool, bool]]]:
    """For each seed its questions: the top-1 score, and whether the dense and the expanded list hit."""
    from sqe_fast.experiment.sweeps import pair_of, top1_of

    found = []
    for seed in experiment.seeds:
        pair = pair_of(seed, 5)
        found.append(
            list(zip(top1_of(seed).tolist(), pair.dense.tolist(), pair.always.tolist(), strict=True))
        )
    return found


def gate_sweep(experiment: Any) -> list[list[tuple[int, int]]]:
    """Hits and expanded questions of every seed at every threshold, from rows."""
    from sqe_fast.experiment.sweeps import threshold_sweep

    counts = [threshold_sweep(seed) for seed in experiment.seeds]
    return [list(zip(one.hits.tolist(), one.expanded.tolist(), strict=True)) for one in counts]


def gate_left_out(experiment: Any) -> list[tuple[float, float, float]]:
    """For every seed the threshold chosen on the others, and its recall and rate, from rows."""
    from sqe_fast.experiment.choices import leave_one_seed_out

    return [(one.threshold, one.gate_recall, one.rate) for one in leave_one_seed_out(experiment)]


def model_folder(name: str) -> str:
    """The folder of a packaged model."""
    from sqe_fast._hub import locate

    return locate(name)


def isa_levels() -> list[str]:
    """The instruction set levels this machine can run, lowest first."""
    from sqe_fast import _core

    return list(_core.isa_levels())


def isa_name() -> str:
    """The instruction set level in use."""
    from sqe_fast import _core

    return str(_core.isa())


@contextmanager
def use_isa(level: str) -> Iterator[None]:
    """Run the kernels at `level`, then at the level from before."""
    from sqe_fast import _core

    before = _core.isa()
    _core.set_isa(level)
    try:
        yield
    finally:
        _core.set_isa(before)


def evidence(found: Any, count: int) -> Callable[[], Any]:
    """Return what makes the evidence on `count` questions of a memory, their lists and vectors at hand.

    Made anew it holds nothing that an earlier signal has worked out, except the mean vector of the store.
    """
    from sqe_fast.bm25 import BM25Index
    from sqe_fast.dense import DenseIndex
    from sqe_fast.gate import Corpus, Evidence

    documents = found.vectors.astype(np.float16)
    dense = DenseIndex.build(documents)
    words = BM25Index.build(found.texts, tokenizer="code", variant="lucene", k1=1.2)
    corpus = Corpus(documents, words, lambda vectors, depth: dense.search(vectors, depth, 1), dense.scores)
    questions = found.questions(count)
    queries = found.encoder.encode(questions)
    lists = dense.search(queries, 20, 1), words.search(questions, 20, 1)
    return lambda: Evidence(*lists, questions=questions, queries=queries, corpus=corpus)


def signals() -> list[str]:
    """Return the names of all signals."""
    from sqe_fast.gate import SIGNALS

    return list(SIGNALS)


def signal(name: str, evidence: Any) -> NDArray[np.float32]:
    """Return one signal of every question."""
    from sqe_fast.gate import compute_signals

    return compute_signals([name], evidence)[name]


def gates() -> dict[str, Any]:
    """Return gates by name that decide from the spread, or from a model of three signals."""
    from sqe_fast.gate import (
        LearnedGate,
        RandomGate,
        RateGate,
        StreamingGate,
        ThresholdGate,
        TokenBudgetGate,
        fit_gain,
    )

    rng = np.random.default_rng(5)
    known = {name: rng.random(300, np.float32) for name in ("spread", "top1", "margin")}
    model = fit_gain(known, (known["spread"] < 0.3).astype(int))
    return {
        "threshold": ThresholdGate(0.03, "spread"),
        "random": RandomGate(),
        "rate": RateGate(0.48),
        "streaming": StreamingGate(0.48),
        "learned": LearnedGate(model),
        "tokens": TokenBudgetGate(10**9, wish=RateGate(0.48)),
    }


def decide(gate: Any, values: dict[str, NDArray[np.float32]]) -> NDArray[np.bool_]:
    """Return the decisions of one run about one batch; an expansion costs 600 tokens at most."""
    from sqe_fast.gate.gates import Asking, Quote, choose

    n = len(next(iter(values.values())))

    def quote(places: NDArray[np.int64], _: Any) -> Quote:
        return Quote(np.full(len(places), 100, np.int64), np.full(len(places), 500, np.int64))

    return choose(gate.start(), Asking(values, np.ones(n, np.bool_), quote))


def passages(folder: Path, threads: int = 1) -> Any:
    """Return BM25 over the corpus of a BEIR folder, as a retriever of agents."""
    from sqe_fast.agent.retrievers import IndexRetriever

    return IndexRetriever.from_beir(folder, threads=threads)


def recorded_policy(turns: dict[str, list[str]]) -> Any:
    """Return a policy that says recorded turns."""
    from sqe_fast.agent.replay import RecordedPolicy

    return RecordedPolicy(turns)


def roller(
    preset: str,
    policy: Any,
    retriever: Any,
    compressor: Any = None,
    squeeze: int = 512,
    **budgets: int,
) -> Any:
    """Return the loop of one search agent; `squeeze` and `budgets` are in tokens."""
    from sqe_fast.agent.rollout import Budgets, Roller
    from sqe_fast.agent.squeeze import Squeezer

    squeezer = None if compressor is None else Squeezer(compressor, max_new_tokens=squeeze)
    return Roller(policy, retriever, preset, compressor=squeezer, budgets=Budgets(**budgets))


def search_of(question: str) -> str:
    """Return the beginning of a search turn about a question, made by rule."""
    from sqe_fast.agent.expanding import expand_by_rule

    return f"<search>{' ## '.join(expand_by_rule([question])[0])}"
