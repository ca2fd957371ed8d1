"""What is run over the prepared seeds: methods and their numbers, and how expansions are sampled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from sqe_fast._checks import check_choice, check_number
from sqe_fast.errors import InvalidInputError
from sqe_fast.expand import Expander
from sqe_fast.expansion.cache import ExpansionCache
from sqe_fast.expansion.prompts import VERSION
from sqe_fast.experiment.rows import METHOD_FILES, file_of
from sqe_fast.gate.gates import RandomGate, ThresholdGate
from sqe_fast.gate.signals import SIGNALS
from sqe_fast.generate.base import Generator
from sqe_fast.methods import Method, get_method

__all__ = ["RunSettings"]

TIMED = (
    "wall time of the method run alone over all questions, every text encoded and looked up anew and its "
    "expansions read from the cache, divided by the number of questions; plus, where the question is "
    "expanded, its equal share of the wall time of each generation call that its expansions were made in (of "
    "traces made for a method that takes more of them, in proportion)"
)
SAMPLING = (  # options of the expander by their own names
    *("trace_temperature", "paraphrase_temperature", "max_new_tokens"),
    *("joint", "trace_end", "observation_lines", "brief"),
)
UNTIMED = "not measured: all methods share one pass (null in the rows)"


@dataclass(frozen=True)
class RunSettings:
    """What is run.

    Attributes
    ----------
    methods : tuple of (str or Method)
        By default the eight of the release. The random gate always draws with the experiment's seed.
    k : int
        Hits of an answer.
    depth : int or None
        Of each list before fusion; None: twice k.
    threshold, rate : float
        Of Selective-QE and of Random-Gated-Expansion, where they are given by name.
    signals : tuple of str or None
        Signals that the rows of the first method tell beside those that every gate sees, from
        `sqe_fast.gate.signals.SIGNALS`; None: all that the store allows.
    timed : bool
        Measure `elapsed_seconds`, for which every method is run once more, alone.
    trace_temperature, paraphrase_temperature, max_new_tokens, sampling_seed
    joint, trace_end, observation_lines, brief
        Of the expansions, see `sqe_fast.expand.Expander`. With `joint` the seconds of methods that take only
        one kind of probe are not known: alone, they would have asked otherwise.
    """

    methods: tuple[str | Method, ...] = tuple(METHOD_FILES)
    k: int = 10
    depth: int | None = None
    threshold: float = 0.65
    rate: float = 0.46
    signals: tuple[str, ...] | None = None
    timed: bool = True
    trace_temperature: float = 0.8
    paraphrase_temperature: float = 0.5
    max_new_tokens: int = 256
    sampling_seed: int | None = None
    joint: bool = False
    trace_end: Literal["model", "step", "blank"] = "model"
    observation_lines: int | None = None
    brief: bool = False

    def __post_init__(self) -> None:
        check_number("threshold", self.threshold, -1e30)
        check_number("rate", self.rate, 0, 1)
        for name in self.signals or ():
            check_choice("signals", name, tuple(SIGNALS))
        _check_names([get_method(method) for method in self.methods])
        self.of_seed(0)  # a number that is not allowed is told before anything is loaded

    def of_seed(self, seed: int) -> list[Method]:
        """Return the methods with all their numbers."""
        return [self._method(given, seed) for given in self.methods]

    def _method(self, given: str | Method, seed: int) -> Method:
        method = get_method(given, k=self.k)
        numbers: dict[str, Any] = {}
        if self.depth is not None and "depth" in method.numbers:
            numbers["depth"] = self.depth
        if isinstance(method.gate, RandomGate):
            numbers["seed"] = seed
            if isinstance(given, str):
                numbers["rate"] = self.rate
        if isinstance(given, str) and isinstance(method.gate, ThresholdGate) and method.alias == "sqe":
            numbers["threshold"] = self.threshold
        return method.changed(**numbers)

    def choices(self, seed: int, generator: str | None) -> dict[str, Any]:
        """Return all of this that decides the rows of a seed, as a manifest tells it."""
        methods = self.of_seed(seed)
        choices: dict[str, Any] = {"methods": {method.name: _told(method) for method in methods}}
        choices["signals"] = None if self.signals is None else list(self.signals)
        if any(method.expands for method in methods):
            own = {name: getattr(self, name) for name in (*SAMPLING, "sampling_seed")}
            choices["expansions"] = {"generator": generator, "prompts": VERSION, **own}
        return {**choices, "elapsed_seconds": TIMED if self.timed else UNTIMED}

    def expander(self, generator: Generator, cache: ExpansionCache | None) -> Expander:
        """Return what expands questions; what the cache answers costs what it did when it was made."""
        own: dict[str, Any] = {name: getattr(self, name) for name in SAMPLING}
        return Expander(generator, cache, seed=self.sampling_seed, count_cached=True, **own)


def _check_names(methods: Sequence[Method]) -> None:
    """Refuse methods of one name, and those whose rows would be taken for another's."""
    names = [method.name for method in methods]
    if not names or len(set(names)) < len(names):
        raise InvalidInputError(f"methods must be at least one, each once; got {', '.join(names) or 'none'}")
    files: dict[str, str] = {file: name for name, file in METHOD_FILES.items()}
    for method in methods:
        file = file_of(method)
        if files.setdefault(file, method.name) != method.name or Path(file).name != file:
            taken = f", which is for {files[file]}" if files[file] != method.name else ""
            raise InvalidInputError(
                f"the rows of {method.name} cannot be in {file!r}, named by its alias{taken}; give it another"
            )


def _told(method: Method) -> dict[str, Any]:
    """Return all of a method as JSON can hold it; what is as in any other method is left out."""
    numbers = {name: _plain(value) for name, value in method.numbers.items()}
    known = {"name", "alias", "gate", "lists", "added", *numbers}
    others = {
        field.name: _plain(getattr(method, field.name))
        for field in fields(method)
        if field.name not in known and getattr(method, field.name) != field.default
    }
    gate, lists = type(method.gate).__name__, list(method.list_names)
    return {"file": file_of(method), "lists": lists, "gate": gate, **numbers, **others}


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it: a number or a text as it is, anything else as it is written."""
    return value if isinstance(value, (str, int, float, bool, type(None))) else repr(value)
