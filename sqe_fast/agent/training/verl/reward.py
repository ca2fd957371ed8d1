"""The reward function of verl's configuration: ``pkg://sqe_fast.agent.training.verl.reward``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqe_fast.agent.answers import exact_match, f1
from sqe_fast.agent.dialect import DIALECTS, Dialect
from sqe_fast.agent.rewards import Gold, score
from sqe_fast.agent.values import Passage, Rollout, SearchTurn
from sqe_fast.errors import InvalidInputError
from sqe_fast.usage import Usage

__all__ = ["EXTRA", "compute_score", "read_response", "summary"]

EXTRA = "search_rollout"  # the agent loop's word to this function, through verl's extra fields


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    *,
    reward: str = "table",
    dialect: str = "tags",
    **_: Any,
) -> dict[str, float]:
    """Return the reward of one response, as verl's reward managers call it.

    Parameters
    ----------
    data_source : str
        Not looked at.
    solution_str : str
        The response as text, observations included: what is judged where the agent loop was not ours.
    ground_truth
        Golden answers, or a mapping whose ``target`` they are; with the fields of `Gold` where a reward needs
        them.
    extra_info : mapping, optional
        Holds what `SearchAgentLoop` tells of its rollout.
    reward : str
        A name of `sqe_fast.agent.rewards.REWARDS`; ``reward_kwargs`` of the configuration sets it.
    dialect : str
        How `solution_str` is written where it is judged.

    Returns
    -------
    dict of str to float
        `score` (rewards of single steps are added: verl pays at the last token), and for the log `acc` (EM),
        `f1`, `valid`, `searches`.

    Examples
    --------
    >>> compute_score("nq", "<think>I know.</think><answer>1815</answer>", ["1815"])["score"]
    1.0
    """
    gold = _gold(ground_truth)
    told = (extra_info or {}).get(EXTRA)
    if dialect not in DIALECTS:
        raise InvalidInputError(f"dialect must be one of {', '.join(DIALECTS)}; got {dialect!r}")
    rollout = _rollout(told) if told else read_response(solution_str, DIALECTS[dialect])
    if rollout.finish == "failed":
        paid = 0.0
    else:
        got = score(reward, rollout, gold)
        paid = got.total + sum(got.steps)
    return {
        "score": float(paid),
        "acc": exact_match(rollout.answer, gold.answers),
        "f1": f1(rollout.answer, gold.answers),
        "valid": float(rollout.valid),
        "searches": float(len(rollout.turns)),
    }


def summary(rollout: Rollout) -> dict[str, Any]:
    """Return what rewards look at, in plain values that travel between processes."""
    return {
        "answer": rollout.answer,
        "valid": rollout.valid,
        "finish": rollout.finish,
        "turns": [
            {
                "queries": list(turn.queries),
                "passages": [[one.id, one.title, one.text] for one in turn.passages],
                "cost": turn.cost,
            }
            for turn in rollout.turns
        ],
    }


def read_response(text: str, dialect: Dialect) -> Rollout:
    """Read a rollout from its response alone; its passages are not known again."""
    turns: list[tuple[tuple[str, ...], list[Any]]] = [
        (block.queries, []) for block in dialect.blocks(text) if block.kind == "search"
    ]
    return _made(dialect.answer(text), dialect.valid(text), "answer", turns)


def _rollout(told: Mapping[str, Any]) -> Rollout:
    turns = [(tuple(turn["queries"]), list(turn["passages"])) for turn in told["turns"]]
    return _made(told["answer"], bool(told["valid"]), told["finish"], turns)


def _made(
    answer: str | None, valid: bool, finish: str, turns: Sequence[tuple[tuple[str, ...], list[Any]]]
) -> Rollout:
    made = []
    for queries, found in turns:
        passages = tuple(Passage(id, title, text, float("nan")) for id, title, text in found)
        made.append(SearchTurn(queries, (passages,), ""))
    nothing = Usage.zeros(1)
    return Rollout("", "", (), tuple(made), answer, valid, finish, nothing, nothing, nothing)


def _gold(truth: Any) -> Gold:
    if isinstance(truth, Mapping):
        fields = {key: truth[key] for key in ("comparison", "keys", "evidence") if truth.get(key) is not None}
        if "keys" in fields:
            fields["keys"] = tuple(tuple(one) for one in fields["keys"])
        if "evidence" in fields:
            fields["evidence"] = tuple(fields["evidence"])
        return Gold(_answers(truth.get("target")), **fields)
    return Gold(_answers(truth))


def _answers(given: Any) -> tuple[str, ...]:
    if isinstance(given, str):
        return (given,)
    if given is None:
        raise InvalidInputError("ground_truth holds no golden answers")
    return tuple(str(one) for one in given)
