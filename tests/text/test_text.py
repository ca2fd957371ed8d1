"""The Python face of the tokenizers: names, callables, stemming, bad input."""

from __future__ import annotations

import pickle
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from sqe_fast import _core, text
from sqe_fast.errors import InvalidInputError, InvalidTypeError, MissingExtraError
from sqe_fast.text import STOP_WORDS, TOKENIZERS, stemmed, tokenize, tokenize_batch


class Str(str):
    """A subclass, as libraries make them."""

    __slots__ = ()


@pytest.mark.parametrize("kind", TOKENIZERS)
@pytest.mark.parametrize("threads", [None, 1, 2, 7])
def test_a_batch_is_its_texts_one_by_one(kind: str, threads: int | None) -> None:
    texts = [f"Text_{n} número {'Ж' * (n % 3)} {chr(0x4E00 + n)}字 \x00" * (n % 5) for n in range(5000)]
    assert tokenize_batch(iter(texts), kind, threads) == [tokenize(each, kind) for each in texts]


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_no_texts(kind: str) -> None:
    assert tokenize_batch([], kind) == []
    assert tokenize_batch((Str("Ab c"), ""), kind)[0][0] == "ab"


def test_threads_of_python_tokenize_at_once() -> None:
    texts = ["The Quick getBrownFox_2 Ж"] * 3000
    expected = tokenize_batch(texts, "code", 1)
    results: list[list[list[str]]] = []
    runners = [
        threading.Thread(target=lambda: results.append(tokenize_batch(texts, "code", 2))) for _ in range(4)
    ]
    for runner in runners:
        runner.start()
    for runner in runners:
        runner.join()
    assert results == [expected] * 4


def test_stop_words_are_plain_words_that_code_leaves_out() -> None:
    assert 80 < len(STOP_WORDS) < 130
    assert all(word.isascii() and word.isalpha() and word.islower() and len(word) <= 8 for word in STOP_WORDS)
    assert tokenize(" ".join(STOP_WORDS), "code") == []
    assert tokenize(" ".join(STOP_WORDS).upper(), "code") == []
    near = [word + "q" for word in STOP_WORDS if word + "q" not in STOP_WORDS] + ["get", "not", "no", "set"]
    assert tokenize(" ".join(near), "code") == near


def test_callables() -> None:
    def letters(each: str) -> Iterator[str]:
        yield from each

    assert tokenize("ab", letters) == ["a", "b"]
    assert tokenize_batch(["a b", ""], str.split) == [["a", "b"], []]


@pytest.mark.parametrize(
    ("tokenizer", "message"),
    [
        (lambda each: None, r"its result for texts\[0\] .* got NoneType None"),
        (lambda each: each, r"its result for texts\[0\] .* got str 'a'"),
        (lambda each: b"a", r"its result for texts\[0\] .* got bytes"),
        (lambda each: ["a", 1], r"its result for texts\[0\] .* got int 1 at 1"),
    ],
)
def test_callables_that_return_something_else(tokenizer: Callable[[str], list[str]], message: str) -> None:
    with pytest.raises(InvalidTypeError, match=message):
        tokenize("a", tokenizer)


def test_an_error_of_a_callable_reaches_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        tokenize("a", lambda each: [str(1 // 0)])


@pytest.mark.parametrize("tokenizer", ["whitespace", str.split])
@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (None, "texts must be an iterable of str; got NoneType None"),
        ("one text", r"texts must be a list of str, not one str; for one text pass \[text\]"),
        (b"bytes", "texts must be a list of str, not one bytes"),
        (["a", None], r"texts\[1\] must be a str; got NoneType"),
        (["a", b"b"], r"texts\[1\] must be a str; got bytes"),
        ([["a"]], r"texts\[0\] must be a str; got list"),
    ],
)
def test_texts_that_are_none(texts: list[str], tokenizer: text.Tokenizer, message: str) -> None:
    with pytest.raises(InvalidTypeError, match=message):
        tokenize_batch(texts, tokenizer)


@pytest.mark.parametrize("one", [None, b"bytes", 3, ["a"]])
def test_one_text_that_is_none(one: str) -> None:
    with pytest.raises(InvalidTypeError, match="text must be a str; got"):
        tokenize(one)


def test_unknown_tokenizers_and_threads() -> None:
    with pytest.raises(
        InvalidInputError, match="tokenizer must be one of whitespace, code, word; got 'words'"
    ):
        tokenize("a", "words")
    with pytest.raises(InvalidTypeError, match=r"tokenizer must be one of .* or a callable; got NoneType"):
        tokenize("a", None)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="threads must be from 1 to 1024; got 0"):
        tokenize_batch(["a"], threads=0)
    with pytest.raises(InvalidInputError, match="tokenizer must be one of"):
        _core.tokenize_batch(["a"], "words", 1)


def test_stemmed() -> None:
    pytest.importorskip("Stemmer", reason="PyStemmer (extra `stem`) is not installed")
    tokenizer = stemmed("word")
    assert tokenize("Running parsers don't", tokenizer) == ["run", "parser", "don't"]
    assert tokenize_batch(["caring cats", "", "a\ud800 dogs"], stemmed("whitespace")) == [
        ["care", "cat"],
        [],
        ["a\ud800", "dog"],
    ]
    assert stemmed(str.split)("Cats") == ["Cat"]
    assert stemmed("word", "german")("Häusern") == ["haus"]
    assert pickle.loads(pickle.dumps(tokenizer)) == tokenizer != stemmed("code")
    assert repr(tokenizer) == "stemmed('word', 'english')"
    with pytest.raises(InvalidInputError, match=r"language must be one of .*; got 'klingon'"):
        stemmed("word", "klingon")
    with pytest.raises(InvalidInputError, match="base must be one of"):
        stemmed("words")
    with pytest.raises(InvalidTypeError, match=r"texts\[0\] must be a str"):
        tokenize_batch([None], tokenizer)  # type: ignore[list-item]


def test_stemming_without_its_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "Stemmer", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'sqe_fast\[stem\]'"):
        stemmed()


def test_examples_in_docstrings() -> None:
    import doctest

    failed, tried = doctest.testmod(text)
    assert (failed, tried > 0) == (0, True)
