"""Sections of the page besides its own: gate curves, rollouts of agents, and any that another part makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import ArrayLike

from sqe_fast._checks import check_int
from sqe_fast.errors import InvalidInputError
from sqe_fast.experiment.page.figures import gate_curves
from sqe_fast.experiment.page.frames import figure_html
from sqe_fast.experiment.page.html import attribute, slug, text

__all__ = ["GateCurves", "Section", "curves_section", "rollouts_section"]

ROLES = {"prompt": "Prompt", "policy": "Model", "observation": "Observation", "loop": "Put in by the loop"}


@dataclass(frozen=True)
class Section:
    """One section of the page.

    Attributes
    ----------
    id : str
        Of the element, and of the link to it; letters, digits and hyphens, unique in a page.
    title : str
        Plain text.
    html : str
        Trusted markup, put in as it is: text from data must have gone through `html.text`. Styles and scripts
        in it do not run (the page's content security policy allows its own only).
    """

    id: str
    title: str
    html: str

    def __post_init__(self) -> None:
        if self.id != slug(self.id):
            raise InvalidInputError(f"Section: id must be like {slug(self.id)!r}; got {self.id!r}")


@dataclass(frozen=True, eq=False)
class GateCurves:
    """Arrays of one figure of gate curves; see `figures.gate_curves`.

    Curves that have budgets of their own are first read at common ones, as `numpy.interp` does.

    Attributes
    ----------
    budget : float[b]
        Share of a full budget, rising within [0, 1].
    gates : mapping of str to float[b]
        Recall of each gate.
    random : pair of float[b], optional
        The band of random gates.
    oracle : float[b], optional
    axis : {"questions", "tokens"}
        What the budget counts.
    cut : int
        The k of Recall@k.
    title, note : str
        Of the figure: its caption's first words, and what follows them.
    """

    budget: ArrayLike
    gates: Mapping[str, ArrayLike]
    random: tuple[ArrayLike, ArrayLike] | None = None
    oracle: ArrayLike | None = None
    axis: Literal["questions", "tokens"] = "questions"
    cut: int = 5
    title: str = "Recall against the budget of expansions"
    note: str = "The band is what random gates reach; the oracle expands first where expansion helps."


def curves_section(
    curves: GateCurves | Sequence[GateCurves],
    *,
    id: str = "gate-curves",
    title: str = "Gate curves",
) -> Section:
    """Return a section with one figure for each of `curves`.

    Examples
    --------
    >>> import numpy as np
    >>> budget = np.linspace(0, 1, 5)
    >>> section = curves_section(GateCurves(budget, {"top1": [0.68, 0.7, 0.71, 0.7, 0.69]}))
    >>> section.id, section.html.count("<svg")
    ('gate-curves', 2)
    """
    many = [curves] if isinstance(curves, GateCurves) else list(curves)
    if not many:
        raise InvalidInputError("curves must hold at least one GateCurves; got none")
    parts = []
    for place, one in enumerate(many, 1):
        drawn = {
            suffix: gate_curves(
                one.budget,
                one.gates,
                random=one.random,
                oracle=one.oracle,
                axis=one.axis,
                cut=one.cut,
                width=width,
                name=f"{id}-{place}-{suffix}",
            )
            for suffix, width in (("wide", 720), ("narrow", 360))
        }
        parts.append(figure_html(f"{id}-{place}", drawn["wide"], drawn["narrow"], one.title, one.note))
    return Section(id, title, "\n".join(parts))


def rollouts_section(
    rollouts: Sequence[Mapping[str, Any]],
    *,
    limit: int = 200,
    id: str = "rollouts",
    title: str = "Rollouts of search agents",
) -> Section:
    """Return a section that lists rollouts, each to be opened, with a box that filters them by their text.

    Parameters
    ----------
    rollouts : sequence of mapping
        Plain records. Read are "id", "question", "answer" (or None), "finish", "score" (a number,
        optional), and "segments": mappings of "role" ("prompt", "policy", "observation", or "loop" for
        what is neither found nor the policy's), "text" and "tokens" (optional).
    limit : int
        Rollouts shown; how many more there were is said.

    Examples
    --------
    >>> rollout = {"id": "q1", "question": "Who?", "answer": "Ada", "finish": "answer", "segments": [
    ...     {"role": "policy", "text": "<search>who</search>", "tokens": 6},
    ...     {"role": "observation", "text": "Ada wrote it.", "tokens": 5}]}
    >>> "&lt;search&gt;who" in rollouts_section([rollout]).html
    True
    """
    check_int("limit", limit, 1)
    shown = list(rollouts[:limit])
    parts = [
        f'<div class="filtered" id="{attribute(id)}-list">',
        '<p class="filter"><label>Filter by text <input type="search" autocomplete="off"></label> '
        f"<output>{len(shown)} of {len(shown)}</output></p>",
        *(_rollout(record) for record in shown),
        "</div>",
    ]
    if len(rollouts) > limit:
        parts.append(f'<p class="note">The first {limit} of {len(rollouts):,} rollouts are shown.</p>')
    return Section(id, title, "\n".join(parts))


def _rollout(record: Mapping[str, Any]) -> str:
    segments = record.get("segments")
    if not isinstance(segments, Sequence) or isinstance(segments, str):
        raise InvalidInputError('each rollout must have a list "segments" of role and text')
    facts = []
    if record.get("score") is not None:
        facts.append(f"score {float(record['score']):.2f}")
    tokens = sum(int(segment.get("tokens") or 0) for segment in segments if segment["role"] == "policy")
    facts += [f"{tokens:,} tokens by the model"] if tokens else []
    facts += [str(record["finish"])] if record.get("finish") else []
    answer = record.get("answer")
    told = f"Answer: {answer}" if answer is not None else "No answer"
    return "\n".join(
        [
            '<details class="rollout">',
            f'<summary><span class="id">{text(record.get("id", ""))}</span> '
            f"{text(record.get('question', ''))}"
            f'<span class="facts">{text(" · ".join([told, *facts]))}</span></summary>',
            "<ol>",
            *(_segment(segment) for segment in segments),
            "</ol></details>",
        ]
    )


def _segment(segment: Mapping[str, Any]) -> str:
    role = str(segment["role"])
    if role not in ROLES:
        raise InvalidInputError(f"role must be one of {', '.join(ROLES)}; got {role!r}")
    return f'<li class="{role}"><b>{ROLES[role]}</b><pre>{text(segment["text"])}</pre></li>'
