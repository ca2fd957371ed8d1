"""The rewards of the published systems, by name.

A reward looks at a `Rollout` and its golden answers; some need more, which stands in `Gold`. `score` computes
one by name and returns its parts beside the total, so that a training log can tell what was paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from sqe_fast._checks import check_choice, check_number, check_texts
from sqe_fast.agent import _stepwise
from sqe_fast.agent.answers import exact_match, f1
from sqe_fast.agent.values import Rollout
from sqe_fast.errors import InvalidInputError

__all__ = ["REWARDS", "Gold", "Score", "cost_rewards", "router_reward", "score"]


@dataclass(frozen=True)
class Gold:
    """What a reward may compare with.

    Attributes
    ----------
    answers : tuple of str
        Golden answers; any of them counts.
    comparison : bool
        The question compares things (ParallelSearch splits these).
    keys : tuple of tuple of str
        StepSearch: for each sub-question the searches that would serve it; any of them counts.
    evidence : tuple of str
        StepSearch: texts of the golden passages.
    cost : float
        Router-R1: the normalised cost reward, from 0 (dearest) to 1 (free); see `cost_rewards`.
    """

    answers: tuple[str, ...]
    comparison: bool = False
    keys: tuple[tuple[str, ...], ...] = ()
    evidence: tuple[str, ...] = ()
    cost: float = 1.0

    def __post_init__(self) -> None:
        check_texts("Gold: answers", self.answers)
        check_number("Gold: cost", self.cost, 0, 1)


@dataclass(frozen=True)
class Score:
    """A reward: its total, the named parts that sum to it, and one number a search turn where it has steps.

    `steps` are for the end of each search turn, beside the total at the end of the rollout.
    """

    total: float
    parts: Mapping[str, float] = field(default_factory=dict)
    steps: tuple[float, ...] = ()


Reward = Callable[[Rollout, Gold], Score]


def score(name: str, rollout: Rollout, golden: Gold | Iterable[str]) -> Score:
    """Return the reward `name` (a key of `REWARDS`) of one rollout.

    Parameters
    ----------
    name : str
    rollout : Rollout
    golden : Gold or iterable of str
        Golden answers suffice for rewards that need nothing else.

    Raises
    ------
    InvalidInputError
        No such reward, or it needs a field of `Gold` that is empty.
    """
    check_choice("reward", name, tuple(REWARDS))
    gold = golden if isinstance(golden, Gold) else Gold(tuple(check_texts("golden", golden)))
    return REWARDS[name](rollout, gold)


def _em(rollout: Rollout, gold: Gold) -> Score:
    """EM: 1 where the answer is right, else 0 (DeepSeek-R1's outcome reward; Search-R1 v0.2)."""
    return _sum(em=exact_match(rollout.answer, gold.answers))


def _f1(rollout: Rollout, gold: Gold) -> Score:
    """F1 of the answer's words (ZeroSearch, which pays F1 so that long answers do not win)."""
    return _sum(f1=f1(rollout.answer, gold.answers))


def _em_format(rollout: Rollout, gold: Gold) -> Score:
    """EM + 0.2 where the format is valid (ExpandSearch's paper: r = r_EM + lambda r_f, lambda = 0.2)."""
    return _sum(em=exact_match(rollout.answer, gold.answers), format=0.2 * rollout.valid)


def _table(rollout: Rollout, gold: Gold) -> Score:
    """Pay 1 right and valid, 0.8 right, 0.2 valid, 0.1 any answer, 0 none (ExpandSearch's code)."""
    return _tabled(rollout, gold, valid=0.2, any_answer=0.1)


def _tabled(rollout: Rollout, gold: Gold, valid: float, any_answer: float) -> Score:
    if exact_match(rollout.answer, gold.answers):
        return _sum(em=1.0, format=0.0 if rollout.valid else -valid)
    if rollout.valid:
        return _sum(format=valid)
    return _sum(answer=0.0 if rollout.answer is None else any_answer)


def _stepsearch(rollout: Rollout, gold: Gold) -> Score:
    """F1 + 0.618 search keys; each search turn 0.6 (information gain - repeated) (StepSearch, 2505.15107).

    Search keys: the mean over sub-questions of the best F1 between any query and one of its keys.
    Gain of turn t: the mean over golden passages of what the best TF-IDF cosine of a passage found in turn t
    adds to the best one before. Repeated: the share of turn t's passages found in an earlier turn.
    """
    if not gold.keys or not gold.evidence:
        raise InvalidInputError("the reward 'stepsearch' needs Gold(keys=..., evidence=...)")
    matched = _stepwise.key_match([query for turn in rollout.turns for query in turn.queries], gold.keys)
    steps = _stepwise.gains([turn.passages for turn in rollout.turns], gold.evidence)
    total = _sum(f1=f1(rollout.answer, gold.answers), keys=0.618 * matched)
    return Score(total.total, total.parts, tuple(0.6 * (gain - repeated) for gain, repeated in steps))


def router_reward(alpha: float, right: Callable[[str | None, Iterable[str]], float] = exact_match) -> Reward:
    """Return Router-R1's reward for one weight of the cost, from 0 (the published default) to 1.

    `right` measures the answer: `exact_match` or `f1`.
    """
    check_number("alpha", alpha, 0, 1)

    def reward(rollout: Rollout, gold: Gold) -> Score:
        """-1 for an invalid format, else (1 - alpha) EM (or F1) + alpha cost (Router-R1, 2506.09033)."""
        if not rollout.valid:
            return _sum(format=-1.0)
        return _sum(answer=(1 - alpha) * right(rollout.answer, gold.answers), cost=alpha * gold.cost)

    return reward


def _parallel(rollout: Rollout, gold: Gold) -> Score:
    """Table + decomposition + search count (ParallelSearch, 2508.09303).

    Decomposition: 3 x 0.15 where a comparison question was split, 0.15 where another was not. Search count:
    0.35 (1 - abs(search turns - 1)).
    """
    base = _table(rollout, gold)
    return _sum(**base.parts, **_decomposed(rollout, gold), count=0.35 * (1 - abs(len(rollout.turns) - 1)))


def _parallel_code(rollout: Rollout, gold: Gold) -> Score:
    """As "parallelsearch", with the numbers of ExpandSearch's code: a gentler table and count.

    Table: 1, 0.9, 0.1, 0, 0. Search count: 0.35 (1 - abs(turns - 1)) on comparison questions, on others
    0.35 (min(turns, 2) - 1).
    """
    base = _tabled(rollout, gold, valid=0.1, any_answer=0.0)
    turns = len(rollout.turns)
    count = 1 - abs(turns - 1) if gold.comparison else min(turns, 2) - 1
    return _sum(**base.parts, **_decomposed(rollout, gold), count=0.35 * count)


def _decomposed(rollout: Rollout, gold: Gold) -> dict[str, float]:
    split = any(len(turn.queries) > 1 for turn in rollout.turns)
    if split != gold.comparison:
        return {"decomposition": 0.0}
    return {"decomposition": 0.45 if split else 0.15}


def _sum(**parts: float) -> Score:
    return Score(sum(parts.values()), {name: float(value) for name, value in parts.items()})


def cost_rewards(costs: Sequence[float]) -> list[float]:
    """Return Router-R1's normalised cost rewards of a batch: 1 for the cheapest, 0 for the dearest.

    Min-max over the batch; 1 for all where all cost the same.

    Examples
    --------
    >>> cost_rewards([0.0, 3.0, 1.5])
    [1.0, 0.0, 0.5]
    """
    checked = [check_number(f"costs[{i}]", cost, 0) for i, cost in enumerate(costs)]
    if not checked:
        return []
    low, high = min(checked), max(checked)
    return [(high - cost) / (high - low) if high > low else 1.0 for cost in checked]


REWARDS: Mapping[str, Reward] = MappingProxyType(
    {
        "em": _em,
        "f1": _f1,
        "em+format": _em_format,
        "table": _table,
        "search-r1-v0.2": _em,
        # v0.3 pays EM and format by the same table (its retrieval bonus is 0 by default).
        "search-r1-v0.3": _table,
        "stepsearch": _stepsearch,
        "router-r1": router_reward(0.0),
        "router-r1-f1": router_reward(0.0, f1),
        "parallelsearch": _parallel,
        "parallelsearch-code": _parallel_code,
    }
)
