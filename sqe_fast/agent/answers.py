"""Metrics of an answer against golden ones: exact match, token F1, containment.

Normalisation and F1 are those of SQuAD (Rajpurkar et al. 2016), which the papers on search agents use.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable

__all__ = ["contains_match", "exact_match", "f1", "normalise"]

_DROP = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalise(text: str) -> str:
    """Return `text` in lower case, ASCII punctuation dropped, then articles, then white space squeezed.

    Examples
    --------
    >>> normalise("The  U.S. Open!")
    'us open'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_DROP)).split())


def exact_match(answer: str | None, golden: Iterable[str]) -> float:
    """Return 1.0 where the normalised answer equals any normalised golden answer, else 0.0."""
    if answer is None:
        return 0.0
    own = normalise(answer)
    return float(any(own == normalise(text) for text in golden))


def contains_match(answer: str | None, golden: Iterable[str]) -> float:
    """Return 1.0 where the normalised answer contains any normalised golden answer, else 0.0."""
    if answer is None:
        return 0.0
    own = normalise(answer)
    return float(any(normalise(text) in own for text in golden))


def f1(answer: str | None, golden: Iterable[str]) -> float:
    """Return the best F1 over golden answers of the normalised words, counted with repeats.

    "yes", "no" and "noanswer" match only themselves, as in HotpotQA's evaluation.
    """
    return max((_f1(normalise(answer), normalise(text)) for text in golden), default=0.0) if answer else 0.0


def _f1(own: str, other: str) -> float:
    closed = ("yes", "no", "noanswer")
    if own != other and (own in closed or other in closed):
        return 0.0
    mine, theirs = own.split(), other.split()
    common = sum((Counter(mine) & Counter(theirs)).values())
    return 2 * common / (len(mine) + len(theirs)) if common else 0.0
