"""The environment in tokens: the rollouts of the loop, and tokens that are exactly the sampled ones."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noted import NotedIndex

from sqe_fast.agent.presets import get_preset
from sqe_fast.agent.replay import RecordedPolicy
from sqe_fast.agent.rewards import Score
from sqe_fast.agent.rollout import Budgets, Roller
from sqe_fast.agent.training._trail import decode, fewest
from sqe_fast.agent.training.environment import Sample, SearchEnvironment
from sqe_fast.errors import InvalidInputError, InvalidTypeError

SEARCHED = [
    "<think>One look.</think><search>Persuasion</search>",
    "<think>So.</think><answer>a novel</answer>",
]
TURNS = {
    "answers at once": ["<think>I know.</think><answer>1815</answer>"],
    "searches": SEARCHED,
    "searches twice": [SEARCHED[0], "<think>more</think>\n<search>Emma</search>", SEARCHED[1]],
    "the same": SEARCHED,
    "never acts": ["no tag at all", " Emma </answer>"],
    "stops without its tag": ["<think>x</think><search>Jane Austen", SEARCHED[1]],
    "writes sloppy tags": ["<think>x</think>< search >Emma</ search > and more", SEARCHED[1]],
    "rambles": ["<think>" + "so on and " * 60, " x</answer>"],
    "searches too often": [SEARCHED[0]] * 4 + ["<search>one more</search>", "a novel</answer>"],
    "is cut within a letter": ["<think>日本語 naïve 日本語</think><answer>日本語</answer>"],
}
QUESTIONS = list(TURNS)
BUDGETS = Budgets(prompt=4000, response=400, observation=300, answer=20, turn=100)


class Script:
    """Says written turns in tokens, with what a sampler may leave behind a stop text or an end."""

    def __init__(self, tokenizer, turns=TURNS, tail="", end=True):
        self.tokenizer, self.turns, self.tail, self.end = tokenizer, turns, tail, end
        self.next = {}
        self.said = {}

    def __call__(self, wanted):
        return [self.sample(one) for one in wanted]

    def sample(self, one):
        turns = self.turns[QUESTIONS[one.row]]
        place = self.next.get(one.row, 0)
        forced = one.stop == ("</answer>",)
        text = turns[-1] if forced else turns[min(place, len(turns) - 1)]
        self.next[one.row] = place + 1
        ids = self.tokenizer(text + self.tail, add_special_tokens=False)["input_ids"]
        if self.end and not any(word in text for word in one.stop):
            ids = [*ids, self.tokenizer.eos_token_id, self.tokenizer.pad_token_id]
        logprobs = [-0.5 - i / 1000 for i in range(len(ids))]
        self.said.setdefault(one.row, []).append((len(one.ids), ids, logprobs))
        return Sample(ids, logprobs)


def run(environment, script, questions=QUESTIONS):
    wanted = environment.reset(questions)
    contexts = []
    while wanted:
        contexts.append(wanted)
        wanted = environment.step(script(wanted))
    return environment.episodes(), contexts


def recorded(tokenizer):
    """The same turns for the loop, which counts by the same tokenizer."""

    class Policy(RecordedPolicy):
        def count_tokens(self, texts):
            return [len(ids) for ids in tokenizer(list(texts), add_special_tokens=False)["input_ids"]]

        def _answer(self, request):
            turns = TURNS[request.question]
            number = int(request.kind.split()[-1]) if request.kind.startswith("turn") else -1
            ids = tokenizer(turns[min(number, len(turns) - 1)], add_special_tokens=False)["input_ids"]
            cut = len(ids) > request.max_new_tokens
            one = super()._answer(type(request)(**{**vars(request), "max_new_tokens": 10_000}))
            if not cut:
                return one
            text = decode(tokenizer, ids[: request.max_new_tokens])
            return type(one)(texts=(text,), finish_reasons=("length",), stopped_at=(None,))

    return Policy(TURNS)


@pytest.fixture
def environment(tokenizer):
    return SearchEnvironment(tokenizer, NotedIndex(), "search-r1", budgets=BUDGETS)


def test_rollouts_are_those_of_the_loop(tokenizer, environment):
    made, _ = run(environment, Script(tokenizer))
    wanted = Roller(recorded(tokenizer), NotedIndex(), "search-r1", budgets=BUDGETS).run(QUESTIONS)
    for episode, rollout in zip(made, wanted, strict=True):
        own = episode.rollout
        assert [(s.role, s.text) for s in own.segments] == [(s.role, s.text) for s in rollout.segments]
        assert own.turns == rollout.turns
        assert (own.answer, own.valid, own.finish) == (rollout.answer, rollout.valid, rollout.finish)
    assert {one.rollout.finish for one in made} == {"answer", "forced"}


def test_completions_are_what_was_sampled_and_shown(tokenizer, environment):
    script = Script(tokenizer)
    made, contexts = run(environment, script)
    for row, episode in enumerate(made):
        whole = [*episode.prompt_ids, *episode.completion_ids]
        assert len(episode.mask) == len(episode.completion_ids) == len(episode.logprobs)
        assert episode.mask[-1] == 1
        own = set()
        for place, ids, logprobs in script.said[row]:
            kept = 0
            start = place - len(episode.prompt_ids)
            while start + kept < len(episode.mask) and episode.mask[start + kept]:
                kept += 1
            assert whole[place : place + kept] == ids[:kept]
            assert list(episode.logprobs[start : start + kept]) == logprobs[:kept]
            own |= set(range(start, start + kept))
        assert {place for place, bit in enumerate(episode.mask) if bit} == own
        assert all(value == 0.0 for value, bit in zip(episode.logprobs, episode.mask, strict=True) if not bit)
    # Whatever a policy continued is a beginning of the final tokens: each was sampled from its true past.
    for wanted in contexts:
        for one in wanted:
            episode = made[one.row]
            whole = (*episode.prompt_ids, *episode.completion_ids)
            assert one.ids == whole[: len(one.ids)]


def test_segments_count_real_tokens(tokenizer, environment):
    made, _ = run(environment, Script(tokenizer))
    for episode in made:
        segments = episode.rollout.segments
        assert segments[0].tokens == len(episode.prompt_ids)
        policy = sum(s.tokens for s in segments if s.role == "policy")
        assert policy == sum(episode.mask) <= BUDGETS.response
        shown = [s.tokens for s in segments if s.role == "observation"]
        assert all(size <= BUDGETS.observation for size in shown)
        assert not episode.rollout.estimated


def test_searches_of_a_step_are_one_batch(tokenizer):
    index = NotedIndex()
    run(SearchEnvironment(tokenizer, index, "search-r1", budgets=BUDGETS), Script(tokenizer))
    searching = sum(any("<search>" in turn for turn in turns) for turns in TURNS.values())
    assert searching >= 4
    assert len(index.batches[0]) == len({"Persuasion", "Jane Austen", "Emma"})
    assert len(index.batches) == 4  # the longest rollout's turns


def test_what_stands_behind_the_tag_is_cut_but_for_its_token(tokenizer):
    turns = dict.fromkeys(QUESTIONS, SEARCHED)
    environment = SearchEnvironment(tokenizer, NotedIndex(), "search-r1", budgets=BUDGETS)
    made, _ = run(environment, Script(tokenizer, turns, tail=" and so on <search>x</search>"))
    for episode in made:
        assert [s.text for s in episode.rollout.segments if s.role == "policy"] == SEARCHED
        policy = [i for i, bit in zip(episode.completion_ids, episode.mask, strict=True) if bit]
        assert decode(tokenizer, policy) == "".join(SEARCHED)  # this tokenizer ends a token at each ">"
        assert episode.rollout.valid


def test_an_end_of_sequence_is_kept_only_where_the_rollout_ends(tokenizer):
    end = tokenizer.eos_token_id
    turns = {q: ["nothing"] for q in QUESTIONS}
    for force in (False, True):
        environment = SearchEnvironment(
            tokenizer, NotedIndex(), "search-r1", budgets=BUDGETS, force_answer=force
        )
        made, _ = run(environment, Script(tokenizer, turns))
        for episode in made:
            assert episode.completion_ids.count(end) == 1
            assert episode.completion_ids[-1] == end
            assert episode.rollout.finish == ("forced" if force else "none")
            assert (0 in episode.mask) == force


def test_a_limit_on_the_completion_cuts_observations_and_leaves_room_to_answer(tokenizer):
    limit = 160
    environment = SearchEnvironment(tokenizer, NotedIndex(), "search-r1", budgets=BUDGETS, completion=limit)
    made, _ = run(environment, Script(tokenizer))
    for episode in made:
        assert len(episode.completion_ids) <= limit + 8  # "\n<answer>", opened for it
    cut = made[QUESTIONS.index("stops without its tag")].rollout
    assert "cut to" in cut.turns[0].problem
    assert made[QUESTIONS.index("searches too often")].rollout.answer


def test_a_window_is_kept_exactly(tokenizer):
    prompt = max(len(one.ids) for one in SearchEnvironment(tokenizer, None, "r1").reset(QUESTIONS))
    window = prompt + 60
    environment = SearchEnvironment(
        tokenizer, None, "r1", budgets=Budgets(response=400, answer=20), window=window
    )
    made, contexts = run(environment, Script(tokenizer))
    assert max(len(one.prompt_ids) + len(one.completion_ids) for one in made) <= window + 8
    assert all(len(one.ids) + one.limit <= window + 8 for wanted in contexts for one in wanted)


def test_failures_end_their_rollout_alone(tokenizer):
    environment = SearchEnvironment(tokenizer, NotedIndex(), "search-r1", budgets=BUDGETS)
    wanted = environment.reset(["a", "b"], ids=["one", "two"])
    left = environment.step([Sample(error="out of memory"), Sample(tokenizer(SEARCHED[0])["input_ids"])])
    assert [one.row for one in left] == [1]
    assert environment.done == [True, False]
    failed, other = environment.episodes()
    assert (failed.rollout.finish, failed.rollout.problem) == ("failed", "out of memory")
    assert failed.completion_ids == ()
    assert other.logprobs is None
    assert len(other.rollout.turns) == 1
    assert len(wanted) == 2


def test_a_prompt_beyond_its_budget_fails(tokenizer):
    environment = SearchEnvironment(tokenizer, None, "r1", budgets=Budgets(prompt=5))
    assert environment.reset(["a"]) == []
    assert "exceeds the budget of 5" in environment.episodes()[0].rollout.problem


def test_the_opening_is_shown_before_each_turn(tokenizer):
    preset = get_preset("search-r1", opening="<think>")
    environment = SearchEnvironment(tokenizer, NotedIndex(), preset, budgets=BUDGETS)
    turns = {q: [turn.removeprefix("<think>") for turn in SEARCHED] for q in QUESTIONS}
    made, contexts = run(environment, Script(tokenizer, turns), QUESTIONS[:2])
    opening = tokenizer("<think>", add_special_tokens=False)["input_ids"]
    for episode in made:
        assert list(episode.completion_ids[: len(opening)]) == opening
        assert set(episode.mask[: len(opening)]) == {0}
        assert episode.rollout.valid
    assert all(list(one.ids[-len(opening) :]) == opening for wanted in contexts for one in wanted)


def test_rewards_by_name_and_by_token(tokenizer, environment):
    made, _ = run(environment, Script(tokenizer))
    paid = environment.reward([["a novel"]] * len(made), "em")
    assert {one.total for one in paid} == {0.0, 1.0}
    episode = made[QUESTIONS.index("searches twice")]
    tokens = episode.token_rewards(Score(1.0, {"em": 1.0}, (0.25, -0.5)))
    assert sum(tokens) == pytest.approx(0.75)
    assert tokens[-1] == 1.0
    first, second = episode.turn_ends
    assert (tokens[first], tokens[second]) == (0.25, -0.5)
    assert episode.mask[first] == episode.mask[second] == 1
    assert episode.mask[first + 1] == 0
    with pytest.raises(InvalidInputError, match="one entry a question"):
        environment.reward([["a"]])


def test_a_second_reset_begins_anew(tokenizer, environment):
    first, _ = run(environment, Script(tokenizer))
    second, _ = run(environment, Script(tokenizer))
    assert [(e.completion_ids, e.mask) for e in first] == [(e.completion_ids, e.mask) for e in second]


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([], "one for each that was wanted, 1; got 0"),
        ([Sample([1, 2], [0.5])], "one a token, 2; got 1"),
        (["text"], "samples must hold Sample"),
    ],
)
def test_wrong_samples_are_told(tokenizer, samples, message):
    environment = SearchEnvironment(tokenizer, None, "r1")
    environment.reset(["a"])
    with pytest.raises((InvalidInputError, InvalidTypeError), match=message):
        environment.step(samples)


def test_parts_must_fit(tokenizer):
    with pytest.raises(InvalidTypeError, match="tokenizer must be one of transformers"):
        SearchEnvironment("gpt2", None, "r1")
    with pytest.raises(InvalidInputError, match="give a retriever"):
        SearchEnvironment(tokenizer, None, "search-r1")
    with pytest.raises(InvalidInputError, match="ids must have one entry a question, 1; got 2"):
        SearchEnvironment(tokenizer, None, "r1").reset(["a"], ids=["a", "b"])


@settings(max_examples=60, deadline=None)
@given(text=st.text(max_size=30), more=st.text(max_size=10))
def test_fewest_tokens_hold_a_text(tokenizer, text, more):
    ids = tokenizer(text + more, add_special_tokens=False)["input_ids"]
    beginning = decode(tokenizer, ids)[: len(text)]
    kept = fewest(ids, beginning, tokenizer)
    assert decode(tokenizer, ids[:kept]).startswith(beginning)
    slow = next(n for n in range(len(ids) + 1) if decode(tokenizer, ids[:n]).startswith(beginning))
    assert kept == slow
