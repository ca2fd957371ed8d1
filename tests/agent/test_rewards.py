"""Every reward against its formula, written out plainly."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noted import PASSAGES

from sqe_fast.agent.answers import f1
from sqe_fast.agent.presets import PRESETS
from sqe_fast.agent.rewards import REWARDS, Gold, cost_rewards, router_reward, score
from sqe_fast.agent.values import Passage, Rollout, SearchTurn
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.usage import Usage

NONE = Usage.zeros(1)


def rollout(answer="1815", valid=True, queries=(("one",),), hits=None):
    turns = tuple(
        SearchTurn(tuple(own), tuple(found), "")
        for own, found in zip(queries, hits or [[()]] * len(queries), strict=True)
    )
    return Rollout("a", "q", (), turns, answer, valid, "answer", NONE, NONE, NONE)


TABLE = [
    ("1815", True, 1.0),
    ("1815", False, 0.8),
    ("1816", True, 0.2),
    ("1816", False, 0.1),
    (None, False, 0.0),
]


@pytest.mark.parametrize(("answer", "valid", "paid"), TABLE)
def test_answer_and_format(answer, valid, paid):
    made = rollout(answer, valid)
    right = float(answer == "1815")
    expected = {
        "em": right,
        "f1": right,
        "search-r1-v0.2": right,
        "em+format": right + 0.2 * valid,
        "table": paid,
        "search-r1-v0.3": paid,
        "router-r1": right if valid else -1.0,
        "router-r1-f1": right if valid else -1.0,
    }
    for name, value in expected.items():
        got = score(name, made, ["1815", "the year 1815"])
        assert got.total == pytest.approx(value), name
        assert sum(got.parts.values()) == pytest.approx(got.total)
        assert got.steps == ()


def test_f1_pays_for_parts():
    made = rollout("in December 1815")
    assert score("f1", made, ["1815"]).total == pytest.approx(0.5)
    assert score("router-r1-f1", made, ["1815"]).total == pytest.approx(0.5)
    assert score("em", made, ["1815"]).total == 0


def test_router_with_cost():
    reward = router_reward(0.6)
    assert reward(rollout(), Gold(("1815",), cost=0.5)).total == pytest.approx(0.4 + 0.3)
    assert reward(rollout(valid=False), Gold(("1815",))).total == -1
    assert cost_rewards([2.0, 2.0]) == [1.0, 1.0]
    assert cost_rewards([]) == []
    with pytest.raises(InvalidInputError, match=r"costs\[1\]"):
        cost_rewards([1.0, -1.0])
    with pytest.raises(InvalidInputError, match="alpha"):
        router_reward(2)


@pytest.mark.parametrize("comparison", [True, False])
@pytest.mark.parametrize("split", [True, False])
@pytest.mark.parametrize("turns", range(5))
@pytest.mark.parametrize(("answer", "valid", "paid"), TABLE)
def test_parallelsearch(answer, valid, paid, turns, comparison, split):
    queries = [("a", "b") if split else ("a",)] * turns
    made, gold = rollout(answer, valid, queries), Gold(("1815",), comparison=comparison)
    split = split and turns > 0
    decomposition = 0.15 * 3 if split and comparison else 0.15 if not split and not comparison else 0
    assert score("parallelsearch", made, gold).total == pytest.approx(
        paid + decomposition + 0.35 * (1 - abs(turns - 1))
    )
    gentle = {1.0: 1.0, 0.8: 0.9, 0.2: 0.1, 0.1: 0.0, 0.0: 0.0}[paid]
    count = 0.35 - 0.35 * abs(turns - 1) if comparison else 0.35 - 0.35 * abs(min(turns, 2) - 2)
    assert score("parallelsearch-code", made, gold).total == pytest.approx(gentle + decomposition + count)


EMMA, AUSTEN, VILLAGE, PERSUASION = PASSAGES


def cosines(texts):
    """TF-IDF cosines by scikit-learn, whose smoothed idf ours is."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    matrix = TfidfVectorizer().fit_transform(texts)
    return (matrix @ matrix.T).toarray()


@settings(deadline=None)
@given(
    turns=st.lists(st.lists(st.sampled_from(PASSAGES), max_size=3, unique=True), max_size=4),
    evidence=st.lists(st.sampled_from([p.text for p in PASSAGES]), min_size=1, max_size=3, unique=True),
)
def test_stepsearch(turns, evidence):
    pytest.importorskip("sklearn")
    queries = [("where was Austen born", "Emma novel")[: 1 + i % 2] for i in range(len(turns))]
    keys = (("birthplace of Jane Austen", "Jane Austen born"), ("Hampshire village",))
    made = rollout("Hampshire village", queries=queries, hits=[(tuple(found),) for found in turns])
    got = score("stepsearch", made, Gold(("Hampshire",), keys=keys, evidence=tuple(evidence)))

    asked = [query for own in queries for query in own]
    matched = sum(max([f1(query, own) for query in asked], default=0) for own in keys) / len(keys)
    assert got.total == pytest.approx(f1("Hampshire village", ["Hampshire"]) + 0.618 * matched)

    distinct = {p.id: f"{p.title} {p.text}" for found in turns for p in found}
    table = cosines([*evidence, *distinct.values()])
    place = {name: len(evidence) + i for i, name in enumerate(distinct)}
    best, seen, steps = [0.0] * len(evidence), [], []
    for found in turns:
        gain = 0.0
        for g in range(len(evidence)):
            now = max([table[g, place[p.id]] for p in found], default=0.0)
            gain += max(now - best[g], 0) / len(evidence)
            best[g] = max(best[g], now)
        repeated = sum(p.id in seen for p in found) / len(found) if found else 0
        seen += [p.id for p in found]
        steps.append(0.6 * (gain - repeated))
    assert got.steps == pytest.approx(steps, abs=1e-9)


def test_stepsearch_needs_its_gold():
    with pytest.raises(InvalidInputError, match="needs Gold"):
        score("stepsearch", rollout(), ["1815"])
    silent = Gold(("x",), keys=(("k",),), evidence=("",))
    odd = rollout(hits=[((Passage("a", "", "", 0.0),),)])
    assert score("stepsearch", odd, silent).steps == (0.0,)


def test_names():
    assert {preset.reward for preset in PRESETS.values()} <= set(REWARDS)
    with pytest.raises(InvalidInputError, match="reward must be one of em, f1"):
        score("bleu", rollout(), ["x"])
    with pytest.raises(InvalidTypeError, match="golden"):
        score("em", rollout(), "1815")
    with pytest.raises(InvalidTypeError, match="Gold: answers"):
        Gold("1815")
    with pytest.raises(InvalidInputError, match="Gold: cost"):
        Gold(("x",), cost=2)
