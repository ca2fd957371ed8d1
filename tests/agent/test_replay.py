"""The 5,375 recorded Search-R1 runs, replayed through the loop: what is parsed equals what was recorded."""

from __future__ import annotations

import gzip
import json
from types import SimpleNamespace

import pytest

from sqe_fast.agent.answers import contains_match, exact_match, f1
from sqe_fast.agent.replay import RecordedPolicy, RecordedRetriever
from sqe_fast.agent.retrievers import IndexRetriever
from sqe_fast.agent.rollout import Roller


@pytest.fixture(scope="module")
def recorded(shared_data):
    with gzip.open(shared_data / "qa" / "search_r1_traces.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    pool = IndexRetriever.from_beir(shared_data / "ir" / "searchr1_wiki_pool")
    ids = [f"{row['run']}/{row['dataset']}/{row['id']}" for row in rows]
    assert len(set(ids)) == len(rows) == 5375
    assert len(pool) == 9648
    return SimpleNamespace(
        rows=rows,
        ids=ids,
        questions=[row["question"] for row in rows],
        pool=pool,
        policy=RecordedPolicy({name: said(row) for name, row in zip(ids, rows, strict=True)}),
        passages={pool[place].id: pool[place] for place in range(len(pool))},
    )


def said(row):
    """The turns of a record as the policy would have written them."""
    turns = [f"<think>Look it up.</think>\n<search>{turn['query']}</search>" for turn in row["turns"]]
    last = (
        "I cannot tell." if row["answer"] is None else f"<think>So.</think>\n<answer>{row['answer']}</answer>"
    )
    return [*turns, last]


def broken(text):
    """Whether a recorded text still holds a part of a tag: these are the explained differences."""
    return text is not None and "<" in text


class Counting:
    def __init__(self, retriever):
        self.retriever = retriever
        self.batches = []

    def search(self, queries, k):
        self.batches.append(len(queries))
        return self.retriever.search(queries, k)


def replay(recorded, retriever):
    recorded.policy.calls = 0
    roller = Roller(recorded.policy, retriever, "search-r1", force_answer=False)
    rollouts = roller.run(recorded.questions, recorded.ids)
    assert recorded.policy.calls == 4  # the longest run has three searches
    return rollouts


def check_against_record(recorded, rollouts):
    """Everything equal, but where the record itself holds a broken tag; these are counted exactly.

    65 queries and 5 answers end in a piece of their closing tag, which the recorder left on and we take off;
    one query names the search tag within itself, and we take the inner one. One of these answers is right
    without it, so 2,088 are in place of 2,087.
    """
    queries = answers = right = 0
    for row, rollout in zip(recorded.rows, rollouts, strict=True):
        wanted = tuple((turn["query"],) for turn in row["turns"])
        if rollout.queries != wanted:
            queries += 1
            assert broken(row["turns"][-1]["query"])
            assert rollout.queries[:-1] == wanted[:-1]
            (got,), (was,) = rollout.queries[-1], wanted[-1]
            assert got in (was.partition("</")[0].strip(), was.partition("<search>")[2].strip())
        if rollout.answer != row["answer"]:
            answers += 1
            assert rollout.answer == row["answer"].partition("</")[0].strip()
        em = exact_match(rollout.answer, row["golden_answers"])
        if em != row["metric"]["em"]:
            right += 1
            assert (em, row["answer"]) == (1.0, "April 22, 1904</answer")
        assert rollout.finish == ("none" if row["answer"] is None else "answer")
        texts = [*(turn["query"] for turn in row["turns"]), row["answer"] or ""]
        tagged = any(tag in text for text in texts for tag in ("</search", "<search>", "</answer"))
        assert rollout.valid == (row["answer"] is not None and not tagged)
        # The metrics are those of the record, on the answer as it was recorded.
        assert exact_match(row["answer"], row["golden_answers"]) == row["metric"]["em"]
        assert contains_match(row["answer"], row["golden_answers"]) == row["metric"]["acc"]
        assert f1(row["answer"], row["golden_answers"]) == pytest.approx(row["metric"]["f1"], abs=1e-12)
    assert (queries, answers, right) == (66, 5, 1)
    assert (
        sum(
            exact_match(r.answer, row["golden_answers"])
            for r, row in zip(rollouts, recorded.rows, strict=True)
        )
        == 2088
    )


def test_recorded_runs_replay_as_they_were(recorded):
    found = {
        name: [[recorded.passages[doc] for doc in turn["docs"]] for turn in row["turns"]]
        for name, row in zip(recorded.ids, recorded.rows, strict=True)
    }
    rollouts = replay(recorded, RecordedRetriever(found))
    check_against_record(recorded, rollouts)
    for row, rollout in zip(recorded.rows, rollouts, strict=True):
        docs = [[passage.id for passage in turn.hits[0]] for turn in rollout.turns]
        assert docs == [turn["docs"] for turn in row["turns"]]
        assert all(turn.problem is None for turn in rollout.turns)
        shown = [segment.text for segment in rollout.segments if segment.role == "observation"]
        for turn, text in zip(rollout.turns, shown, strict=True):
            assert all(passage.text in text for passage in turn.hits[0])


def test_recorded_queries_search_the_pool_in_batches(recorded):
    index = Counting(recorded.pool)
    rollouts = replay(recorded, index)
    check_against_record(recorded, rollouts)
    # One search a step for all that search, each distinct query once.
    assert [sum(len(r.turns) > step for r in rollouts) for step in range(3)] == [4707, 287, 2]
    assert index.batches == [3866, 286, 2]
    # Rare names: no third passage of the pool holds a word of theirs.
    assert sum(len(turn.hits[0]) < 3 for r in rollouts for turn in r.turns) == 15
    alone = recorded.pool.search([rollouts[1].queries[0][0]], 3)[0]
    assert list(rollouts[1].turns[0].hits[0]) == alone
    # What BM25 finds of what E5 had found over 21 million passages (the pool is made of the latter's finds).
    pairs = [
        ({p.id for p in turn.hits[0]}, set(was["docs"]))
        for row, rollout in zip(recorded.rows, rollouts, strict=True)
        for turn, was in zip(rollout.turns, row["turns"], strict=True)
    ]
    share = sum(len(got & was) for got, was in pairs) / sum(len(was) for _, was in pairs)
    print(share)
    assert 0.4 < share < 0.8
