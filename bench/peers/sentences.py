"""sentence-transformers with MiniLM, on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.peers.base import EngineUnavailableError

__all__ = ["SentenceEncoder"]


class SentenceEncoder:
    """The model in the package's folder, in batches of 32, its default."""

    def __init__(self, folder: str) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise EngineUnavailableError(f"sentence-transformers: {error}") from error
        self.model: Any = SentenceTransformer(folder, device="cpu")

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32[n, dim]."""
        return np.asarray(self.model.encode(list(texts), show_progress_bar=False))

    def encode_one(self, text: str) -> NDArray[np.float32]:
        """Return float32[dim]."""
        return self.encode([text])[0]

    def tokens(self, texts: Sequence[str]) -> float:
        """Return the mean number of tokens that the model reads of a text."""
        limit = self.model.max_seq_length
        return float(
            np.mean([min(limit, len(ids)) for ids in self.model.tokenizer(list(texts))["input_ids"]])
        )
