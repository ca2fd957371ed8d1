"""How much of a text's rare words a document holds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sqe_fast.store import Snapshot
from sqe_fast.text import tokenize_batch

__all__ = ["idf_shares"]


def idf_shares(snapshot: Snapshot, texts: Sequence[str], rows: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return float64[n]: the share of the idf of each text's distinct tokens that a document holds.

    Parameters
    ----------
    texts, rows
        n texts, and for each the row of a document, -1 for none (share 0). A text without tokens has share 0.

    Notes
    -----
    The idf is ``ln(1 + (N - df + 0.5) / (df + 0.5))`` whatever the variant of the index, and that of df = 0
    for a token that no document holds. O(tokens).
    """
    index = snapshot.bm25
    tokenizer = index.tokenizer if index.tokenizer is not None else "whitespace"
    tokens = [list(dict.fromkeys(one)) for one in tokenize_batch(list(texts), tokenizer)]
    found = np.unique(rows[rows >= 0])
    documents = dict(
        zip(found.tolist(), map(set, tokenize_batch(snapshot.texts(found), tokenizer)), strict=True)
    )
    words = list(dict.fromkeys(word for one in tokens for word in one))
    df = index.document_frequencies(words).astype(np.float64)
    idf = dict(zip(words, np.log1p((len(index) - df + 0.5) / (df + 0.5)).tolist(), strict=True))
    shares = np.zeros(len(texts))
    for number, (own, row) in enumerate(zip(tokens, rows.tolist(), strict=True)):
        whole = sum(idf[word] for word in own)
        if row >= 0 and whole > 0:
            shares[number] = sum(idf[word] for word in own if word in documents[row]) / whole
    return shares
