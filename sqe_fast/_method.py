"""What a method is: lists of a question, lists that an expansion adds, a gate, and how lists are fused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from typing import Any, Literal

from sqe_fast._checks import check_choice, check_int, check_number, describe
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.fusion import MAX_WEIGHT
from sqe_fast.gate.accept import Accept
from sqe_fast.gate.gates import Gate
from sqe_fast.gate.list_signals import LIST_SIGNALS
from sqe_fast.gate.probe_signals import PROBE_KINDS
from sqe_fast.gate.signals import SIGNALS

__all__ = ["FUSIONS", "Method", "Source", "Stage", "probe_name"]

FUSIONS = ("rrf", "zscore", "minmax")
"""By reciprocal rank; or by the normalised scores of every document of the store."""

MAX_DEPTH = 2**20


@dataclass(frozen=True)
class Source:
    """Lists that take part in a fusion: for each probe of one kind, in order, one list of each index."""

    probe: Literal["question", "traces", "paraphrases"]
    indexes: tuple[Literal["dense", "bm25"], ...]


@dataclass(frozen=True)
class Stage:
    """A cheap step of an expansion, after which a question may be done; see `Method.stages`.

    Attributes
    ----------
    K, P : int
        Traces and paraphrases that there are after the step, those of the steps before included; together at
        least 1. All paraphrases of a method come in one step, so P is 0 or the method's.
    done : Accept
        The rules that are put to these probes. (Or a text, see `Accept.parse`.)
    enough : int
        How many probes must be accepted for the question to be done.
    worth : Accept or None
        Rules of which some probe must pass those for the next step to be taken at all: where nothing that the
        model wrote is near the point, more of it only costs. None: the next step is always taken.
    """

    K: int
    P: int
    done: Accept
    enough: int = 1
    worth: Accept | None = None

    def __post_init__(self) -> None:
        check_int("K", self.K, 0, 1000)
        check_int("P", self.P, 0, 99)
        object.__setattr__(self, "done", _accept("done", self.done))
        if self.worth is not None:
            object.__setattr__(self, "worth", _accept("worth", self.worth))
        if self.K + self.P < 1:
            raise InvalidInputError("a Stage must make something: K or P must be at least 1")
        check_int("enough", self.enough, 1, self.K + self.P)


@dataclass(frozen=True)
class Method:
    """One way to answer a question.

    A single list is returned as it is, with its own scores; several are fused.

    Attributes
    ----------
    name, alias : str
        The name in the SQE release, and a short one.
    gate : Gate
        Which questions are expanded.
    lists : tuple of Source
        The lists of every question, in the order of fusion (which decides ties).
    added : tuple of Source
        The lists that follow where the question is expanded.
    K, P : int
        Hypothetical traces and paraphrases of an expanded question.
    k : int
        Hits of an answer.
    depth : int or None
        Depth of each list before fusion, at least k; None: twice k.
    constant : float
        Of reciprocal rank fusion.
    fusion : {"rrf", "zscore", "minmax"}
        By reciprocal rank of the lists (`sqe_fast.fusion.rrf`), or by the sum of normalised scores over every
        document of the store (`sqe_fast.fusion.fuse_rows`), to which depth and constant mean nothing.
    weights : mapping of str to float, or None
        Weights of lists by name, where ``*`` stands for anything: ``{"trace * bm25": 0.5}``. The first
        pattern that fits a list counts; one that none fits weighs 1. A list that weighs 0 takes no part. Kept
        as pairs.
    weigh_by : str or None
        A name of `sqe_fast.gate.list_signals.LIST_SIGNALS`: each list's weight is multiplied by this signal
        of its own scores, divided by the largest among the question's lists. None: by nothing.
    accept : Accept or None
        The rules by which probes are accepted, weighted or refused by what they retrieve. (Or a text, see
        `Accept.parse`.) None: all are accepted.
    stages : tuple of Stage
        A cascade: an expanded question passes these steps in order until it is done; the last step, up to K
        traces and P paraphrases, is taken only where it never was. Empty: all is made in one step.
    tokenizer : str or None
        The tokenizer of BM25 that the method was chosen with. A store with another one is searched all the
        same, and a warning says so. None: any.
    """

    name: str
    alias: str
    gate: Gate
    lists: tuple[Source, ...]
    added: tuple[Source, ...] = ()
    K: int = 2
    P: int = 2
    k: int = 5
    depth: int | None = None
    constant: float = 60.0
    fusion: Literal["rrf", "zscore", "minmax"] = "rrf"
    weights: Mapping[str, float] | tuple[tuple[str, float], ...] | None = None
    weigh_by: str | None = None
    accept: Accept | None = None
    stages: tuple[Stage, ...] = ()
    tokenizer: str | None = None

    def __post_init__(self) -> None:
        check_int("K", self.K, 0, 1000)
        check_int("P", self.P, 0, 99)
        check_int("k", self.k, 1, MAX_DEPTH // 2)
        check_number("constant", self.constant, 0)
        if not self.lists or any(source.probe != "question" for source in self.lists):
            raise InvalidInputError(f"{self.name}: lists must be of the question, at least one")
        if any(source.probe == "question" for source in self.added):
            raise InvalidInputError(f"{self.name}: added lists must be of traces or paraphrases")
        if self.depth is not None:
            check_int("depth", self.depth, 1, MAX_DEPTH)
            if self.depth < self.k:
                raise InvalidInputError(f"depth must be at least k, {self.k}; got {self.depth}")
        check_choice("fusion", self.fusion, FUSIONS)
        if self.weigh_by is not None:
            check_choice("weigh_by", self.weigh_by, tuple(LIST_SIGNALS))
        object.__setattr__(self, "weights", _pairs(self.weights))
        if self.accept is not None:
            object.__setattr__(self, "accept", _accept("accept", self.accept))
        self._check_stages()
        own = sum(len(source.indexes) for source in self.lists)
        if not any(self.list_weights[:own]):
            raise InvalidInputError(f"{self.name}: weights must leave at least one list of the question")

    def _check_stages(self) -> None:
        if not isinstance(self.stages, tuple) or not all(isinstance(one, Stage) for one in self.stages):
            raise InvalidTypeError(f"stages must be a tuple of Stage; got {describe(self.stages)}")
        K, P = 0, 0
        for number, stage in enumerate(self.stages):
            if stage.K < K or stage.P < P or (stage.K, stage.P) == (K, P):
                raise InvalidInputError(f"stages[{number}] must make more than what comes before it")
            K, P = stage.K, stage.P
            most = self.wants
            if most[0] < K or P not in (0, most[1]) or most == (K, P):
                raise InvalidInputError(
                    f"stages[{number}] must make less than the method, K up to {most[0]} and P 0 or "
                    f"{most[1]}; got K={K}, P={P}"
                )

    @property
    def list_weights(self) -> tuple[float, ...]:
        """The weight of each list, in the order of `list_names`."""
        pairs = _pairs(self.weights) or ()
        return tuple(
            next((weight for pattern, weight in pairs if fnmatchcase(name, pattern)), 1.0)
            for name in self.list_names
        )

    @property
    def list_depth(self) -> int:
        """The depth of each list before fusion."""
        return 2 * self.k if self.depth is None else self.depth

    @property
    def expands(self) -> bool:
        """Whether it may ask a model for expansions."""
        return any(self.wants)

    @property
    def wants(self) -> tuple[int, int]:
        """How many traces and paraphrases an expanded question takes."""
        return (self.K if self._adds("traces") else 0, self.P if self._adds("paraphrases") else 0)

    @property
    def question_indexes(self) -> frozenset[str]:
        """In which indexes the question itself is looked up, for its lists or for the gate."""
        found: set[str] = {index for source in self.lists for index in source.indexes}
        for name in self.gate.signals:
            found |= SIGNALS[name].indexes
        for accept in self.accepts:
            found |= accept.indexes
        return frozenset(found)

    @property
    def accepts(self) -> tuple[Accept, ...]:
        """All rules that probes of this method are put to."""
        own = () if self.accept is None else (self.accept,)
        later = [rules for stage in self.stages for rules in (stage.done, stage.worth) if rules is not None]
        return (*own, *later) if self.expands else ()

    @property
    def probe_indexes(self) -> frozenset[tuple[str, str]]:
        """The (kind of probe, index) in which probes are looked up, for lists or for rules."""
        found: set[tuple[str, str]] = {
            (source.probe, index) for source in self.added for index in source.indexes
        }
        for accept in self.accepts:
            found |= {(kind, index) for kind in accept.probes for index in accept.indexes}
        counts = dict(zip(PROBE_KINDS, self.wants, strict=True))
        return frozenset(pair for pair in found if counts[pair[0]])

    def count(self, source: Source) -> int:
        """Return how many probes `source` stands for."""
        return {"question": 1, "traces": self.K, "paraphrases": self.P}[source.probe]

    @property
    def list_names(self) -> tuple[str, ...]:
        """A name for each list in the order of fusion, such as "question dense" or "trace 2 bm25"."""
        return tuple(f"{probe_name(kind, number)} {index}" for kind, number, index in self.list_places)

    @property
    def list_places(self) -> tuple[tuple[str, int, str], ...]:
        """For each list its kind of probe, the number of the probe from 0, and the index."""
        return tuple(
            (source.probe, number, index)
            for source in self.lists + self.added
            for number in range(self.count(source))
            for index in source.indexes
        )

    @property
    def numbers(self) -> dict[str, Any]:
        """The numbers that `get_method` can change, with the present values: only what this method uses."""
        own: dict[str, Any] = {"k": self.k}
        if len(self.list_names) > 1:
            own |= {"depth": self.depth, "constant": self.constant}
        if self._adds("traces"):
            own["K"] = self.K
        if self._adds("paraphrases"):
            own["P"] = self.P
        return own | _gate_fields(self.gate)

    @property
    def choices(self) -> dict[str, Any]:
        """What else `get_method` can change: where there is anything to fuse, and to accept."""
        names = (_FUSING if len(self.list_names) > 1 else ()) + (_ACCEPTING if self.expands else ())
        return {name: getattr(self, name) for name in names}

    def changed(self, **numbers: Any) -> Method:
        """Return this method with other numbers or choices; see `get_method`."""
        allowed = self.numbers | self.choices
        for name in numbers:
            if name not in allowed:
                raise InvalidInputError(f"{self.name} has no {name!r}; it takes {', '.join(allowed)}")
        of_gate = {name: value for name, value in numbers.items() if name in _gate_fields(self.gate)}
        rest = {name: value for name, value in numbers.items() if name not in of_gate}
        gate: Any = self.gate
        return replace(self, gate=replace(gate, **of_gate) if of_gate else gate, **rest)

    def _adds(self, probe: str) -> bool:
        return any(source.probe == probe for source in self.added)


_FUSING = ("fusion", "weights", "weigh_by")
_ACCEPTING = ("accept", "stages")


def probe_name(kind: str, number: int) -> str:
    """Return the name of a probe, numbered from 0: "question", "trace 1", "paraphrase 2"."""
    return kind if kind == "question" else f"{kind[:-1]} {number + 1}"


def _accept(name: str, value: Any) -> Accept:
    if isinstance(value, str):
        return Accept.parse(value)
    if not isinstance(value, Accept):
        raise InvalidTypeError(f"{name} must be an Accept or a text of rules; got {describe(value)}")
    return value


def _pairs(weights: Any) -> tuple[tuple[str, float], ...] | None:
    """Return weights as (pattern, weight) pairs, checked."""
    if weights is None:
        return None
    pairs = weights.items() if isinstance(weights, Mapping) else weights
    if not isinstance(weights, (Mapping, tuple, list)) or not all(
        isinstance(pair, (tuple, list)) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs
    ):
        raise InvalidTypeError(
            f'weights must map names of lists to numbers, as {{"trace * bm25": 0.5}}; got {describe(weights)}'
        )
    return tuple((name, check_number(f"weights[{name!r}]", weight, 0, MAX_WEIGHT)) for name, weight in pairs)


def _gate_fields(gate: Gate) -> dict[str, Any]:
    known = fields(gate)  # type: ignore[arg-type]
    return {field.name: getattr(gate, field.name) for field in known if field.init}
