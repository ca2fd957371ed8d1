"""`code` and `word` against their plain oracles, over any text and over texts made of what is hard."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sqe_fast import _core
from tests.oracles import text as oracle

pytestmark = [pytest.mark.usefixtures("isa"), pytest.mark.parametrize("kind", ["code", "word"])]
relaxed = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

ASCII_PARTS = [
    "a",
    "b",
    "Z",
    "Y",
    "7",
    "0",
    "_",
    "'",
    ".",
    " ",
    "\0",
    "/",
    "-",
    "The",
    "is",
    "HTTP",
    "x" * 60,
]
# One or more of every class, some of each way a text is stored, and the characters with rules of their own.
WIDE_PARTS = [
    *"aZ9_'.·’＇ ßÉİΣσςЖжǅªⅧ²٣‿あ々〇ーｰカｶ한ᄀ中𠀀กำเខក",
    *"\u0e34\u0301\u093e\u094d\u3099\u200b\u200c\u200d\u00ad\ufe0f",
    *"\U000e0100\ud800\U0001d518𐐀🙂、\u034f\u180b\u0600①",
]


def check(kind: str, texts: list[str]) -> None:
    expected = oracle.of_kind(kind, _core.stop_words)
    for text, tokens in zip(texts, _core.tokenize_batch(texts, kind, 1), strict=True):
        assert tokens == expected(text), ascii(text)


@relaxed
@given(st.lists(st.text(st.characters(), max_size=200), max_size=4))
def test_any_text(kind: str, texts: list[str]) -> None:
    check(kind, texts)


@relaxed
@given(st.lists(st.sampled_from(WIDE_PARTS), max_size=30).map("".join))
def test_texts_of_hard_characters(kind: str, text: str) -> None:
    check(kind, [text])


@relaxed
@given(st.one_of(st.lists(st.sampled_from(ASCII_PARTS), max_size=80).map("".join), st.text(max_size=300)))
def test_how_a_text_is_stored_does_not_matter(kind: str, text: str) -> None:
    bare, *stored = _core.tokenize_batch([text, text + " é", text + " Ж", text + " 𝔘"], kind, 1)
    assert bare == oracle.of_kind(kind, _core.stop_words)(text)
    assert stored == [[*bare, "é"], [*bare, "ж"], [*bare, "𝔘"]]


@pytest.mark.parametrize(
    "text", ["", " ", "\n" * 300, "\0", "_", "___ __", "'", "...", "\u0301", "\u200d", "\ud800"]
)
def test_texts_without_a_word(kind: str, text: str) -> None:
    assert _core.tokenize_batch([text], kind, 1) == [[]]


UNITS = ["X", "aB", "a1", "XYz", "it's ", "3.1", "a_", "_", "a.", "a'", "getHTTPResponse_v2 "]


@pytest.mark.parametrize("length", [1, 31, 32, 33, 63, 64, 65, 127, 128, 4095, 4096, 4097, 8192])
def test_lengths_around_the_blocks(kind: str, length: int) -> None:
    for text in ((unit * length)[:length] for unit in UNITS):
        check(kind, [text, " " + text, text + "b", text + "7", text + " Ж"])


@pytest.mark.parametrize(
    "unit", ["def getHTTPResponse_v2(self): # it's 3.14\n", "Слово ", "中文字", "ภาษาไทย", "é'à "]
)
def test_megabytes(kind: str, unit: str) -> None:
    check(kind, [unit * (300_000 // len(unit))])


def test_real_texts(kind: str, shared_data) -> None:
    import gzip
    import json

    with gzip.open(shared_data / "agent_memory" / "traces.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for _, line in zip(range(300), lines, strict=False)]
    check(kind, texts)
