"""Queries by rule: what they keep, what they never do, and what they read in real questions."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqe_fast.agent.dialect import DIALECTS
from sqe_fast.agent.expanding import RulePolicy, expand_by_rule, keywords, names, sub_questions
from sqe_fast.bm25 import BM25Index
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.generate import Request
from sqe_fast.text import tokenize

WORDS = [
    "Who",
    "what",
    "the",
    "Paris",
    "New",
    "York",
    "that",
    "film",
    "directed",
    "?",
    '"A B"',
    "of",
    "1986",
    "'s",
]
QUESTIONS = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join) | st.text(max_size=60)


@given(QUESTIONS, st.integers(1, 5))
def test_distinct_queries_that_begin_with_the_question(question, most):
    (found,) = expand_by_rule([question], queries=most)
    assert len(found) == len(set(found)) <= most
    assert all(found) or not question
    assert not question or found[0] == question


@given(QUESTIONS, st.integers(1, 5))
def test_keywords_are_words_of_the_question_in_order(question, most):
    kept = keywords(question, most=most).split()
    assert len(kept) <= most
    words = iter(tokenize(question, "word"))
    assert all(word in words for word in kept)  # a subsequence


@given(QUESTIONS)
def test_sub_questions_come_from_the_question(question):
    assert all(text in question for text in names(question))
    assert all(text in question and text != question for text in sub_questions(question))


def test_keywords_are_the_rarest_that_the_index_holds():
    index = BM25Index.build(["ann wrote a book", "a book on boats", "the book of fish"], tokenizer="word")
    question = "Which book did Ann write about boats and zeppelins?"
    assert keywords(question, index) == "book ann boats"
    assert keywords(question, index, most=2) == "ann boats"
    assert keywords("zeppelins", index) == ""
    ready = BM25Index.build([["a"]], tokenizer=None)
    with pytest.raises(InvalidTypeError, match="tokenizer"):
        keywords(question, ready)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which is older, Guitar World or Science News?", ("Guitar World", "Science News")),
        ("In what city was Matt Moralee born?", ("Matt Moralee",)),
        ("who wrote the song that opens the last concert", ("opens the last concert",)),
        ("Where does Homer's wife live?", ("Homer",)),
        ("who sang it", ()),
        ("Paris?", ()),
    ],
)
def test_sub_questions(question, expected):
    assert sub_questions(question) == expected


@given(QUESTIONS | st.just("a ## <search>b</search>\n c"), st.sampled_from(list(DIALECTS.values())))
def test_a_policy_by_rule_writes_what_its_dialect_reads(question, dialect):
    policy = RulePolicy(3 if dialect.form != "single" else 1, dialect)
    search, later = policy.generate(
        [Request.of("p", question=question, kind="turn 0"), Request.of("p", question=question, kind="turn 1")]
    )
    turn = dialect.turn(search.texts[0])
    assert turn.action == ("search" if search.texts[0] else "none")
    assert (len(turn.queries) > 0) == bool(search.texts[0])
    assert later.texts == ("",)


def test_bad_input_is_refused_by_name():
    with pytest.raises(InvalidInputError, match="queries"):
        expand_by_rule(["a"], queries=0)
    with pytest.raises(InvalidTypeError, match="questions"):
        expand_by_rule("one question")
    with pytest.raises(InvalidTypeError, match="question"):
        sub_questions(3)


def test_real_comparisons_give_both_sides(shared_data):
    path = shared_data / "ir" / "mh_hotpotqa_train100" / "queries.jsonl"
    asked = [json.loads(line) for line in path.read_text().splitlines()]
    compared = [row["text"] for row in asked if row["type"] == "comparison"]
    both = [question for question in compared if len(sub_questions(question)) == 2]
    assert len(both) >= 0.8 * len(compared)
