"""The seven systems as rows of settings."""

from __future__ import annotations

import pytest

from sqe_fast.agent.dialect import SINGLE, TAGS, TOOLS
from sqe_fast.agent.presets import PRESETS, get_preset
from sqe_fast.agent.values import Budgets
from sqe_fast.errors import InvalidInputError, InvalidTypeError

ROWS = {  # queries a turn, k, search turns, squeeze, retriever, reward
    "r1": (0, 0, 0, False, "none", "em"),
    "search-r1": (1, 3, 4, False, "index", "search-r1-v0.2"),
    "zerosearch": (1, 5, 4, False, "simulated", "f1"),
    "stepsearch": (1, 3, 5, False, "index", "stepsearch"),
    "router-r1": (1, 1, 4, False, "pool", "router-r1"),
    "parallelsearch": (None, 3, 4, False, "index", "parallelsearch"),
    "expandsearch": (3, 5, 4, True, "index", "table"),
}


def test_the_rows():
    assert list(PRESETS) == list(ROWS)
    for alias, row in ROWS.items():
        p = get_preset(alias)
        assert (p.queries, p.k, p.turns, p.squeeze, p.retriever, p.reward) == row
        assert get_preset(p.name.upper()) is p is get_preset(p)
        assert p.searches == (alias != "r1")
        assert p.dialect is (TAGS if alias in ("parallelsearch", "expandsearch") else SINGLE)
        assert p.budgets == Budgets(4096, 3000, 4096)
        assert "arXiv" in p.source
    assert {a: dict(p.published) for a, p in PRESETS.items() if p.published} == {
        "r1": {"3B": 0.191, "7B": 0.271},
        "search-r1": {"3B": 0.291, "7B": 0.370},
        "zerosearch": {"3B": 0.317, "7B": 0.391},
        "router-r1": {"3B": 0.416},
        "parallelsearch": {"7B": 0.425},
        "expandsearch": {"3B": 0.457},
    }


@pytest.mark.parametrize("alias", PRESETS)
def test_prompts_tell_what_the_dialect_needs(alias):
    preset = get_preset(alias)
    prompt = preset.ask("Who? {models} {question}", models=["m1", "m2"])
    assert prompt.endswith("Question: Who? {models} {question}\n")  # a question is no template
    assert "<answer>" in prompt
    assert ("<search>" in prompt) == preset.searches
    assert (" ## " in prompt) == (preset.dialect is TAGS)
    assert ("m1, m2" in prompt) == (alias == "router-r1")
    assert ("three queries" in prompt) == (alias == "expandsearch")
    if preset.searches:
        assert f"at most {preset.turns} times" in prompt
        as_tools = get_preset(alias, dialect=TOOLS).ask("q")
        assert '{"name": "search", "arguments": {"query_list": ["first query", "second query"]}}' in as_tools
        assert "<tool_response>" in as_tools


@pytest.mark.parametrize("dialect", [TAGS, TOOLS])
@pytest.mark.parametrize(("queries", "word"), [(2, "two"), (3, "three"), (5, "five"), (9, "9")])
def test_the_prompt_asks_for_as_many_queries_as_count(queries, word, dialect):
    assert f"Write {word} queries" in get_preset("expandsearch", queries=queries, dialect=dialect).ask("q")


@pytest.mark.parametrize("alias", ["parallelsearch", "expandsearch"])
def test_the_prompt_for_one_query_asks_for_no_more(alias):
    prompt = get_preset(alias, queries=1).ask("q")
    assert "##" not in prompt
    assert "queries" not in prompt


def test_changes():
    assert get_preset("expandsearch", k=10).k == 10
    assert get_preset("search-r1", template="Q: {question}!").ask("why") == "Q: why!"
    cases = [
        (InvalidInputError, "one of r1, search-r1", ("gpt",), {}),
        (InvalidTypeError, "name or a Preset", (3,), {}),
        (InvalidInputError, "no field 'depth'", ("r1",), {"depth": 3}),
        (InvalidInputError, "queries", ("r1",), {"queries": -1}),
        (InvalidInputError, "reward must be one of", ("r1",), {"reward": "bleu"}),
        (InvalidInputError, "needs k >= 1", ("search-r1",), {"k": 0}),
        (InvalidInputError, "template must hold", ("r1",), {"template": "hello"}),
        (InvalidInputError, "wish", ("r1",), {"wish": "x"}),
        (InvalidInputError, "writes one query a search", ("search-r1",), {"queries": 3}),
        (InvalidInputError, "writes one query a search", ("expandsearch",), {"dialect": SINGLE}),
        (InvalidTypeError, "dialect", ("r1",), {"dialect": "tags"}),
        (InvalidTypeError, "opening", ("r1",), {"opening": None}),
        (InvalidTypeError, "budgets", ("r1",), {"budgets": 3}),
    ]
    for kind, message, arguments, changes in cases:
        with pytest.raises(kind, match=message):
            get_preset(*arguments, **changes)
