"""Gate curves: recall against the share of questions, or of tokens, that a gate may spend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sqe_fast._checks import check_choice
from sqe_fast.errors import InvalidInputError
from sqe_fast.experiment.page.figures.base import (
    NARROW,
    check_width,
    column,
    columns,
    in_range,
    padded,
    percent,
    tick_digits,
)
from sqe_fast.experiment.page.styles import Style, styles
from sqe_fast.experiment.page.svg import Canvas, Scale, spread, text_width

__all__ = ["gate_curves"]

ORACLE = Style("#009e73", "star", "10 3")
MARKS = 8  # on each line
AXES = {"questions": "Questions expanded (%)", "tokens": "Tokens spent (% of those of expanding all)"}


def gate_curves(
    budget: ArrayLike,
    gates: Mapping[str, ArrayLike],
    *,
    random: tuple[ArrayLike, ArrayLike] | None = None,
    oracle: ArrayLike | None = None,
    axis: Literal["questions", "tokens"] = "questions",
    cut: int = 5,
    width: float = 720,
    name: str = "gates",
) -> str:
    """Draw one line a gate over the budget it spends, between a random band and the oracle.

    Parameters
    ----------
    budget : float[b]
        Share of a full budget that is spent, rising within [0, 1]; 1 expands every question.
    gates : mapping of str to float[b]
        Recall of each gate at each budget, from 0 to 1.
    random : pair of float[b], optional
        Lower and upper edge of what random gates reach.
    oracle : float[b], optional
        Recall of a gate that expands where it helps first.
    axis : {"questions", "tokens"}
        What the budget counts.
    cut, width, name
        As in `recall_by_seed`.

    Returns
    -------
    str
        An ``<svg>`` element. Names stand at the right, in the order of the lines at half the budget; in a
        narrow figure below it.

    Raises
    ------
    InvalidInputError
        Arrays differ in length, or the budget does not rise within [0, 1].
    """
    width = check_width(width)
    check_choice("axis", axis, tuple(AXES))
    x = column("budget", budget)
    if len(x) < 2 or not (np.diff(x) > 0).all() or x[0] < 0 or x[-1] > 1:
        raise InvalidInputError("budget must be at least two shares that rise within [0, 1]")
    lines = {key: percent(array) for key, array in columns("gates", gates, len(x)).items()}
    look = styles(lines)
    if oracle is not None:
        lines["oracle"] = percent(column("oracle", oracle, len(x)))
        look["oracle"] = ORACLE
    band = None
    if random is not None:
        band = tuple(percent(column(f"random[{i}]", random[i], len(x))) for i in (0, 1))
    every = [*lines.values(), *(band or ())]
    low, high = padded(min(float(a.min()) for a in every), max(float(a.max()) for a in every))
    half = int(np.argmin(np.abs(x - 0.5)))
    order = sorted(lines, key=lambda key: (-lines[key][half], key))
    narrow = width < NARROW
    names = [*order, *(["random"] if band else [])]
    left, top = 36.0, 34.0
    right = 14.0 if narrow else max(text_width(key) for key in names) + 48
    bottom = top + (250.0 if narrow else 320.0)
    across = Scale(0, 1, left, width - right)
    up = Scale(low, high, bottom, top)
    under = bottom + 56
    canvas = Canvas(
        name,
        f"Recall@{cut} against the budget of {axis}",
        f"At {x[half] * 100:.0f} % of the {axis}: "
        + "; ".join(f"{key} {lines[key][half]:.1f} %" for key in order)
        + (f"; random {band[0][half]:.1f} to {band[1][half]:.1f} %." if band else "."),
        width,
        bottom + 44 + (20 * len(names) + 8 if narrow else 0),
    )
    y_ticks = in_range(low, high, 7)
    canvas.text(0, 12, f"Recall@{cut} (%)")
    canvas.y_axis(up, left, y_ticks, right=width - right, digits=tick_digits(y_ticks))
    _share_axis(canvas, across, bottom, top, AXES[axis])
    if band:
        edge = [(across(float(a)), up(float(b))) for a, b in zip(x, band[1], strict=True)]
        edge += [(across(float(a)), up(float(b))) for a, b in zip(x[::-1], band[0][::-1], strict=True)]
        canvas.area(edge, color="currentColor", opacity=0.16)
    for place, key in enumerate(reversed(order)):
        points = [(across(float(a)), up(float(b))) for a, b in zip(x, lines[key], strict=True)]
        canvas.path(points, color=look[key].color, dash=look[key].dash)
        for at in _mark_places(x, place):
            canvas.mark(
                *points[at],
                look[key].shape,
                color=look[key].color,
                radius=3.8,
                outline=0.7,
                title=f"{key}, {x[at] * 100:.0f} % of the {axis}: {lines[key][at]:.1f} %",
            )
    wishes = [up(float(lines[key][half])) for key in order]
    if band:
        wishes.append(up(float((band[0][half] + band[1][half]) / 2)))
    places = spread(wishes, 18, top, bottom - 4)
    for i, key in enumerate(names):
        key_x, key_y = (left, under + 20 * i) if narrow else (width - right + 12, places[i])
        _key(canvas, key_x, key_y, key, look.get(key))
    return canvas.svg()


def _share_axis(canvas: Canvas, across: Scale, bottom: float, top: float, title: str) -> None:
    for share in (0, 0.2, 0.4, 0.6, 0.8, 1):
        canvas.line(across(share), top, across(share), bottom, width=0.75, opacity=0.18)
        canvas.text(across(share), bottom + 16, f"{share * 100:.0f}", anchor="middle")
    canvas.line(across.start, bottom, across.stop, bottom)
    canvas.text((across.start + across.stop) / 2, bottom + 35, title, anchor="middle")


def _mark_places(x: NDArray[np.float64], place: int) -> list[int]:
    """Return where to put marks: evenly spaced, shifted from line to line so that none hides another."""
    wanted = (np.arange(MARKS) + (place % 4) / 4 + 0.15) / MARKS
    found = {int(np.argmin(np.abs(x - share))) for share in wanted if x[0] <= share <= x[-1]}
    return sorted(found)


def _key(canvas: Canvas, x: float, y: float, label: str, style: Style | None) -> None:
    """Write a name behind a piece of its line; without a style, of the band."""
    if style is None:
        points = [(x, y - 6), (x + 28, y - 6), (x + 28, y + 6), (x, y + 6)]
        canvas.area(points, color="currentColor", opacity=0.16)
    else:
        canvas.line(x, y, x + 28, y, color=style.color, dash=style.dash, width=2)
        canvas.mark(x + 14, y, style.shape, color=style.color, radius=3.8, outline=0.7)
    canvas.text(x + 34, y + 4, label)
