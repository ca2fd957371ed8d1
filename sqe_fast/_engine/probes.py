"""The second stage of a chunk, its expansions made, in one step or in a cascade of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sqe_fast._engine.ask import Asked
from sqe_fast._engine.judging import judge_probes
from sqe_fast._engine.lists import ABSENT
from sqe_fast._engine.searcher import Searcher
from sqe_fast._engine.table import Table
from sqe_fast.errors import InvalidInputError, SqeFastError
from sqe_fast.expand import KINDS, Expansion
from sqe_fast.gate.accept import Accept
from sqe_fast.methods import Method, Stage
from sqe_fast.usage import Usage

__all__ = ["Expanded", "Expands", "Group", "expand"]

Value = TypeVar("Value", Usage, float)


class Expands(Protocol):
    """What makes probes of questions; see `sqe_fast.expand.Expander`."""

    def expand(
        self, questions: Sequence[str], K: Sequence[int], P: Sequence[int], after: int | Sequence[int] = 0
    ) -> Sequence[Expansion]:
        """Return one expansion a question, of at most K traces and P paraphrases each.

        A cascade gives `after`, how many traces of each question there are already: others are wanted.
        """


@dataclass(eq=False)
class Group:
    """Methods whose probes are made together: all that have no stages, or those of the same.

    Attributes
    ----------
    stages : tuple of Stage
    want : (int64[distinct], int64[distinct])
        Traces and paraphrases of each distinct question after the last step.
    pairs : set of (str, str)
        The (kind of probe, index) that probes are looked up in.
    made : dict of int to Expansion
        By place of the distinct question.
    steps : int32[distinct]
        Steps that each question went through.
    """

    stages: tuple[Stage, ...]
    want: tuple[NDArray[np.int64], NDArray[np.int64]]
    pairs: set[tuple[str, str]] = field(default_factory=set)
    made: dict[int, Expansion] = field(default_factory=dict)
    steps: NDArray[np.int32] = field(init=False)

    def __post_init__(self) -> None:
        self.steps = np.zeros(len(self.want[0]), np.int32)

    def look_up(self, table: Table) -> dict[tuple[str, str], NDArray[np.int32]]:
        """Look up all probes, and return the rows of their lists as in `Lists.rows`."""
        widths = dict(zip(KINDS, (int(want.max(initial=0)) for want in self.want), strict=True))
        texts: dict[str, dict[str, str]] = {"dense": {}, "bm25": {}}
        places = []
        for place, expansion in self.made.items():
            for kind, made in zip(KINDS, (expansion.traces, expansion.paraphrases), strict=True):
                indexes = [index for index in texts if (kind, index) in self.pairs]
                for number, text in enumerate(made[: widths[kind]]):
                    for index in indexes:
                        texts[index].setdefault(text, kind)
                        places.append((kind, index, place, number, text))
        table.look_up(texts)
        n = len(self.steps)
        rows = {pair: np.full((n + 1, widths[pair[0]]), ABSENT, np.int32) for pair in sorted(self.pairs)}
        for kind, index, place, number, text in places:
            rows[kind, index][place, number] = table.place(index, text)
        return rows


@dataclass(frozen=True, eq=False)
class Expanded:
    """A chunk after its second stage: the group of each method, and the table of what is looked up."""

    groups: Sequence[Group]
    table: Table


def expand(
    asked: Asked,
    methods: Sequence[Method],
    expander: Expands | None,
    searcher: Searcher,
    depth: int,
    beside: Executor,
) -> Expanded:
    """Make all expansions of a chunk: one call of the generator for each group and step."""
    table = Table(asked, searcher, depth, beside)
    groups = _groups(asked, methods)
    if expander is not None:
        for group in {id(group): group for group in groups}.values():
            _run(group, table, expander)
    return Expanded(groups, table)


def _groups(asked: Asked, methods: Sequence[Method]) -> list[Group]:
    """Return the group of each method.

    A cascade's later steps depend on its own rules and on what it made before, so only equal ones share.
    """
    n = len(asked.distinct)
    found: dict[Any, Group] = {}
    groups = []
    for method, gated in zip(methods, asked.gated, strict=True):
        key = (method.stages, method.wants) if method.stages else None
        if key not in found:
            want = (np.zeros(n, np.int64), np.zeros(n, np.int64)) if method.stages else asked.make
            found[key] = Group(method.stages, want)
        group = found[key]
        if method.stages:
            places = asked.which[gated]
            group.want[0][places], group.want[1][places] = method.wants
        group.pairs |= method.probe_indexes
        groups.append(group)
    return groups


def _run(group: Group, table: Table, expander: Expands) -> None:
    """Go through the steps of a group: after each, the questions that are done leave."""
    traces, paraphrases = group.want
    undone = np.flatnonzero(traces + paraphrases)
    for stage in group.stages:
        if not len(undone):
            return
        _step(group, undone, np.full(len(undone), stage.K), np.full(len(undone), stage.P), table, expander)
        undone = undone[~_done(group, stage, undone, table)]
    if len(undone):
        _step(group, undone, traces[undone], paraphrases[undone], table, expander)


def _step(
    group: Group,
    places: NDArray[np.int64],
    traces: NDArray[np.int64],
    paraphrases: NDArray[np.int64],
    table: Table,
    expander: Expands,
) -> None:
    """Make what is missing of `traces` and `paraphrases` of some questions, in one call.

    A failure of the generator is a value of the questions that it hit, and the batch goes on; errors that
    this package raises on purpose (a setting, a missing model) concern every question and are raised.
    """
    group.steps[places] += 1
    before = [group.made.get(place) for place in places.tolist()]
    have = np.array([0 if one is None else len(one.traces) for one in before], np.int64)
    written = np.array([one is not None and len(one.paraphrases) > 0 for one in before])
    questions = [table.asked.distinct[place] for place in places.tolist()]
    with table.asked.clock.room("expand"):
        try:
            made = expander.expand(
                questions,
                K=np.maximum(traces - have, 0).tolist(),
                P=np.where(written, 0, paraphrases).tolist(),
                **({"after": have.tolist()} if have.any() else {}),
            )
        except SqeFastError:
            raise
        except Exception as error:
            made = [_failed(question, error) for question in questions]
    if len(made) != len(questions):
        raise InvalidInputError(
            f"generator: expand must return one expansion a question, {len(questions)}; got {len(made)}"
        )
    for place, old, new in zip(places.tolist(), before, made, strict=True):
        group.made[place] = new if old is None else _joined(old, new)


def _done(group: Group, stage: Stage, places: NDArray[np.int64], table: Table) -> NDArray[np.bool_]:
    """Return bool[len(places)]: enough of the probes so far are accepted, or none is worth going on."""
    rows = table.question_rows | group.look_up(table)
    counts = {"traces": stage.K, "paraphrases": stage.P}

    def passed(rules: Accept) -> NDArray[np.int64]:
        judged = judge_probes(rules, counts, places, np.ones(len(places), np.bool_), rows, table)
        every = np.concatenate([judged.weights[kind] for kind in KINDS], axis=1)
        number: NDArray[np.int64] = (np.nan_to_num(every) > 0).sum(1)
        return number

    done: NDArray[np.bool_] = passed(stage.done) >= stage.enough
    return done if stage.worth is None else done | (passed(stage.worth) == 0)


def _joined(old: Expansion, new: Expansion) -> Expansion:
    """Return the probes of two steps, and what both cost; of the problems those of the later step."""
    costs = _summed(old.costs, new.costs)
    return Expansion(
        old.question,
        old.traces + new.traces,
        old.paraphrases + new.paraphrases,
        old.usage + new.usage,
        cached=old.cached and new.cached,
        error=new.error,
        notes=new.notes,
        costs=costs,
        problems=dict(old.problems) | dict(new.problems),
        seconds=_summed(old.seconds, new.seconds),
    )


def _summed(old: Mapping[str, Value], new: Mapping[str, Value]) -> dict[str, Value]:
    """Return the sums by kind."""
    sums = dict(old)
    for kind, value in new.items():
        sums[kind] = sums[kind] + value if kind in sums else value
    return sums


def _failed(question: str, error: Exception) -> Expansion:
    reason = f"{type(error).__name__}: {error}".strip().splitlines()[0]
    problems = dict.fromkeys(KINDS, reason)
    return Expansion(question, (), (), Usage.zeros(1), error=reason, problems=problems)
