"""Figure 3 of the paper: what a query costs in tokens, against what it finds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sqe_fast.errors import InvalidInputError
from sqe_fast.experiment.page.figures.base import (
    NARROW,
    check_width,
    column,
    in_range,
    padded,
    percent,
    robust_low,
    tick_digits,
)
from sqe_fast.experiment.page.styles import styles
from sqe_fast.experiment.page.svg import FONT, Box, Canvas, Scale, text_width

__all__ = ["tokens_against_recall"]

LINE = 1.25 * FONT  # the height of a line of text


def tokens_against_recall(
    tokens: Mapping[str, ArrayLike],
    recall: Mapping[str, ArrayLike],
    *,
    cut: int = 5,
    width: float = 720,
    name: str = "tokens",
) -> str:
    """Draw each method at its mean tokens a query and its mean recall, with one deviation over seeds.

    Parameters
    ----------
    tokens, recall : mapping of str to float[s]
        Tokens a query, and recall from 0 to 1, of each seed by method. A method that has no tokens here is
        left out.
    cut, width, name
        As in `recall_by_seed`.

    Returns
    -------
    str
        An ``<svg>`` element. A method far below all others is drawn as an arrow at the lower edge.

    Raises
    ------
    InvalidInputError
        No method has both, or a value is not finite.
    """
    width = check_width(width)
    names = [key for key in recall if key in tokens]
    if not names:
        raise InvalidInputError("tokens and recall must share at least one method; they share none")
    x = {key: float(column(f"tokens[{key!r}]", tokens[key]).mean()) for key in names}
    y_all = {key: percent(column(f"recall[{key!r}]", recall[key])) for key in names}
    y = {key: float(array.mean()) for key, array in y_all.items()}
    bars = {key: _bar(array) for key, array in y_all.items()}
    least = robust_low(list(y.values()))
    shown = [key for key in names if y[key] >= least]
    low, high = padded(min(bars[key][0] for key in shown), max(bars[key][1] for key in shown))
    below = [key for key in names if key not in shown]
    narrow = width < NARROW
    left, right, top = 36.0, 14.0, 34.0
    bottom = top + (300.0 if narrow else 330.0)
    most = max(x.values()) or 1.0
    across = Scale(-0.04 * most, 1.08 * most, left, width - right)
    up = Scale(low, high, bottom - (22 if below else 0), top)
    canvas = Canvas(
        name,
        f"Tokens a query against Recall@{cut}",
        "; ".join(f"{key}: {x[key]:.0f} tokens, {y[key]:.1f} %" for key in sorted(names, key=lambda k: x[k])),
        width,
        bottom + 44,
    )
    x_ticks = in_range(0, across.high, 5 if narrow else 9)
    y_ticks = in_range(low, high, 7)
    canvas.x_axis(across, bottom, x_ticks, top=top, title="Prompt and completion tokens a query, mean")
    canvas.y_axis(up, left, y_ticks, right=width - right, digits=tick_digits(y_ticks))
    canvas.line(left, bottom, left, up.start)
    several = any(lower < upper for lower, upper in bars.values())
    canvas.text(0, 12, f"Recall@{cut} (%)" + (", mean and one deviation over seeds" if several else ""))
    look = styles(names)
    taken: list[Box] = []
    places: dict[str, tuple[float, float]] = {}
    for key in names:
        place = (across(x[key]), up(y[key]) if key in shown else bottom - 9)
        places[key] = place
        taken.append(Box(place[0] - 6, place[1] - 6, 12, 12))
        if key in shown and bars[key][0] < bars[key][1]:
            ends = up(bars[key][0]), up(bars[key][1])
            canvas.line(place[0], ends[0], place[0], ends[1], width=1.25, opacity=0.45)
            taken.append(Box(place[0] - 2, ends[1], 4, ends[0] - ends[1]))
    frame = Box(left + 2, top - 8, width - left - 4, bottom - top + 6)
    for key in sorted(names, key=lambda key: (-places[key][0], places[key][1])):
        label = key if key in shown else f"{key} {y[key]:.1f} (below the axis)"
        box, link = _place(label, places[key], taken, frame)
        taken.append(box)
        if link:
            canvas.line(*places[key], *link, width=0.75, opacity=0.6)
        canvas.text(box.x, box.y + LINE / 2 + FONT * 0.34, label)
    for key in names:
        title = f"{key}: {x[key]:.0f} tokens, {y[key]:.1f} %"
        shape = look[key].shape if key in shown else "down"
        canvas.mark(*places[key], shape, color=look[key].color, radius=5.5, title=title)
    return canvas.svg()


def _bar(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the ends of one sample deviation about the mean, within what a recall can be."""
    mean = float(values.mean())
    deviation = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return max(0.0, mean - deviation), min(100.0, mean + deviation)


def _place(
    label: str, point: tuple[float, float], taken: list[Box], frame: Box
) -> tuple[Box, tuple[float, float] | None]:
    """Return the box for a label near `point` with the least overlap, the nearest such, and a leader's end.

    Candidates stand right, left, above and below at growing distance; what lies outside `frame` is
    taken.
    """
    width, height = text_width(label), LINE
    best: tuple[float, Box, float] | None = None
    for step in range(12):
        for down in (0.0, -1.0, 1.0, -0.5, 0.5):
            for side in ("right", "left", "middle"):
                if side == "middle" and abs(down) < 1:
                    continue
                gap = 10.0
                x = {"right": point[0] + gap, "left": point[0] - gap - width, "middle": point[0] - width / 2}[
                    side
                ]
                y = point[1] - height / 2 + down * (14 + 9 * step)
                box = Box(x, y, width, height)
                outside = width * height - box.overlap(frame)
                crossed = sum(box.overlap(other) for other in taken) + outside
                cost = crossed * 100 + abs(down) * (14 + 9 * step) + (3 if side == "left" else 0)
                if best is None or cost < best[0] - 1e-9:
                    best = (cost, box, abs(down) * (14 + 9 * step))
    if best is None:  # there always are candidates
        raise RuntimeError("no place for a label")
    _, box, distance = best
    if distance < 22:
        return box, None
    ends = (box.x - 2, box.y + height / 2), (box.x + width + 2, box.y + height / 2)
    near = min(ends, key=lambda end: float(np.hypot(end[0] - point[0], end[1] - point[1])))
    return box, near
