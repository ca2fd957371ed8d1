"""Both dialects: what is read from all kinds of texts, what is valid, and that reading undoes writing."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqe_fast.agent.dialect import DIALECTS, SINGLE, TAGS, TOOLS, Block
from sqe_fast.errors import InvalidInputError

ALL = list(DIALECTS.values())
PIECES = [
    "<think>", "</think>", "<search>", "</search>", "<answer>", "</answer>", "<information>",
    "</information>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "</sea", "</",
    "<", "< answer >", "<SEARCH>", " ## ", "\n", "```json\n", "\n```", '{"name": "search", "arguments": ',
    '{"query_list": ["a", "b"]}}', "[[[[", "{", "'", '"', "\\", "Paris", " ",
]  # fmt: skip
tag_soup = st.one_of(st.text(), st.lists(st.sampled_from(PIECES) | st.text(max_size=3)).map("".join))


@pytest.mark.parametrize("dialect", ALL, ids=lambda d: d.name)
class TestLaws:
    @settings(deadline=None)
    @given(text=tag_soup)
    def test_no_text_makes_reading_fail(self, dialect, text):
        turn = dialect.turn(text)
        assert text.startswith(turn.text)
        assert (turn.answer is not None) == (turn.action == "answer")
        assert dialect.answer(text) is None or isinstance(dialect.answer(text), str)
        blocks = dialect.blocks(text)
        assert all(query == " ".join(query.split()) != "" for block in blocks for query in block.queries)
        if dialect.valid(text):  # what is valid is read without any tolerance
            assert all(block.closed and block.kind != "text" for block in blocks)
            kinds = [block.kind for block in blocks]
            assert kinds == ["think", "search", "observation"] * (len(kinds) // 3) + ["think", "answer"]
            assert dialect.answer(text) is not None

    @settings(deadline=None)
    @given(data=st.data())
    def test_what_is_written_is_read_back(self, dialect, data):
        letters = st.text(st.characters(blacklist_characters="<#[]{}'`", blacklist_categories=["Cs"]))
        content = letters.map(str.strip)
        word = letters.map(lambda text: "q" + " ".join(text.split()).lstrip("-*•.)"))
        queries = st.lists(word, min_size=1, max_size=1 if dialect is SINGLE else 4).map(tuple)
        block = st.one_of(
            st.builds(Block, st.sampled_from(["think", "observation", "answer"]), content),
            st.builds(Block, st.just("search"), st.just(""), queries),
        )
        blocks = data.draw(st.lists(block, max_size=6))
        assert dialect.blocks(dialect.render(blocks)) == tuple(blocks)

    @settings(deadline=None)
    @given(
        blocks=st.lists(st.builds(Block, st.sampled_from(["think", "search", "answer", "text"]), tag_soup)),
        queries=st.lists(tag_soup, min_size=1),
    )
    def test_what_cannot_be_written_is_refused(self, dialect, blocks, queries):
        wished = (*blocks, Block("search", queries=tuple(queries)))
        try:
            text = dialect.render(wished)
        except InvalidInputError:
            return
        assert dialect.blocks(text) == wished

    @settings(deadline=None)
    @given(text=tag_soup, rounds=st.integers(0, 2))
    def test_an_observation_cannot_break_out(self, dialect, text, rounds):
        call = dialect.render([Block("think", "t"), Block("search", queries=("q",))])
        step = call + "\n" + dialect.show(text) + "\n"
        whole = step * rounds + "<think>t</think>\n<answer>a</answer>"
        assert dialect.valid(whole)
        assert dialect.answer(whole) == "a"
        assert [block.kind for block in dialect.blocks(step * rounds)].count("observation") == rounds

    @settings(deadline=None)
    @given(
        thought=st.sampled_from(["", "<think>hm</think> ", "<think>hm "]),
        kind=st.sampled_from(["search", "answer"]),
        content=st.text(st.characters(blacklist_characters="<"), min_size=1),
        cut=st.integers(2, 8),
    )
    def test_an_action_without_its_end_reads_as_with_it(self, dialect, thought, kind, content, cut):
        tag = f"</{dialect.tag(kind)}>"
        begun = f"{thought}<{dialect.tag(kind)}>{content}"
        whole = dialect.turn(begun + tag)
        for text in (begun, begun + tag[:cut]):
            turn = dialect.turn(text)
            assert turn.missing == (tag if len(tag) - 1 > len(text) - len(begun) else "")
            assert (turn.action, turn.queries, turn.answer) == (whole.action, whole.queries, whole.answer)


@settings(deadline=None)
@given(queries=st.lists(st.text().map(lambda text: " ".join(text.split())).filter(bool), min_size=1))
def test_json_carries_any_query(queries):
    blocks = (Block("search", queries=tuple(queries)),)
    assert TOOLS.blocks(TOOLS.render(blocks)) == blocks


READ = [
    (TAGS, "<think>hm</think><search>one ## two</search>", ("one", "two")),
    (TAGS, "<search>1. one\n2) two\n- three\n\n##\n</search>", ("one", "two", "three")),
    (TAGS, "<search>one", ("one",)),
    (TAGS, "<information>made up</information><search>one</search>", ("one",)),
    (TAGS, "<search>one </sea", ("one",)),
    (TAGS, "<search>one </search", ("one",)),
    (TAGS, "<search>one </search</search>", ("one",)),
    (TAGS, "<search>by <search> one</search>", ("one",)),
    (TAGS, "<think>I may use <search> and <answer>. <search>one</search>", ("one",)),
    (TAGS, "<SEARCH> one </Search >", ("one",)),
    (TAGS, "<search>one</search><search>two</search><answer>x</answer>", ("one",)),
    (TAGS, "<search> ## </search>", ()),
    (SINGLE, "<search>one ##\n two</search>", ("one ## two",)),
    (TOOLS, '<tool_call>{"name":"search","arguments":{"query_list":["one"," ",7]}}</tool_call>', ("one",)),
    (TOOLS, '<tool_call>\n```json\n{"arguments":{"query":"one"}}\n```\n</tool_call>', ("one",)),
    (TOOLS, '<tool_call>{"name":"search","arguments":"{\\"query_list\\": [\\"one\\"]}"}', ("one",)),
    (TOOLS, '<tool_call>{"query":"one"}\n{"query":"two"}</tool_call>', ("one", "two")),
    (TOOLS, "<tool_call>{'name': 'search', 'arguments': {'query_list': ['one']}}</tool_call>", ("one",)),
    (TOOLS, '<tool_call>["one", "two"]</tool_call>', ("one", "two")),
    (TOOLS, "<tool_call>one\ntwo</tool_call>", ("one", "two")),
    (TOOLS, '<tool_call>{"name":"search","arguments":{"query_list":["one"]</tool_call>', ("one",)),
    (TOOLS, '<tool_call>{"name":"search","arguments":{}}</tool_call>', ()),
    (TOOLS, "<tool_call>{one</tool_call>", ()),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "text", "queries"), READ)
def test_what_models_write_for_a_search(dialect, text, queries):
    turn = dialect.turn(text + " and more" if text.endswith(">") else text)
    assert (turn.action, turn.queries, turn.answer) == ("search", queries, None)


@pytest.mark.parametrize(
    ("text", "answer", "missing"),
    [
        ("<answer>a</answer>", "a", ""),
        ("<answer>a</answer> or <answer> b </answer> end", "b", ""),
        ("<think>t<answer>a", "a", "</answer>"),
        ("<answer>a</answ", "a", "</answer>"),
        ("<answer></answer>", "", ""),
        ("<answer>a</answer><search>q</search>", "a", ""),
        ("<answer>a <answer>b</answer>", "b", ""),
        ("<think>t</think><information>made up</information><answer>a</answer>", "a", ""),
        ("<answer>a</answer><information>made up</information><answer>b</answer>", "a", ""),
    ],
)
def test_what_models_write_for_an_answer(text, answer, missing):
    turn = TAGS.turn(text)
    assert (turn.action, turn.answer, turn.missing) == ("answer", answer, missing)
    assert TAGS.answer(turn.text) == answer


@pytest.mark.parametrize("text", ["", "I think Paris.", "<think>hm</think>", "</search>", "<information>x"])
def test_turns_without_an_action(text):
    turn = TAGS.turn(text)
    assert (turn.action, turn.text, turn.queries) == ("none", text, ())


STEP = "<think>a</think>\n<search>q</search>\n\n<information>x</information>\n\n"
END = "<think>b</think> <answer>c</answer>\n"


@pytest.mark.parametrize("text", [END, STEP + END, STEP * 4 + END, "<think></think><answer></answer>"])
def test_valid_responses(text):
    assert TAGS.valid(text)


@pytest.mark.parametrize(
    "text",
    [
        "", STEP, END + END, END + "so.", "Well. " + END, "<answer>c</answer>", STEP + "<answer>c</answer>",
        "<think>b</think> hm <answer>c</answer>", "<think>b<answer>c</answer></think>", END[:-2],
        "<think>a</think><search>q</search>" + END, "<search>q</search><information>x</information>" + END,
        "<think>a</think><search> ## </search><information>x</information>" + END,
        "<think>a</think><think>a</think><answer>c</answer>", "< think>b</think><answer>c</answer>",
        "<Think>b</Think><answer>c</answer>", "<think>b</think><answer>c</answer></answer>",
    ],
)  # fmt: skip
def test_invalid_responses(text):
    assert not TAGS.valid(text)


def call(value):
    return f"<think>a</think><tool_call>{value}</tool_call><tool_response>x</tool_response>" + END


def test_a_valid_tool_call_has_one_shape():
    good = {"name": "search", "arguments": {"query_list": ["q"]}}
    assert TOOLS.valid(call("\n" + json.dumps(good) + "\n"))
    wrong = [
        {"name": "find", "arguments": {"query_list": ["q"]}},
        {"name": "search", "arguments": {"query_list": "q"}},
        {"name": "search", "arguments": {"query_list": []}},
        {"name": "search", "arguments": {"query_list": [""]}},
        {"name": "search", "arguments": ["q"]},
        ["q"],
    ]
    for value in wrong:
        assert not TOOLS.valid(call(json.dumps(value))), value
    assert not TOOLS.valid(call("```json\n" + json.dumps(good) + "\n```"))
    assert not TOOLS.valid(call("[" * 100_000))
    assert not TAGS.valid(call(json.dumps(good)))


def test_stops_and_tags():
    assert TAGS.stops == ("</search>", "</answer>")
    assert TOOLS.stops == ("</tool_call>", "</answer>")
    assert TAGS.neutral("see <information> and </ANSWER>, a < b") == "see ‹information> and ‹/ANSWER>, a < b"
    with pytest.raises(InvalidInputError, match="dialect 'tags'"):
        TAGS.render([Block("think", "x </think> y")])
