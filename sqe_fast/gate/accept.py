"""Acceptance, after the generation: what a probe retrieves tells whether it is to be trusted.

A trace that a model wrote beside the point finds nothing that is near it: its best score is low, its words
are not in what it finds, its lists agree with no other. A `Rule` is a threshold on one such signal, hard or
soft; an `Accept` is the rules that a probe must pass for its lists to take part.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sqe_fast._checks import check_choice, check_number, describe
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.gate.probe_signals import OVERLAP_DEPTH, PROBE_KINDS, PROBE_SIGNALS, ProbeEvidence

__all__ = ["Accept", "Rule", "Verdict", "judge"]

Floats = NDArray[np.float64]

_RULE = re.compile(
    r"\s*(?P<signal>\w+)\s*>=\s*(?P<question>question\s*(?=[+-]|\s*(~|$)))?\s*"
    r"(?P<level>[+-]?\s*[\d.]+(e[+-]?\d+)?)?\s*(~\s*(?P<width>[\d.]+(e[+-]?\d+)?)\s*)?"
)


@dataclass(frozen=True)
class Rule:
    """A threshold on one signal of a probe.

    Attributes
    ----------
    signal : str
        A name of `PROBE_SIGNALS`.
    at_least : float
        The least value that passes.
    over_question : bool
        Measure the probe's value less the question's own.
    width : float
        0: hard, a probe passes or not. Above 0: soft, its weight rises smoothly from 0 at ``at_least -
        width`` to 1 at ``at_least + width`` (``3 t^2 - 2 t^3``), so that a small change of a score never
        changes an answer by much.

    Examples
    --------
    >>> Rule.parse("top1 >= question + 0.05")
    Rule(signal='top1', at_least=0.05, over_question=True, width=0.0)
    >>> str(Rule("bm25_z", 6, width=2))
    'bm25_z >= 6 ~ 2'
    """

    signal: str
    at_least: float
    over_question: bool = False
    width: float = 0.0

    def __post_init__(self) -> None:
        check_choice("signal", self.signal, tuple(PROBE_SIGNALS))
        check_number("at_least", self.at_least, -1e30)
        check_number("width", self.width, 0)
        if self.over_question and not PROBE_SIGNALS[self.signal].of_question:
            raise InvalidInputError(f"over_question: a question has no {self.signal!r} of its own")

    @classmethod
    def parse(cls, text: str) -> Rule:
        """Read ``SIGNAL >= [question +] LEVEL [~ WIDTH]``, the form that `str` gives."""
        found = _RULE.fullmatch(text)
        if not found or not (found["level"] or found["question"]):
            raise InvalidInputError(
                "a rule must read as 'top1 >= 0.6', 'top1 >= question + 0.05' or 'bm25_z >= 6 ~ 2'; "
                f"got {text!r}"
            )
        level = float((found["level"] or "0").replace(" ", ""))
        return cls(found["signal"], level, found["question"] is not None, float(found["width"] or 0))

    def __str__(self) -> str:
        sign = "-" if self.at_least < 0 else "+"
        level = f"question {sign} {abs(self.at_least):g}" if self.over_question else f"{self.at_least:g}"
        return f"{self.signal} >= {level}" + (f" ~ {self.width:g}" if self.width else "")

    def weigh(self, value: Floats) -> Floats:
        """Return the weight from 0 to 1 of each value; NaN, which does not apply, passes."""
        if not self.width:
            return np.where(np.isnan(value) | (value >= self.at_least), 1.0, 0.0)
        known = np.where(np.isnan(value), np.inf, value)
        with np.errstate(over="ignore"):  # a width of next to nothing is as good as hard
            share = np.clip((known - self.at_least) / (2 * self.width) + 0.5, 0.0, 1.0)
        weight: Floats = share * share * (3.0 - 2.0 * share)
        return weight


@dataclass(frozen=True)
class Accept:
    """The rules by which probes are accepted, weighted or refused.

    Attributes
    ----------
    rules : tuple of Rule
        At least one.
    combine : {"all", "any"}
        A probe weighs as much as its weakest rule, or as its strongest.
    probes : tuple of str
        The kinds that are judged ("traces", "paraphrases"); others are accepted.

    Examples
    --------
    >>> Accept.parse("top1 >= 0.6, idf_share >= 0.3").rules[1]
    Rule(signal='idf_share', at_least=0.3, over_question=False, width=0.0)
    """

    rules: tuple[Rule, ...]
    combine: Literal["all", "any"] = "all"
    probes: tuple[str, ...] = PROBE_KINDS

    def __post_init__(self) -> None:
        if not isinstance(self.rules, tuple) or not all(isinstance(rule, Rule) for rule in self.rules):
            raise InvalidTypeError(f"rules must be a tuple of Rule; got {describe(self.rules)}")
        if not self.rules:
            raise InvalidInputError("rules must hold at least one Rule")
        check_choice("combine", self.combine, ("all", "any"))
        if not isinstance(self.probes, tuple) or not self.probes:
            raise InvalidTypeError(f"probes must be a tuple of kinds; got {describe(self.probes)}")
        for kind in self.probes:
            check_choice("probes", kind, PROBE_KINDS)

    @classmethod
    def parse(cls, text: str) -> Accept:
        """Read rules parted by commas (a probe must pass all) or by ``or`` (any); see `Rule.parse`."""
        if not isinstance(text, str):
            raise InvalidTypeError(f"accept must be an Accept or a text of rules; got {describe(text)}")
        parts = re.split(r"\s+or\s+", text)
        if len(parts) > 1:
            return cls(tuple(map(Rule.parse, parts)), "any")
        return cls(tuple(map(Rule.parse, text.split(","))))

    def __str__(self) -> str:
        return (" or " if self.combine == "any" else ", ").join(map(str, self.rules))

    @property
    def indexes(self) -> frozenset[str]:
        """The indexes in which judged probes, and their questions, are looked up."""
        return frozenset(index for rule in self.rules for index in PROBE_SIGNALS[rule.signal].indexes)

    @property
    def depth(self) -> int:
        """How deep the lists must be."""
        return OVERLAP_DEPTH


@dataclass(frozen=True, eq=False)
class Verdict:
    """What became of m probes.

    Attributes
    ----------
    weights : float64[m]
        From 0 (refused) to 1.
    values : mapping of str to float64[m]
        What each rule saw, by its text.
    reasons : tuple of (str or None)
        Why a probe was refused, as in "top1 0.412 < 0.6".
    """

    weights: Floats
    values: Mapping[str, Floats]
    reasons: tuple[str | None, ...]


def judge(accept: Accept, evidence: ProbeEvidence) -> Verdict:
    """Judge m probes by their own retrieval.

    A rule over the question measures against what the question's own list has; where the question has no
    hit at all (its value is -inf) any probe that has one passes.
    """
    values: dict[str, Floats] = {}
    weights = []
    for rule in accept.rules:
        signal = PROBE_SIGNALS[rule.signal]
        value = signal.compute(evidence, "probe")
        if rule.over_question:
            own = signal.compute(evidence, "question")
            lost = np.isneginf(value)
            value = np.where(lost, -np.inf, np.where(lost, 0.0, value) - own)
        values[str(rule)] = value
        weights.append(rule.weigh(value))
    combined = np.minimum.reduce(weights) if accept.combine == "all" else np.maximum.reduce(weights)
    reasons: list[str | None] = [None] * len(combined)
    for at in np.flatnonzero(combined <= 0).tolist():
        failed = [rule for rule, weight in zip(accept.rules, weights, strict=True) if weight[at] <= 0]
        reasons[at] = "; ".join(_reason(rule, float(values[str(rule)][at])) for rule in failed)
    return Verdict(combined, values, tuple(reasons))


def _reason(rule: Rule, value: float) -> str:
    """Say what was too low; of a rule over the question the difference."""
    least = rule.at_least - rule.width
    what = f"{rule.signal} less the question's" if rule.over_question else rule.signal
    if value == -np.inf:
        return f"{rule.signal}: no hits"
    return f"{what} {value:.3f} {'<=' if rule.width else '<'} {least:g}"
