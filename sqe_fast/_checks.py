"""Checks of arguments that several modules share; every message names the argument."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import SupportsIndex

from sqe_fast.errors import InvalidInputError, InvalidTypeError

__all__ = [
    "check_choice",
    "check_int",
    "check_number",
    "check_texts",
    "check_threads",
    "check_tokens",
    "describe",
]

MAX_INT = 2**31 - 1
MAX_THREADS = 1024


def describe(value: object) -> str:
    """Return a short text for `value` in an error message: its type, and its repr where that is short."""
    text = repr(value)
    return f"{type(value).__name__} {text}" if len(text) <= 40 else type(value).__name__


def check_int(name: str, value: SupportsIndex, low: int, high: int = MAX_INT) -> int:
    """Return `value` as an int within [low, high]; bool and float are refused."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise InvalidTypeError(f"{name} must be an int; got {describe(value)}") from None
    if not low <= number <= high:
        raise InvalidInputError(f"{name} must be from {low} to {high}; got {number}")
    return number


def check_number(name: str, value: float, low: float, high: float = float("inf")) -> float:
    """Return `value` as a finite float within [low, high]."""
    try:
        is_bool = type(value).__name__ in ("bool", "bool_")  # Python's and NumPy's
        if is_bool or isinstance(value, (str, bytes)):
            raise TypeError
        number = float(value)
    except OverflowError:
        number = float("inf") if value > 0 else float("-inf")
    except (TypeError, ValueError):
        raise InvalidTypeError(f"{name} must be a number; got {describe(value)}") from None
    if not low <= number <= high or number in (float("inf"), float("-inf")):
        limit = f">= {low}" if high == float("inf") else f"from {low} to {high}"
        raise InvalidInputError(f"{name} must be a finite number {limit}; got {number}")
    return number


def check_choice(name: str, value: str, choices: Sequence[str]) -> str:
    """Return `value` if it is one of `choices`."""
    if not isinstance(value, str):
        raise InvalidTypeError(f"{name} must be one of {', '.join(choices)}; got {describe(value)}")
    if value not in choices:
        raise InvalidInputError(f"{name} must be one of {', '.join(choices)}; got {value!r}")
    return value


def check_threads(threads: int | None) -> int | None:
    """Return `threads` as an int from 1 to 1024, or None (use all CPUs this process may run on)."""
    return None if threads is None else check_int("threads", threads, 1, MAX_THREADS)


def check_texts(name: str, texts: Iterable[str]) -> Iterable[str]:
    """Refuse a bare str or bytes (an iterable of its characters by accident) and what is not iterable."""
    if isinstance(texts, (str, bytes)):
        raise InvalidTypeError(
            f"{name} must be a list of str, not one {type(texts).__name__}; for one text pass [text]"
        )
    if not isinstance(texts, Iterable):
        raise InvalidTypeError(f"{name} must be an iterable of str; got {describe(texts)}")
    return texts


def check_tokens(tokens: Iterable[str], name: str) -> list[str]:
    """Return `tokens` as a list after checking that it is an iterable of str and not one str."""
    if isinstance(tokens, (str, bytes)) or not isinstance(tokens, Iterable):
        raise InvalidTypeError(f"{name} must be an iterable of str tokens; got {describe(tokens)}")
    result = list(tokens)
    for i, token in enumerate(result):
        if not isinstance(token, str):
            raise InvalidTypeError(f"{name} must hold str tokens only; got {describe(token)} at {i}")
    return result
