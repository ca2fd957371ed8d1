"""Reading texts into words: our tokenizers against Python's own split of the lower-cased text."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bench import ours
from bench.rows import Context

WAYS = ("whitespace", "whitespace, 2 threads", "word", "code", "python split")


def python_split(texts: list[str]) -> list[list[str]]:
    return [text.lower().split() for text in texts]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "corpus",
    [
        pytest.param(c, marks=pytest.mark.benchmark(group=f"text {c}"))
        for c in ("zipf5k", "pypi5k", "zipf200k", "pypi200k")
    ],
)
def test_tokenize(context: Context, timed: Callable[..., None], corpus: str, way: str) -> None:
    def prepare() -> tuple[Callable[[], object], int]:
        texts = context.corpus(corpus).texts
        name, _, threads = way.partition(", ")
        call = python_split if way == "python split" else ours.tokenizer(name, 2 if threads else 1)
        if name == "whitespace":
            assert call(texts[:500]) == python_split(texts[:500]), "whitespace is not text.lower().split()"
        return lambda: call(texts), sum(map(len, texts))

    timed(prepare, "characters", way=way)
