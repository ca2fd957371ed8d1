"""What a store pins when it is made, and how another opening differs from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from sqe_fast._checks import check_int, check_number, describe
from sqe_fast.errors import InvalidTypeError

__all__ = ["Encoder", "bm25_settings", "differences", "encoder_settings"]


class Encoder(Protocol):
    """What turns texts into vectors; see `sqe_fast.encode`."""

    @property
    def name(self) -> str:
        """Its name, for messages and to be pinned."""

    @property
    def dim(self) -> int:
        """The length of a vector."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """What else decides a vector (model, prefixes, pooling, length): str, int or bool values."""

    def encode(
        self, texts: Sequence[str], kind: Literal["document", "query"] = "document"
    ) -> NDArray[np.float32]:
        """Return float32[n, dim], rows of length 1."""


def bm25_settings(tokenizer: str, variant: str, k1: float, b: float) -> dict[str, Any]:
    for name, value in (("tokenizer", tokenizer), ("variant", variant)):
        if not isinstance(value, str):
            raise InvalidTypeError(f"{name} must be a name, which the store can pin; got {describe(value)}")
    return {
        "tokenizer": tokenizer,
        "variant": variant,
        "k1": check_number("k1", k1, 0),
        "b": check_number("b", b, 0, 1),
    }


def encoder_settings(encoder: Encoder | None) -> dict[str, Any] | None:
    """Return what the store pins of an encoder, flat: name, dim and its settings."""
    if encoder is None:
        return None
    settings: dict[str, Any] = {
        "name": encoder.name,
        "dim": check_int("encoder.dim", encoder.dim, 1, 2**20),
        **encoder.settings,
    }
    for key, value in settings.items():
        if not isinstance(value, (str, int, bool)):
            raise InvalidTypeError(
                f"encoder.settings[{key!r}] must be a str, int or bool; got {describe(value)}"
            )
    return settings


def differences(pinned: Mapping[str, Any], given: Mapping[str, Any], encoder: Encoder | None) -> list[str]:
    """Return how BM25 settings (None: not given) and an encoder differ from what is pinned."""
    found = [
        f"{key}: the store has {pinned['bm25'][key]!r}, given {value!r}"
        for key, value in given.items()
        if value is not None and value != pinned["bm25"][key]
    ]
    other = encoder_settings(encoder)
    if other is None:
        return found
    has = pinned["encoder"]
    if has is None:
        return [*found, "encoder: the store was made without one, so it has no vectors"]
    return found + [
        f"encoder {key}: the store has {has.get(key)!r}, given {other.get(key)!r}"
        for key in sorted({*has, *other})
        if has.get(key) != other.get(key)
    ]
