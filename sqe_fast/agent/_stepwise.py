"""StepSearch's rewards of single steps: search keys, information gain, repetition."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from sqe_fast.agent.answers import f1
from sqe_fast.agent.values import Passage

__all__ = ["gains", "key_match"]

_WORD = re.compile(r"\w\w+")


def key_match(queries: Sequence[str], keys: Sequence[Sequence[str]]) -> float:
    """Return the mean over sub-questions of the best F1 between any query and any of its keys."""
    best = [max((f1(query, wanted) for query in queries), default=0.0) for wanted in keys]
    return sum(best) / len(best) if best else 0.0


def gains(turns: Sequence[Sequence[Passage]], evidence: Sequence[str]) -> list[tuple[float, float]]:
    """Return for each search turn (information gain, share of repeated passages).

    Cosines are of TF-IDF vectors with smoothed idf, ln((1 + n) / (1 + df)) + 1, over the n texts at hand:
    the golden ones and the distinct passages of all turns.
    """
    passages = {passage.id: f"{passage.title} {passage.text}" for found in turns for passage in found}
    vectors = _tfidf([*evidence, *passages.values()])
    golden = vectors[: len(evidence)]
    vector_of = dict(zip(passages, vectors[len(evidence) :], strict=True))
    known = [0.0] * len(golden)
    seen: set[str] = set()
    result = []
    for found in turns:
        gain = 0.0
        for row, gold in enumerate(golden):
            best = max((_dot(gold, vector_of[passage.id]) for passage in found), default=0.0)
            gain += max(best - known[row], 0.0)
            known[row] = max(best, known[row])
        ids = [passage.id for passage in found]
        repeated = sum(id in seen for id in ids) / len(ids) if ids else 0.0
        seen.update(ids)
        result.append((gain / len(golden) if golden else 0.0, repeated))
    return result


def _tfidf(texts: Sequence[str]) -> list[dict[str, float]]:
    counts = [Counter(_WORD.findall(text.lower())) for text in texts]
    frequency = Counter(word for count in counts for word in count)
    idf = {word: math.log((1 + len(texts)) / (1 + df)) + 1 for word, df in frequency.items()}
    vectors = []
    for count in counts:
        vector = {word: tf * idf[word] for word, tf in count.items()}
        norm = math.sqrt(sum(value * value for value in vector.values()))
        vectors.append({word: value / norm for word, value in vector.items()})
    return vectors


def _dot(one: dict[str, float], other: dict[str, float]) -> float:
    if len(one) > len(other):
        one, other = other, one
    return sum(value * other.get(word, 0.0) for word, value in one.items())
