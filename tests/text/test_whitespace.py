"""`whitespace` is `text.lower().split()`, on every str that Python can hold."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sqe_fast import _core

pytestmark = pytest.mark.usefixtures("isa")

any_text = st.text(st.characters(), max_size=300)  # all planes, unpaired surrogates included
relaxed = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

# What decides the form of a capital sigma (cased, case-ignorable, neither) and white space.
SIGMA_NEIGHBOURS = "ΣΣΣaΑβ'’.·\u0301\u00ad\u02b0\u0345ªⒶ \u2028\x1c-1中\u0130\ud800𐐀𝐀\U000e0001"


def whitespace(texts: list[str]) -> list[list[str]]:
    return _core.tokenize_batch(texts, "whitespace", 1)


def check(texts: list[str]) -> None:
    for text, tokens in zip(texts, whitespace(texts), strict=True):
        assert tokens == text.lower().split(), ascii(text)


def test_the_tables_are_those_of_this_python() -> None:
    assert _core.unicode_version == unicodedata.unidata_version


@relaxed
@given(st.lists(any_text, max_size=5))
def test_any_text(texts: list[str]) -> None:
    check(texts)


@relaxed
@given(st.text(st.sampled_from(SIGMA_NEIGHBOURS), max_size=40))
def test_sigma_and_dotted_capital_i(text: str) -> None:
    check([text])


@relaxed
@given(st.text(st.characters(max_codepoint=127), max_size=400))
def test_ascii_and_the_same_text_stored_wide(text: str) -> None:
    check([text, text + " é", text + " Ж", text + " 𝔘"])


@relaxed
@given(st.text(st.characters(max_codepoint=255), max_size=400))
def test_latin1(text: str) -> None:
    check([text, text + " 𝔘"])


@pytest.mark.parametrize(
    "text", ["", " ", "\n" * 200, "\x1c\x1d\x1e\x1f\x85\xa0", "\u2028\u3000", "\0", "\0 \0"]
)
def test_texts_of_nothing(text: str) -> None:
    check([text])


@pytest.mark.parametrize("length", [1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 4095, 4096, 4097, 9000])
def test_lengths_around_the_blocks(length: int) -> None:
    check(["X" * length, "X" * (length - 1) + " ", " " * (length - 1) + "X", ("Xy " * length)[:length]])
    check([("Ж " * length)[:length], ("é " * length)[:length], ("𝔘" * length)[:length]])


@pytest.mark.parametrize("unit", ["The Quick brown\tFox\n", "Быстрая Лиса ", "ΟΔΟΣ ΣΑΣ' ", "中文 空格", "É "])
def test_megabytes(unit: str) -> None:
    check([unit * 100_000])


def test_long_runs_of_case_ignorable_characters_stay_linear() -> None:
    check(["A" + "'" * 200_000 + "Σ" + "'" * 200_000 + "Σ"])


def test_real_texts(shared_data) -> None:
    import gzip
    import json

    with gzip.open(shared_data / "agent_memory" / "traces.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for _, line in zip(range(2000), lines, strict=False)]
    check(texts)
