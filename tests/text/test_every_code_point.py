"""Every tokenizer against its oracle on each of the 1,114,112 code points, in several surroundings."""

from __future__ import annotations

import sys

import pytest

from sqe_fast import _core
from tests.oracles import text as oracle

pytestmark = pytest.mark.slow


def wrong(kind: str, texts: list[str]) -> list[str]:
    expected = oracle.of_kind(kind, _core.stop_words)
    got = _core.tokenize_batch(texts, kind, 1)
    return [ascii(text) for text, tokens in zip(texts, got, strict=True) if tokens != expected(text)]


@pytest.mark.parametrize("template", ["{}", "{}Σ", "A{}Σ", "Σ{}a", "AΣ{}", "AΣ{}B", "x{}Y"])
def test_whitespace(template: str) -> None:
    assert not wrong("whitespace", [template.format(chr(code)) for code in range(sys.maxunicode + 1)])


@pytest.mark.parametrize("kind", ["code", "word"])
@pytest.mark.parametrize("template", ["{}", "a{}Z", "A{0}{0}b", "1{}2", "中{}字", "Σ{}Σ"])
def test_code_and_word(kind: str, template: str) -> None:
    texts = [template.format(chr(code)) for code in range(sys.maxunicode + 1)]
    if template != "{}":  # the large blocks that hold one kind of character are thinned out
        texts = texts[:0x3400] + texts[0x3400::17]
    assert not wrong(kind, texts)
