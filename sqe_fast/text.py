"""Tokenizers: a name for a native one, or any callable from str to an iterable of str.

``whitespace``
    Exactly ``text.lower().split()``.
``code``
    For source code, tool calls and traces. An identifier stays whole, in lower case and without its outer
    underscores, followed by its parts where it has more than one (camelCase, acronyms, snake_case, changes
    between letters and digits). ASCII and Unicode punctuation separates. English function words
    (`STOP_WORDS`) are left out, as words and as parts.
``word``
    Words of any script in lower case: letters, marks, digits and inner underscores. An apostrophe between
    letters (``don't``; the curly one is written as the straight one) and a point between digits (``3.14``)
    do not separate.

``code`` and ``word`` treat other scripts alike. Scripts written without spaces (Han, Hiragana, Thai, Lao,
Khmer, Myanmar) give overlapping pairs of letters with their marks, and a lone letter itself. Katakana and
Hangul words stand apart from letters of other scripts beside them. Format characters and variation selectors
(soft hyphen, joiners) are left out of words without ending them. Nothing is normalized: composed and
decomposed accents differ.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

from sqe_fast import _core
from sqe_fast._checks import check_choice, check_texts, check_threads, check_tokens, describe
from sqe_fast.errors import InvalidTypeError, MissingExtraError

__all__ = ["STOP_WORDS", "TOKENIZERS", "Stemmed", "Tokenizer", "check_tokenizer"]
__all__ += ["stemmed", "tokenize", "tokenize_batch"]

Tokenizer: TypeAlias = str | Callable[[str], Iterable[str]]

TOKENIZERS: Final[tuple[str, ...]] = _core.tokenizers
"""Names of the native tokenizers."""

STOP_WORDS: Final[frozenset[str]] = _core.stop_words
"""English function words that `code` leaves out."""


def check_tokenizer(name: str, tokenizer: Tokenizer) -> Tokenizer:
    """Return `tokenizer` if it is a name of `TOKENIZERS` or a callable; `name` is the argument's name."""
    if callable(tokenizer):
        return tokenizer
    if not isinstance(tokenizer, str):
        raise InvalidTypeError(
            f"{name} must be one of {', '.join(TOKENIZERS)} or a callable; got {describe(tokenizer)}"
        )
    return check_choice(name, tokenizer, TOKENIZERS)


def tokenize(text: str, tokenizer: Tokenizer = "whitespace") -> list[str]:
    """Return the tokens of one text.

    Parameters
    ----------
    text : str
        Any str, unpaired surrogates included.
    tokenizer : str or callable
        A name of `TOKENIZERS`, or a callable from str to an iterable of str.

    Examples
    --------
    >>> tokenize("The getHTTPResponse_v2 call", "code")
    ['gethttpresponse_v2', 'get', 'http', 'response', 'v', '2', 'call']
    >>> tokenize("I don't speak 中文字", "word")
    ['i', "don't", 'speak', '中文', '文字']
    """
    if not isinstance(text, str):
        raise InvalidTypeError(f"text must be a str; got {describe(text)}")
    return tokenize_batch([text], tokenizer, threads=1)[0]


def tokenize_batch(
    texts: Iterable[str], tokenizer: Tokenizer = "whitespace", threads: int | None = None
) -> list[list[str]]:
    """Return the tokens of each text, in order.

    Parameters
    ----------
    texts : iterable of str
        Consumed once.
    tokenizer : str or callable
        As for `tokenize`. A callable runs in the calling thread.
    threads : int, optional
        How many threads a native tokenizer may use; all CPUs of this process by default.

    Raises
    ------
    InvalidTypeError
        `texts` is one str or not iterable, an element is not a str, or a callable returned something
        else than an iterable of str; the message gives the position.
    InvalidInputError
        `tokenizer` or `threads` is not allowed.

    Examples
    --------
    >>> tokenize_batch(["To be", "", "or NOT"])
    [['to', 'be'], [], ['or', 'not']]
    """
    tokenizer = check_tokenizer("tokenizer", tokenizer)
    threads = check_threads(threads)
    held = list(check_texts("texts", texts))
    if isinstance(tokenizer, str):
        return _core.tokenize_batch(held, tokenizer, threads or _core.default_threads())
    for position, text in enumerate(held):
        if not isinstance(text, str):
            raise InvalidTypeError(f"texts[{position}] must be a str; got {type(text).__name__}")
    if isinstance(tokenizer, Stemmed):
        return [tokenizer.stem(tokens) for tokens in tokenize_batch(held, tokenizer.base, threads)]
    return [
        check_tokens(tokenizer(text), f"tokenizer: its result for texts[{position}]")
        for position, text in enumerate(held)
    ]


class Stemmed:
    """A tokenizer and a Snowball stemmer after it; made by `stemmed`. Can be pickled."""

    def __init__(self, base: Tokenizer = "code", language: str = "english") -> None:
        try:
            stemmer: Any = importlib.import_module("Stemmer")
        except ImportError:
            raise MissingExtraError(
                "stemmed() needs PyStemmer, which is not installed: pip install 'sqe_fast[stem]'"
            ) from None
        self.base = check_tokenizer("base", base)
        self.language = check_choice("language", language, stemmer.algorithms())
        self._stemmer = stemmer.Stemmer(self.language)

    def __call__(self, text: str) -> list[str]:
        """Return the stems of the tokens of `text`."""
        return self.stem(tokenize(text, self.base))

    def stem(self, tokens: list[str]) -> list[str]:
        """Return the stem of each token; one with an unpaired surrogate stays as it is."""
        try:
            return list(self._stemmer.stemWords(tokens))
        except UnicodeEncodeError:
            return [self.stem([token])[0] for token in tokens] if len(tokens) > 1 else tokens

    def __repr__(self) -> str:
        return f"stemmed({self.base!r}, {self.language!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stemmed) and (self.base, self.language) == (other.base, other.language)

    def __hash__(self) -> int:
        return hash((self.base, self.language))

    def __reduce__(self) -> tuple[type[Stemmed], tuple[Tokenizer, str]]:
        return Stemmed, (self.base, self.language)


def stemmed(base: Tokenizer = "code", language: str = "english") -> Stemmed:
    """Return a tokenizer that stems the tokens of `base` by Snowball's algorithm for `language`.

    Needs PyStemmer (``pip install 'sqe_fast[stem]'``); without it `MissingExtraError`.

    Examples
    --------
    >>> tokenize("Running parsers", stemmed("word"))  # doctest: +SKIP
    ['run', 'parser']
    """
    return Stemmed(base, language)
