"""Parsing what models answer: a table of forms, and laws for any text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqe_fast.expansion.parsing import parse_list, parse_trace

WANTED = ["Where is the limit set?", "Which file holds the limit?"]
A, B = WANTED


@pytest.mark.parametrize(
    "answer",
    [
        f"1. {A}\n2. {B}",
        f"1) {A}\n2) {B}",
        f"(1) {A}\n(2) {B}",
        f"[1] {A}\n[2] {B}",
        f"1: {A}\n2: {B}",
        f"1 - {A}\n2 - {B}",
        f"1.{A}\n2.{B}",
        f"- {A}\n- {B}",
        f"* {A}\n* {B}",
        f"• {A}\n• {B}",
        f"- 1. {A}\n- 2. {B}",
        f"**1.** {A}\n**2.** {B}",
        f"**1. {A}**\n**2. {B}**",
        f"1. **{A}**\n2. *{B}*",
        f'1. "{A}"\n2. “{B}”',
        f"Sure! Here are two paraphrases:\n\n1) {A}\n\n2) {B}\n\nHope this helps!",
        f"**Paraphrases:**\n- {A}\n- {B}",
        f"Paraphrase 1: {A}\nParaphrase 2: {B}",
        f"Wording #1: {A}\nWording #2: {B}",
        f"   1.   {A}\r\n\t2.  {B}  \r\n",
        f"{A}\n{B}",
        f"Here they are:\n{A}\n{B}",
        f"1. {A} 2. {B}",
        f"```\n1. {A}\n2. {B}\n```",
        f"<think>1. one idea\n2. another</think>\n1. {A}\n2. {B}",
        f"1. {A}\n2. {A.upper()}\n3. {B}",
        f"1. {A}\n2.\n3. {B}\n4. a fourth",
        f"0. {A}\n1. {B}",
        f"1.\n{A}\n2.\n{B}",
        f"__1.__ {A}\n__2.__ {B}",
        f"1:\n{A}\n2:\n{B}",
    ],
)
def test_common_forms(answer):
    assert parse_list(answer, 2) == WANTED


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("", []),
        ("\n \n", []),
        ("1.\n2.", []),
        ("Here are the paraphrases:", []),
        ("<think>still thinking about 1. this", []),
        (f"1. {A}", [A]),
        ("3.11 breaks the import?", ["3.11 breaks the import?"]),
        ("404 errors: why?\n2xx only?", ["404 errors: why?", "2xx only?"]),
        ("1. 3.11 breaks it\n2. why 404?", ["3.11 breaks it", "why 404?"]),
        ("1. Is *args* kept?\n2. `f` or `g`?", ["Is *args* kept?", "`f` or `g`?"]),
        ("1. 'a' or 'b'?\n2. 为什么失败?", ["'a' or 'b'?", "为什么失败?"]),
    ],
)
def test_edges(answer, expected):
    assert parse_list(answer, 2) == expected


@given(st.text(max_size=300), st.integers(0, 5))
def test_any_text_gives_at_most_count_distinct_lines(answer, count):
    items = parse_list(answer, count)
    assert len(items) <= count
    assert len({item.casefold() for item in items}) == len(items)
    assert all(item == item.strip() and "\n" not in item for item in items)
    assert all(any(letter.isalnum() for letter in item) for item in items)


words = st.lists(st.from_regex(r"[a-z]{2,8}", fullmatch=True), min_size=1, max_size=6).map(" ".join)


@given(
    st.lists(words, min_size=1, max_size=5, unique=True),
    st.sampled_from(
        ["{i}. {t}", "{i}) {t}", "({i}) {t}", "{i}: {t}", "- {t}", "* {t}", "**{i}.** {t}", '{i}. "{t}"']
    ),
    st.sampled_from(["", "Sure:\n\n"]),
    st.sampled_from(["\n", "\n\n", "\r\n"]),
)
def test_every_numbering_gives_back_its_items(items, form, preamble, gap):
    lines = (form.format(i=i, t=text) for i, text in enumerate(items, 1))
    assert parse_list(preamble + gap.join(lines), len(items)) == items


STEP = "[THOUGHT] look\n[ACTION] bash: ls\n[OBSERVATION] a.py"


@pytest.mark.parametrize(
    "answer",
    [
        STEP,
        f"\n{STEP}\n",
        f"```\n{STEP}\n```",
        f"```text\n{STEP}\n```",
        f"Here is the step:\n\n{STEP}",
        f"<think>hm</think>{STEP}",
    ],
)
def test_traces(answer):
    assert parse_trace(answer) == STEP


def test_traces_without_marks_are_kept_as_they_are():
    assert parse_trace(" ran grep, found it ") == "ran grep, found it"
    assert parse_trace("  ") == ""
    late = "x" * 300 + " [THOUGHT] y"
    assert parse_trace(late) == late
