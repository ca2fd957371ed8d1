"""The texts and queries every bench runs on, built here and the same on every machine.

`zipf*` corpora draw words independently from a Zipf law (exponent 1.0) with a seeded generator. `pypi*`
corpora are one-line package summaries read from a file the user names; they are skipped where it is absent.
Nothing here knows of an engine.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["CORPORA", "Corpus", "CorpusUnavailableError", "ZipfSpec", "load", "queries", "zipf_texts"]

SUMMARIES_VARIABLE = "SQE_FAST_BENCH_SUMMARIES"
EXPONENT = 1.0
MIN_SUMMARY_WORDS = 7  # summaries of 7 words or more average 11 tokens
CONSONANTS, VOWELS = "bcdfghjklmnpqrstvwxz", "aeiou"
SYLLABLES = tuple(c + v for c in CONSONANTS for v in VOWELS)


class CorpusUnavailableError(Exception):
    """A corpus cannot be built here; the message is the reason to skip."""


@dataclass(frozen=True)
class ZipfSpec:
    """A corpus of `documents` texts of `tokens` words each, from a vocabulary of `vocabulary` words."""

    documents: int
    tokens: int
    vocabulary: int
    seed: int


@dataclass(frozen=True)
class SummarySpec:
    """A corpus of `documents` package summaries, spread evenly over the file."""

    documents: int


CORPORA: dict[str, ZipfSpec | SummarySpec] = {
    "zipf5k": ZipfSpec(5_000, 120, 50_000, seed=5),
    "zipf200k": ZipfSpec(200_000, 60, 200_000, seed=200),
    "pypi5k": SummarySpec(5_000),
    "pypi200k": SummarySpec(200_000),
    # For the memory rows only: streamed, never held as a list.
    "zipf2m": ZipfSpec(2_000_000, 30, 200_000, seed=2_000),
}


@dataclass(frozen=True, eq=False)
class Corpus:
    """A named list of texts; `checksum` tells whether two runs saw the same bytes."""

    name: str
    texts: list[str]

    @property
    def checksum(self) -> str:
        """CRC-32 of all texts, in hexadecimal."""
        crc = 0
        for text in self.texts:
            crc = zlib.crc32(text.encode("utf-8", "surrogatepass") + b"\n", crc)
        return f"{crc:08x}"


def load(name: str) -> Corpus:
    """Build the corpus `name`, or raise CorpusUnavailableError with the reason."""
    spec = CORPORA[name]
    texts = list(zipf_texts(spec)) if isinstance(spec, ZipfSpec) else summary_texts(spec)
    return Corpus(name, texts)


def zipf_texts(spec: ZipfSpec, chunk: int = 10_000) -> Iterator[str]:
    """Yield the texts of a Zipf corpus; `chunk` bounds the memory and does not change the texts."""
    words = vocabulary_words(spec.vocabulary)
    cumulative = np.cumsum(1.0 / np.arange(1, spec.vocabulary + 1) ** EXPONENT)
    cumulative /= cumulative[-1]
    rng = np.random.default_rng(spec.seed)
    for start in range(0, spec.documents, chunk):
        size = (min(chunk, spec.documents - start), spec.tokens)
        ranks = np.searchsorted(cumulative, rng.random(size), side="right")
        yield from map(" ".join, words[ranks].tolist())


@lru_cache(maxsize=2)
def vocabulary_words(count: int) -> NDArray[np.object_]:
    """Return `count` distinct words of 4, then 6, then 8 letters, the most frequent first."""
    words = np.empty(count, dtype=object)
    for rank in range(count):
        number, parts = rank + 100, []  # 100 skips the one-syllable words
        while number >= 0:
            number, digit = divmod(number, 100)
            parts.append(SYLLABLES[digit])
            number -= 1
        words[rank] = "".join(reversed(parts))
    return words


def summary_texts(spec: SummarySpec) -> list[str]:
    """Read distinct summaries of at least MIN_SUMMARY_WORDS words, evenly spread over the file."""
    pool = read_summaries()
    if len(pool) < spec.documents:
        raise CorpusUnavailableError(
            f"{SUMMARIES_VARIABLE} holds {len(pool)} summaries of {MIN_SUMMARY_WORDS} words or more; "
            f"{spec.documents} are needed"
        )
    return [pool[row * len(pool) // spec.documents] for row in range(spec.documents)]


def read_summaries() -> list[str]:
    """Return the summaries of the tab-separated file that SQE_FAST_BENCH_SUMMARIES names."""
    path = os.environ.get(SUMMARIES_VARIABLE)
    if not path:
        raise CorpusUnavailableError(
            f"{SUMMARIES_VARIABLE} is not set (a tab-separated file: header, summary in the fifth column)"
        )
    if not Path(path).is_file():
        raise CorpusUnavailableError(f"{SUMMARIES_VARIABLE}: no such file")
    summaries: dict[str, None] = {}
    with open(path, encoding="utf-8") as lines:
        next(lines, None)
        for line in lines:
            columns = line.rstrip("\n").split("\t")
            if len(columns) >= 5 and len(columns[4].split()) >= MIN_SUMMARY_WORDS:
                summaries[columns[4]] = None
    return list(summaries)


def queries(corpus: Corpus, count: int, terms: int, seed: int = 1) -> list[str]:
    """Return `count` queries of about `terms` words, drawn from documents.

    Whole documents are chosen at random until they hold at least `terms` words; these are shuffled and the
    first `terms` of them are the query. A query of up to 8 terms comes from one document only, and has fewer
    words where that document is shorter. Repeated words stay, words keep their case.
    """
    rng = np.random.default_rng([seed, terms])
    drawn = []
    for _ in range(count):
        words = corpus.texts[rng.integers(len(corpus.texts))].split()
        while len(words) < terms and terms > 8:
            words += corpus.texts[rng.integers(len(corpus.texts))].split()
        drawn.append(" ".join(words[i] for i in rng.permutation(len(words))[:terms]))
    return drawn
