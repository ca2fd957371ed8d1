"""The loop over a real engine with random weights: exact counts, in step as one at a time, every system."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from noted import ONE, NotedIndex
from oracles.tiny import llama_folder

from sqe_fast.agent.presets import PRESETS, get_preset
from sqe_fast.agent.replay import RecordedPolicy
from sqe_fast.agent.retrievers import PoolRetriever, SimulatedRetriever
from sqe_fast.agent.rollout import Budgets, Roller
from sqe_fast.agent.values import FINISHES
from sqe_fast.generate import make_generator

BUDGETS = Budgets(prompt=4000, response=14, observation=60, answer=3, turn=6)
QUESTIONS = ["where is the retry limit", "which test fails", "what is 10"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = llama_folder(tmp_path_factory.mktemp("models") / "llama")
    made = make_generator(f"transformers:{folder}", dtype="float32", device="cpu", batch_size=4)
    made.window = 100_000  # random weights do not mind positions
    return made


def retriever(preset, generator):
    return {
        "none": None,
        "index": NotedIndex(),
        "simulated": SimulatedRetriever(generator, temperature=0, max_new_tokens=4),
        "pool": PoolRetriever({"tiny": generator}, max_new_tokens=4),
    }[preset.retriever]


@pytest.mark.parametrize("alias", PRESETS)
@pytest.mark.parametrize("continuation", ["prefill", "chat"])
def test_every_system_on_a_real_engine(tiny, alias, continuation):
    preset = get_preset(alias, template="{question}" if alias != "router-r1" else "{models} {question}")
    roller = Roller(
        tiny,
        retriever(preset, tiny),
        preset,
        compressor=tiny if preset.squeeze else None,
        budgets=BUDGETS,
        continuation=continuation,
    )
    made = roller.run(QUESTIONS)
    for rollout in made:
        assert rollout.finish in FINISHES
        assert rollout.problem is None
        assert not rollout.estimated
        texts = [segment.text for segment in rollout.segments]
        assert [segment.tokens for segment in rollout.segments] == tiny.count_tokens(texts)
        assert rollout.usage_policy.totals()["calls"] >= 1
        assert 0 < rollout.usage_policy.totals()["completion_tokens"] <= BUDGETS.response
    assert roller.run(QUESTIONS[1:2])[0].segments == made[1].segments


def test_observations_are_cut_to_the_tokens_of_a_real_tokenizer(tiny):
    policy = RecordedPolicy({}, default=ONE)
    policy.count_tokens = tiny.count_tokens
    least = tiny.count_tokens(["\n\n<information>\n\n</information>\n\n"])[0]
    whole = Roller(policy, NotedIndex(), "search-r1").run(["q"])[0].segments[2].tokens
    for limit in range(1, whole + 10, 9):
        rollout = Roller(policy, NotedIndex(), "search-r1", budgets=Budgets(observation=limit)).run(["q"])[0]
        shown = rollout.segments[2]
        assert shown.tokens == tiny.count_tokens([shown.text])[0] <= max(limit, least)
        assert rollout.valid
        assert (rollout.turns[0].problem is None) == (limit >= whole)
        if limit > least + 40:
            assert shown.tokens > limit - 40  # little is wasted
