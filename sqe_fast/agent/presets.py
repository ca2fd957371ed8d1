"""The systems as data: seven published search agents, each a row of settings of the one loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

from sqe_fast._checks import check_choice, check_int, describe
from sqe_fast.agent.dialect import SINGLE, TAGS, Dialect
from sqe_fast.agent.prompts import WISHES, policy_prompt
from sqe_fast.agent.rewards import REWARDS
from sqe_fast.agent.values import Budgets
from sqe_fast.errors import InvalidInputError, InvalidTypeError

__all__ = ["PRESETS", "RETRIEVERS", "Preset", "get_preset"]

RETRIEVERS = ("none", "index", "simulated", "pool")


@dataclass(frozen=True)
class Preset:
    """One system.

    Attributes
    ----------
    name, alias : str
        As its paper writes it, and short.
    queries : int or None
        Queries a search turn: 0 no search, None as many as the policy likes; of more, the first count.
    k : int
        Passages a query.
    turns : int
        Search turns at most.
    squeeze : bool
        A compressor writes the observation; else it is the passages.
    retriever : "none", "index", "simulated" or "pool"
        What kind it was published with. Any retriever may be given to the loop.
    reward : str
        A name of `sqe_fast.agent.rewards.REWARDS`.
    wish : "one", "split", "expand" or "route"
        How the prompt asks for queries.
    dialect : Dialect
        How searches and answers are written.
    template : str or None
        The prompt in place of our own, ``{question}`` where the question goes (and ``{models}``).
    opening : str
        What each turn is begun with, such as "<think>" for a model that would not begin so by itself. Not the
        policy's own words (mask 0).
    budgets : Budgets
    source : str
        Where it was published.
    published : mapping of str to float
        Mean EM over the seven sets as published, by size of the policy. Rows of different papers do not
        compare.

    Examples
    --------
    >>> preset = get_preset("expandsearch", k=10)
    >>> preset.queries, preset.k, preset.squeeze
    (3, 10, True)
    """

    name: str
    alias: str
    queries: int | None
    k: int
    turns: int
    squeeze: bool
    retriever: Literal["none", "index", "simulated", "pool"]
    reward: str
    wish: str = "one"
    dialect: Dialect = SINGLE
    template: str | None = None
    opening: str = ""
    budgets: Budgets = field(default_factory=Budgets)
    source: str = ""
    published: Mapping[str, float] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.queries is not None:
            check_int("queries", self.queries, 0, 100)
        check_int("k", self.k, 0, 1000)
        check_int("turns", self.turns, 0, 100)
        check_choice("wish", self.wish, WISHES)
        check_choice("retriever", self.retriever, RETRIEVERS)
        check_choice("reward", self.reward, tuple(REWARDS))
        if not isinstance(self.dialect, Dialect):
            raise InvalidTypeError(f"dialect must be a Dialect; got {describe(self.dialect)}")
        if not isinstance(self.budgets, Budgets):
            raise InvalidTypeError(f"budgets must be Budgets; got {describe(self.budgets)}")
        if not isinstance(self.opening, str):
            raise InvalidTypeError(f"opening must be a str; got {describe(self.opening)}")
        if self.dialect.form == "single" and self.queries not in (0, 1):
            raise InvalidInputError(
                f"{self.name}: the dialect {self.dialect.name!r} writes one query a search, so queries must "
                f"be 1; got {self.queries} (other dialects: tags, tools)"
            )
        if self.searches and (self.k == 0 or self.retriever == "none"):
            raise InvalidInputError(f"{self.name}: a system that searches needs k >= 1 and a retriever")
        if self.template is not None and "{question}" not in self.template:
            raise InvalidInputError(f"{self.name}: template must hold {{question}} where the question goes")

    @property
    def searches(self) -> bool:
        """Whether the policy may search at all."""
        return self.queries != 0 and self.turns > 0

    def ask(self, question: str, models: Sequence[str] = ()) -> str:
        """Return the prompt for one question; `models` are the names that a pool offers."""
        turns = self.turns if self.searches else 0
        template = self.template or policy_prompt(self.dialect, turns, self.wish, self.queries)
        # The question last: what it holds is not a place to fill.
        return template.replace("{models}", ", ".join(models)).replace("{question}", question)


_ROWS = (
    Preset(
        "R1", "r1", 0, 0, 0, False, "none", "em",
        source="arXiv 2501.12948, as Search-R1's baseline without search",
        published={"3B": 0.191, "7B": 0.271},
    ),
    Preset(
        "Search-R1", "search-r1", 1, 3, 4, False, "index", "search-r1-v0.2",
        source="arXiv 2503.09516", published={"3B": 0.291, "7B": 0.370},
    ),
    Preset(
        "ZeroSearch", "zerosearch", 1, 5, 4, False, "simulated", "f1",
        source="arXiv 2505.04588", published={"3B": 0.317, "7B": 0.391},
    ),
    Preset(
        "StepSearch", "stepsearch", 1, 3, 5, False, "index", "stepsearch", source="arXiv 2505.15107",
    ),
    Preset(
        "Router-R1", "router-r1", 1, 1, 4, False, "pool", "router-r1", wish="route",
        source="arXiv 2506.09033", published={"3B": 0.416},
    ),
    Preset(
        "ParallelSearch", "parallelsearch", None, 3, 4, False, "index", "parallelsearch", wish="split",
        dialect=TAGS, source="arXiv 2508.09303", published={"7B": 0.425},
    ),
    Preset(
        "ExpandSearch", "expandsearch", 3, 5, 4, True, "index", "table", wish="expand",
        dialect=TAGS, source="arXiv 2510.10009", published={"3B": 0.457},
    ),
)  # fmt: skip

PRESETS: Mapping[str, Preset] = MappingProxyType({preset.alias: preset for preset in _ROWS})


def get_preset(name: str | Preset, **changes: Any) -> Preset:
    """Return a preset by name or alias, without regard to case, with fields changed.

    Raises
    ------
    InvalidInputError, InvalidTypeError
        No such preset or field; the message lists them.
    """
    if isinstance(name, Preset):
        preset = name
    else:
        if not isinstance(name, str):
            raise InvalidTypeError(f"preset must be a name or a Preset; got {describe(name)}")
        known = {key.casefold(): preset for preset in _ROWS for key in (preset.name, preset.alias)}
        if name.casefold() not in known:
            raise InvalidInputError(f"preset must be one of {', '.join(PRESETS)}; got {name!r}")
        preset = known[name.casefold()]
    if unknown := set(changes) - set(Preset.__dataclass_fields__):
        raise InvalidInputError(
            f"preset {preset.alias}: no field {min(unknown)!r}; there are "
            f"{', '.join(Preset.__dataclass_fields__)}"
        )
    return replace(preset, **changes) if changes else preset
