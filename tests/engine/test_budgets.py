"""Budgets in the batched pass: exact rates over chunks, tokens never exceeded, state that is kept."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("faiss")

from oracles.small import WORDS, ScriptedGenerator, TextEncoder, small_store

from sqe_fast.engine import Engine
from sqe_fast.errors import InvalidInputError
from sqe_fast.expand import Expander
from sqe_fast.expansion.cache import ExpansionCache
from sqe_fast.gate import KeptGate, RateGate, StreamingGate, ThresholdGate, TokenBudgetGate
from sqe_fast.generate.base import Generation
from sqe_fast.methods import get_method

QUESTIONS = [f"where is the {a} of the {b}" for a in WORDS[:5] for b in WORDS[5:8]]


class Wordy(ScriptedGenerator):
    """Counts words of prompts, and writes as many tokens as `writes` says, up to what is allowed."""

    def __init__(self, writes=lambda most: most, **odd):
        super().__init__(**odd)
        self.writes = writes

    def generate(self, requests):
        return [
            replace(
                answer,
                prompt_tokens=prompt,
                completion_tokens=self.writes(most),
            )
            if answer.error is None
            else answer
            for answer, (prompt, most) in zip(
                super().generate(requests), self.most_tokens(requests), strict=True
            )
        ]

    def most_tokens(self, requests):
        return [(len(r.messages[0].content.split()), r.n * r.max_new_tokens) for r in requests]


@pytest.fixture
def store(tmp_path):
    with small_store(tmp_path / "memory", TextEncoder()) as store:
        yield store


def gated(gate, name="gated", **numbers):
    return replace(get_method("always", **numbers), name=name, gate=gate)


@pytest.mark.parametrize("chunk", [1, 4, 15, 100])
def test_the_rate_is_exact_over_any_chunks(store, chunk):
    asked = ["", *QUESTIONS, "  "]
    batch = Engine(store, generator=ScriptedGenerator(), chunk=chunk).search(asked, gated(RateGate(0.4)))
    assert batch.gated.sum() == 6
    assert not batch.gated[[0, -1]].any()
    if chunk > len(QUESTIONS):
        low = np.sort(batch.signals["spread"][1:-1])
        assert batch.signals["spread"][batch.gated].max() <= low[6]


@pytest.mark.parametrize("chunk", [1, 4, 100])
def test_a_stream_does_not_depend_on_chunks(store, chunk):
    method = gated(StreamingGate(0.5, signal="rbo", window=6))
    whole = Engine(store, generator=ScriptedGenerator()).search(QUESTIONS, method)
    parts = Engine(store, generator=ScriptedGenerator(), chunk=chunk).search(QUESTIONS, method)
    assert parts.gated.tolist() == whole.gated.tolist()
    assert "rbo" in parts.signals


@pytest.mark.parametrize("chunk", [1, 2, 5, 100])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("total", [0, 2000, 5000])
def test_tokens_are_never_exceeded(store, chunk, share, total):
    generator = Wordy(lambda most: int(share * most), fail=[QUESTIONS[2]])
    batch = Engine(store, generator=generator, chunk=chunk).search(QUESTIONS, gated(TokenBudgetGate(total)))
    assert batch.usage.total_tokens <= total
    assert batch.gated.any() == (total > 0)
    if share < 1 and total and chunk <= 2:
        # What was not written was spent: more than the worst cases of a single batch.
        once = Engine(store, generator=Wordy()).search(QUESTIONS, gated(TokenBudgetGate(total)))
        assert batch.gated.sum() > once.gated.sum()


def test_a_budget_of_methods_with_other_numbers_counts_what_they_share(store):
    methods = [gated(TokenBudgetGate(6000), "lean", K=1, P=0), gated(ThresholdGate(9.0), "rich", K=4)]
    found = Engine(store, generator=Wordy(), chunk=4).search_methods(QUESTIONS, methods)
    assert found["lean"].gated.any()
    assert found["lean"].usage.total_tokens <= 6000


def test_repeats_are_set_aside_and_not_paid(store):
    asked = [QUESTIONS[0]] * 6
    batch = Engine(store, generator=Wordy(), chunk=3).search(asked, gated(TokenBudgetGate(10**6)))
    assert batch.gated.all()
    assert (batch.usage.calls > 0).tolist() == [True, False, False] * 2


def test_answers_out_of_a_cache_cost_nothing(store, tmp_path):
    with_cache = Engine(store, generator=Expander(Wordy(), ExpansionCache(tmp_path / "cache")), chunk=1)
    full = with_cache.search(QUESTIONS, gated(TokenBudgetGate(10**6)))
    assert full.gated.all()
    again = with_cache.search(QUESTIONS, gated(TokenBudgetGate(2500)))
    assert again.gated.all()
    assert again.usage.total_tokens == 0


def test_one_budget_over_many_searches(store):
    gate = KeptGate(TokenBudgetGate(5000, wish=StreamingGate(0.8)))
    method = gated(gate)
    engine = Engine(store, generator=Wordy(lambda most: most // 4))
    usages = [engine.search([question], method).usage.total_tokens for question in QUESTIONS]
    assert sum(usages) == gate.run.spent <= 5000
    assert gate.run.reserved == 0
    assert sum(usage > 0 for usage in usages) >= 4


def test_searches_in_several_threads_share_one_budget(store):
    gate = KeptGate(TokenBudgetGate(9000))
    engine = Engine(store, generator=Wordy(lambda most: most // 2), chunk=1)
    with ThreadPoolExecutor(4) as pool:
        batches = list(pool.map(lambda _: engine.search(QUESTIONS, gated(gate)), range(4)))
    assert sum(batch.usage.total_tokens for batch in batches) == gate.run.spent <= 9000
    assert gate.run.reserved == 0
    assert gate.run.left < 1000  # what one more could cost


@pytest.mark.slow
def test_a_real_model_keeps_to_its_budget(store, tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from oracles.tiny import llama_folder

    from sqe_fast.generate import make_generator

    folder = llama_folder(tmp_path / "llama")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 8192}))
    generator = make_generator(f"transformers:{folder}", dtype="float32", device="cpu")
    engine = Engine(store, generator=Expander(generator, K=1, P=1, max_new_tokens=16, seed=1), chunk=2)
    one = engine.search(QUESTIONS[:1], gated(TokenBudgetGate(10**6), K=1, P=1)).usage.total_tokens
    total = 5 * one // 2
    batch = engine.search(QUESTIONS, gated(TokenBudgetGate(total), K=1, P=1))
    assert batch.problems == (None,) * len(QUESTIONS)
    assert batch.gated.sum() == 2
    assert one < batch.usage.total_tokens <= total


def test_a_search_that_breaks_off_keeps_its_tokens_set_aside(store):
    gate = KeptGate(TokenBudgetGate(50_000))
    engine = Engine(store, generator=Wordy(), chunk=2)
    stream = engine.search_stream(QUESTIONS, gated(gate))
    next(stream)
    stream.close()
    assert gate.run.spent > 0
    assert gate.run.reserved > 0
    assert gate.run.spent + gate.run.reserved <= 50_000


def test_an_endpoint_needs_a_counter_and_may_send_prompts_again(store):
    class Endpoint(ScriptedGenerator):
        """Like an endpoint that gives one sample a call: each sends the prompt again."""

        def generate(self, requests):
            return [
                Generation(
                    answer.texts,
                    prompt_tokens=request.n * len(request.messages[0].content.split()),
                    completion_tokens=request.n * request.max_new_tokens,
                    calls=request.n,
                )
                for request, answer in zip(requests, super().generate(requests), strict=True)
            ]

    engine = Engine(store, generator=Endpoint())
    with pytest.raises(InvalidInputError, match="'scripted' cannot count: give the gate a counter"):
        engine.search(QUESTIONS, gated(TokenBudgetGate(5000)))
    batch = engine.search(
        QUESTIONS, gated(TokenBudgetGate(5000, counter=lambda text: len(text.split())), K=3)
    )
    assert batch.gated.any()
    assert batch.usage.total_tokens <= 5000


def test_what_cannot_tell_its_requests_is_refused(store):
    class Own:
        def expand(self, questions, K, P):
            raise AssertionError

    with pytest.raises(InvalidInputError, match="Own does not tell its requests"):
        Engine(store, generator=Own()).search(QUESTIONS, gated(TokenBudgetGate(5000)))


def test_gates_can_be_changed_by_name():
    method = gated(TokenBudgetGate(5000, wish=RateGate(0.5)), K=1)
    changed = get_method(method, total=7, signal="rbo", direction="above")
    assert changed.gate == TokenBudgetGate(7, wish=RateGate(0.5), signal="rbo", direction="above")
    assert changed.question_indexes == {"dense", "bm25"}
    assert get_method(gated(StreamingGate()), history=(1.0,)).gate.history == (1.0,)
    kept = gated(KeptGate(RateGate(0.5)))
    assert get_method(kept, k=3).gate is kept.gate
