"""Texts to token ids, and token ids to batches under a budget of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqe_fast.errors import InvalidTypeError

__all__ = ["Tokenizer", "clean_texts", "pack"]


def clean_texts(name: str, texts: Sequence[str], prefix: str) -> list[str]:
    """Check that all are str, put `prefix` before each, and make each encodable as UTF-8.

    A str may hold surrogates (from `os.fsdecode`, or JSON with a broken escape), which the tokenizer's
    UTF-8 cannot. A pair becomes the character it stands for, a lone one U+FFFD.
    """
    cleaned = []
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise InvalidTypeError(f"{name}[{position}] must be a str; got {type(text).__name__}")
        whole = prefix + text
        try:
            whole.encode("utf-8")
        except UnicodeEncodeError:
            whole = whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        cleaned.append(whole)
    return cleaned


class Tokenizer:
    """A model's tokenizer, truncating to `max_length` tokens, special tokens included.

    Fast tokenizers release the GIL and use threads of their own, so a call may run beside the model.
    """

    def __init__(self, tokenizer: Any, max_length: int) -> None:
        self._slow = tokenizer
        self._max_length = max_length
        self._fast: Any = None
        if getattr(tokenizer, "is_fast", False):
            # Truncation is a state of the backend object: this class must own the tokenizer alone.
            self._fast = tokenizer.backend_tokenizer
            self._fast.enable_truncation(max_length)
            self._fast.no_padding()

    def __call__(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text."""
        if not texts:
            return []
        if self._fast is None:
            encoded = self._slow(list(texts), truncation=True, max_length=self._max_length)
            return [list(ids) for ids in encoded["input_ids"]]
        return [encoding.ids for encoding in self._fast.encode_batch_fast(list(texts))]


def pack(lengths: NDArray[np.int64], budget: int) -> list[NDArray[np.int64]]:
    """Split texts into batches of at most `budget` tokens, longest first.

    Sorting puts texts of one length side by side (they share one attention call) and the cheap batches
    last (threads end together). A text longer than the budget is a batch of its own. Ties keep input order.

    Examples
    --------
    >>> [batch.tolist() for batch in pack(np.array([3, 5, 3, 4]), 7)]
    [[1], [3, 0], [2]]
    """
    order = np.argsort(-lengths, kind="stable")
    batches, start, used = [], 0, 0
    for end, length in enumerate(lengths[order].tolist()):
        if end > start and used + length > budget:
            batches.append(order[start:end])
            start, used = end, 0
        used += length
    if start < len(order):
        batches.append(order[start:])
    return batches
