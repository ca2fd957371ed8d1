"""Counts checks, collects what is wrong, and finds which numbers explain it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from sqe_fast.experiment.release.document import Node, Quantity, UnreadableError

__all__ = ["TOLERANCE", "Audit", "Problem", "ReleaseReport", "Suspect"]

TOLERANCE = 1e-9
SHOWN = 3  # numbers of a suspect in a message
LONGEST = 60  # letters of a value in a message

Key = tuple[str, tuple[str | int, ...]]


@dataclass(frozen=True)
class Problem:
    """One check that failed.

    Attributes
    ----------
    file, path : str
        The number that disagrees.
    declared, recomputed : object
        What the file says, and what the rest of the release gives; None where it gives only a condition.
    how : str
        What the second was computed from, or the condition.
    parts : tuple of Node
        Every number that takes part in the check.
    """

    file: str
    path: str
    declared: object
    recomputed: object
    how: str
    parts: tuple[Node, ...] = ()

    def __str__(self) -> str:
        what = (
            f"must be {self.how}" if self.recomputed is None else f"recomputed {self.recomputed} ({self.how})"
        )
        return f"{self.file}: {self.path}: declares {_short(self.declared)}; {what}"


@dataclass(frozen=True)
class Suspect:
    """Numbers any one of which, if wrong, explains some failed checks.

    Attributes
    ----------
    nodes : tuple of Node
        Those that the fewest other checks confirm stand first.
    likely : int
        How many of them, from the first, are confirmed least.
    explains : int
        How many failed checks each takes part in.
    """

    nodes: tuple[Node, ...]
    likely: int
    explains: int

    def __str__(self) -> str:
        first = self.nodes[: min(self.likely, SHOWN)]
        places = " or ".join(f"{node.file}: {node.where} = {_short(node.value)}" for node in first)
        more = len(self.nodes) - len(first)
        others = f", or else one of {more} more" if more else ""
        return f"{places} (explains {self.explains} failed check{'s' * (self.explains > 1)}{others})"


@dataclass(frozen=True)
class ReleaseReport:
    """What `verify_release` found.

    Attributes
    ----------
    problems : tuple of Problem
        Empty where all agrees.
    suspects : tuple of Suspect
        The fewest numbers found that explain all problems, most telling first.
    checks : int
        How many checks were made.
    numbers : int
        How many numbers the release holds.
    bounded : int
        How many are held only by a bound, a grid of possible values or a resampling.
    files : int
        How many files were read.
    pinned_nodes : tuple of Node
        The pinned numbers themselves.
    free : tuple of Node
        The numbers that nothing else in the release tells anything about.
    tables : mapping of str to str
        For each table of the report, what of it could be recomputed from the summaries, and what cannot.
    """

    problems: tuple[Problem, ...]
    suspects: tuple[Suspect, ...]
    checks: int
    numbers: int
    bounded: int
    files: int
    pinned_nodes: tuple[Node, ...]
    free: tuple[Node, ...]
    tables: Mapping[str, str]

    @property
    def pinned(self) -> int:
        """How many numbers are held to 1e-9 by an equation with others."""
        return len(self.pinned_nodes)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


class Audit:
    """Makes checks; each failed one becomes a `Problem` that names every number that took part."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.checks = 0
        self.pinned: Counter[Key] = Counter()
        self.bounded: Counter[Key] = Counter()

    @contextmanager
    def section(self) -> Iterator[None]:
        """Turn a missing file or key into a problem; the rest of the block is left out."""
        try:
            yield
        except UnreadableError as error:
            self.checks += 1
            self.problems.append(
                Problem(error.file, error.path, "nothing of use", None, f"there: {error.why}")
            )

    def equal(
        self, declared: Node, recomputed: Quantity | float, how: str, given: tuple[Node, ...] = ()
    ) -> None:
        """Hold a number to 1e-9 of what it must be, as certain other numbers are `given` as they are."""
        value, parts = _split(recomputed)
        near = abs(declared.number - value) <= TOLERANCE
        self._record(near, declared, value, how, parts, self.pinned, given)

    def same(self, declared: Node, other: Node, how: str | None = None) -> None:
        """Hold two copies of a value against each other, whatever it is; objects by their common keys."""
        how = how or f"{other.file}: {other.where}"
        if isinstance(declared.value, dict) and isinstance(other.value, dict):
            for key in declared.value:
                if key in other:
                    self.same(declared[key], other[key])
        elif isinstance(declared.value, list) and isinstance(other.value, list):
            self.holds(len(declared) == len(other), declared, f"as many entries as {how}")
            for a, b in zip(declared, other, strict=False):
                self.same(a, b)
        elif any(True for _ in declared.numbers()):
            self.equal(declared, other, how)
        else:
            self.holds(declared.value == other.value, declared, f"{how}: {other.value!r}")

    def share(self, declared: Node) -> None:
        """Check that a number is from 0 to 1."""
        inside = -TOLERANCE <= declared.number <= 1 + TOLERANCE
        self._record(inside, declared, None, "a share, from 0 to 1", (), self.bounded)

    def steps(self, declared: Node, size: float, how: str) -> None:
        """Hold a number to multiples of 1/size, as an average over `size` whole numbers is one."""
        nearest = round(declared.number * size) / size
        self._record(abs(declared.number - nearest) <= TOLERANCE, declared, nearest, how, (), self.bounded)

    def close(self, declared: Node, value: Quantity, within: float, how: str) -> None:
        """Hold a number to what a resampling of our own gives, within its sampling error."""
        number, parts = _split(value)
        near = abs(declared.number - number) <= within
        self._record(near, declared, f"{number:.6g} ± {within:.2g}", how, parts, self.bounded)

    def holds(self, condition: bool, declared: Node, how: str, parts: tuple[Node, ...] = ()) -> None:
        """Note whether something is true of a value."""
        self._record(condition, declared, None, how, parts, self.bounded)

    def suspects(self) -> tuple[Suspect, ...]:
        """Cover the problems by the fewest numbers, greedily: in most problems, least confirmed first."""
        left = [problem for problem in self.problems if problem.parts]
        found = []
        while left:
            nodes: dict[Key, Node] = {}
            hits: Counter[Key] = Counter()
            for problem in left:
                unique = {part.key: part for part in problem.parts}
                nodes |= unique
                hits.update(unique.keys())
            most = max(hits.values())
            chosen = [key for key in hits if hits[key] == most]
            passes = {key: self.pinned[key] + self.bounded[key] for key in chosen}
            chosen.sort(key=passes.__getitem__)
            likely = sum(passes[key] == passes[chosen[0]] for key in chosen)
            found.append(Suspect(tuple(nodes[key] for key in chosen), likely, most))
            left = [problem for problem in left if chosen[0] not in {part.key for part in problem.parts}]
        return tuple(found)

    def _record(
        self,
        good: bool,
        declared: Node,
        recomputed: object,
        how: str,
        parts: tuple[Node, ...],
        counter: Counter[Key],
        given: tuple[Node, ...] = (),
    ) -> None:
        self.checks += 1
        counter.update({part.key for part in (declared, *parts)})
        self.bounded.update({part.key for part in given})
        if not good:
            every = (declared, *parts, *given)
            self.problems.append(
                Problem(declared.file, declared.where, declared.value, recomputed, how, every)
            )


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def _split(value: Quantity | float) -> tuple[float, tuple[Node, ...]]:
    return (value.number, value.parts) if isinstance(value, Quantity) else (float(value), ())
