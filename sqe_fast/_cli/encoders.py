"""The encoder of a store, from what the store pins; its model is loaded when a text is to be encoded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sqe_fast.errors import InvalidInputError

__all__ = ["PinnedEncoder", "Watched"]

SLICE = 256  # texts between two steps of a progress bar

LOADED_BY = ("pooling", "query_prefix", "document_prefix", "max_length")


class PinnedEncoder:
    """An encoder with the name, dimension and settings that a store pins.

    Opening a store and searching by BM25 then load no model. Without `dtype` the encoder's own default holds.
    """

    def __init__(
        self, pinned: Mapping[str, Any], device: str | None = None, dtype: str | None = None
    ) -> None:
        self.name: str = pinned["name"]
        self.dim: int = pinned["dim"]
        self.settings = {key: value for key, value in pinned.items() if key not in ("name", "dim")}
        self.dtype = dtype
        self._device = device
        self._loaded: Any = None

    def encode(
        self, texts: Sequence[str], kind: Literal["document", "query"] = "document"
    ) -> NDArray[np.float32]:
        """Return float32[n, dim]; see `sqe_fast.encode.Encoder.encode`."""
        if self._loaded is None:
            self._loaded = self._load()
        vectors: NDArray[np.float32] = self._loaded.encode(texts, kind)
        return vectors

    def _load(self) -> Any:
        from sqe_fast.encode import Encoder

        chosen = {name: self.settings[name] for name in LOADED_BY if name in self.settings}
        encoder = Encoder.load(self.name, self._device, self.dtype, **chosen)
        if encoder.dim != self.dim or encoder.settings != self.settings:
            raise InvalidInputError(
                f"the encoder {self.name!r} is another one than when the store was made: "
                f"the store has {self.settings}, {self.dim} dimensions; "
                f"loaded {encoder.settings}, {encoder.dim} dimensions"
            )
        return encoder


class Watched:
    """An encoder that tells how many texts it has done, a few hundred at a time."""

    def __init__(self, encoder: Any, done: Callable[[int], None]) -> None:
        self.name: str = encoder.name
        self.dim: int = encoder.dim
        self.settings: Mapping[str, Any] = encoder.settings
        self.dtype: str | None = getattr(encoder, "dtype", None)
        self.done = done
        self._encoder = encoder

    def encode(
        self, texts: Sequence[str], kind: Literal["document", "query"] = "document"
    ) -> NDArray[np.float32]:
        """Return float32[n, dim]."""
        out = np.empty((len(texts), self.dim), np.float32)
        for start in range(0, len(texts), SLICE):
            part = texts[start : start + SLICE]
            out[start : start + len(part)] = self._encoder.encode(part, kind)
            self.done(len(part))
        return out
