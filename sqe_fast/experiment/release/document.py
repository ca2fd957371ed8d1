"""JSON whose numbers know where they stand, and arithmetic that remembers which numbers it used."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from sqe_fast.errors import SqeFastError

__all__ = ["Node", "Quantity", "UnreadableError", "mean", "spread", "total"]


class UnreadableError(SqeFastError, ValueError):
    """A document lacks a key, or holds something else there than a number, list or object."""

    def __init__(self, file: str, path: str, why: str) -> None:
        super().__init__(f"{file}: {path}: {why}")
        self.file, self.path, self.why = file, path, why


class Quantity:
    """A number and the nodes it was computed from."""

    __slots__ = ("_number", "_parts")

    def __init__(self, number: float, parts: tuple[Node, ...] = ()) -> None:
        self._number = number
        self._parts = parts

    @property
    def number(self) -> float:
        """The number itself."""
        return self._number

    @property
    def parts(self) -> tuple[Node, ...]:
        """The nodes it depends on."""
        return self._parts

    def __add__(self, other: Quantity | float) -> Quantity:
        return _joined(self, other, lambda a, b: a + b)

    def __sub__(self, other: Quantity | float) -> Quantity:
        return _joined(self, other, lambda a, b: a - b)

    def __mul__(self, other: Quantity | float) -> Quantity:
        return _joined(self, other, lambda a, b: a * b)

    def __truediv__(self, other: Quantity | float) -> Quantity:
        return _joined(self, other, lambda a, b: a / b if b else math.nan)

    def __rsub__(self, other: float) -> Quantity:
        return Quantity(other - self.number, self.parts)


class Node(Quantity):
    """One value of a JSON document, with its file and its path."""

    __slots__ = ("file", "path", "value")

    def __init__(self, file: str, value: Any, path: tuple[str | int, ...] = ()) -> None:
        self.file, self.value, self.path = file, value, path

    @property
    def where(self) -> str:
        """The path as people write it: ``seed_reports[0].methods.Dense-Only.mrr``."""
        text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        return text.removeprefix(".")

    @property
    def key(self) -> tuple[str, tuple[str | int, ...]]:
        """What tells this node from every other of the release."""
        return self.file, self.path

    @property
    def number(self) -> float:
        """The value as a number; `UnreadableError` where it is none."""
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float)):
            raise UnreadableError(self.file, self.where, f"must be a number; got {self.value!r}"[:200])
        return self.value

    @property
    def parts(self) -> tuple[Node, ...]:
        """The node itself."""
        return (self,)

    def __contains__(self, key: object) -> bool:
        return isinstance(self.value, dict) and key in self.value

    def __getitem__(self, key: str | int) -> Node:
        """Return the value under a key or at a position; `UnreadableError` where there is none."""
        kind = dict if isinstance(key, str) else list
        if not isinstance(self.value, kind):
            raise UnreadableError(self.file, self.where or "(top)", f"must be a JSON {_KINDS[kind]}")
        try:
            found: Any = self.value
            return Node(self.file, found[key], (*self.path, key))
        except (KeyError, IndexError):
            raise UnreadableError(self.file, self.where or "(top)", f"has no {key!r}") from None

    def __iter__(self) -> Iterator[Node]:
        """Go through the entries of a list, or the values of an object."""
        steps: Iterable[str | int]
        if isinstance(self.value, list):
            steps = range(len(self.value))
        elif isinstance(self.value, dict):
            steps = list(self.value)
        else:
            raise UnreadableError(self.file, self.where or "(top)", "must be a JSON array or object")
        return (self[step] for step in steps)

    def __len__(self) -> int:
        return len(self.value)

    def numbers(self) -> Iterator[Node]:
        """Go through every number at or below this node, in the document's order."""
        if isinstance(self.value, (dict, list)):
            for child in self:
                yield from child.numbers()
        elif isinstance(self.value, (int, float)) and not isinstance(self.value, bool):
            yield self


_KINDS = {dict: "object", list: "array"}


def total(values: Sequence[Quantity]) -> Quantity:
    """Return the sum."""
    return Quantity(math.fsum(value.number for value in values), _parts(values))


def mean(values: Sequence[Quantity]) -> Quantity:
    """Return the mean; nan of nothing."""
    return total(values) / len(values)


def spread(values: Sequence[Quantity]) -> Quantity:
    """Return the standard deviation of a sample (n - 1); 0 of fewer than two."""
    numbers = [value.number for value in values]
    deviation = float(np.std(numbers, ddof=1)) if len(numbers) > 1 else 0.0
    return Quantity(deviation, _parts(values))


def _parts(values: Iterable[Quantity]) -> tuple[Node, ...]:
    return tuple(part for value in values for part in value.parts)


def _joined(a: Quantity, b: Quantity | float, operation: Any) -> Quantity:
    if isinstance(b, Quantity):
        return Quantity(operation(a.number, b.number), (*a.parts, *b.parts))
    return Quantity(operation(a.number, b), a.parts)
