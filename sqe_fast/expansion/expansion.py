"""What expanding one question gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqe_fast.usage import Usage

__all__ = ["KINDS", "Expansion"]

KINDS = ("traces", "paraphrases")


@dataclass(frozen=True, eq=False)
class Expansion:
    """The probes of one question, and what they cost.

    Attributes
    ----------
    question : str
    traces, paraphrases : tuple of str
        What was made; either may hold fewer than asked, or none.
    usage : Usage
        Of this one question (length 1). A question repeated within one call costs nothing, nor does what a
        cache answered, unless the expander has `count_cached`.
    cached : bool
        All of it came without a call: from the cache, or from the same question earlier in the call.
    error : str or None
        What failed, by kind, as in "paraphrases: time-out"; the other kind is kept.
    notes : tuple of str
        What is short, as in "paraphrases: 1 of 2".
    costs : mapping of str to Usage
        The part of `usage` that each kind ("traces", "paraphrases") took, or "joint" for both in one answer.
    problems : mapping of str to str
        For each kind that failed or is short, the reason.
    seconds : mapping of str to float
        For each kind as in `costs`, its equal share of the wall time of the call that made it, whenever that
        was; a kind of which that is not known is left out.
    """

    question: str
    traces: tuple[str, ...]
    paraphrases: tuple[str, ...]
    usage: Usage
    cached: bool = False
    error: str | None = None
    notes: tuple[str, ...] = ()
    costs: Mapping[str, Usage] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def probes(self) -> tuple[str, ...]:
        """Traces, then paraphrases."""
        return self.traces + self.paraphrases
