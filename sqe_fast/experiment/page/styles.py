"""How the methods are told apart: a colour that colour-blind people can tell, a mark and a dash for each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqe_fast.experiment.page.svg import Shape

__all__ = ["BLUE", "GREEN", "INK", "ORANGE", "PURPLE", "SKY", "VERMILLION", "Style", "styles"]

# Okabe and Ito, "Color Universal Design" (2008), without yellow, which is too faint on white paper.
BLUE, VERMILLION, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
ORANGE, SKY, INK = "#e69f00", "#56b4e9", "currentColor"


@dataclass(frozen=True)
class Style:
    """Colour, mark and dash of one series; each alone tells it from its neighbours."""

    color: str
    shape: Shape
    dash: str = ""


_METHODS = {
    "Selective-QE": Style(BLUE, "circle"),
    "Dense-Only": Style(INK, "square", "7 3"),
    "Always-Expand": Style(VERMILLION, "up", "2 3"),
    "Random-Gated-Expansion": Style(ORANGE, "down", "7 3 2 3"),
    "Hybrid-RRF": Style(GREEN, "diamond", "4 2"),
    "Paraphrases-Only": Style(SKY, "plus", "1 3"),
    "HyDE-Traces-Only": Style(PURPLE, "cross", "9 2 2 2"),
    "BM25-Only": Style("#8a8a8a", "left", "3 3"),
    "Oracle": Style(GREEN, "star", "10 3"),
    "SQE-Plus": Style(VERMILLION, "star", "12 2 2 2"),
    "Hybrid-Plus": Style(ORANGE, "square", "5 2 1 2"),
}
_OTHERS = (
    Style(BLUE, "circle"),
    Style(VERMILLION, "up", "7 3"),
    Style(GREEN, "diamond", "2 3"),
    Style(PURPLE, "square", "7 3 2 3"),
    Style(ORANGE, "down", "4 2"),
    Style(SKY, "plus", "1 3"),
    Style(INK, "cross", "9 2 2 2"),
    Style("#8a8a8a", "star", "3 3"),
)


def styles(names: Iterable[str]) -> dict[str, Style]:
    """Return a style for each name: the methods have their own, others by name take what is left.

    The same names look the same in every figure, in whatever order each has them.
    """
    names = list(dict.fromkeys(names))
    taken = {_METHODS[name] for name in names if name in _METHODS}
    pairs = {(style.color, style.shape) for style in taken}
    free = [style for style in _OTHERS if (style.color, style.shape) not in pairs] or list(_OTHERS)
    others = sorted(name for name in names if name not in _METHODS)
    look = {name: _nth(free, i) for i, name in enumerate(others)}
    return {name: _METHODS.get(name) or look[name] for name in names}


def _nth(free: Sequence[Style], i: int) -> Style:
    """Return the i-th style; once all are taken, colours come with the marks and dashes of others."""
    turn, n = i // len(free), len(free)
    return Style(free[i % n].color, free[(i + turn) % n].shape, free[(i + 2 * turn) % n].dash)
