"""Figure 4 of the paper: recall of every threshold of the gate, and the share of questions it expands."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sqe_fast.errors import InvalidInputError
from sqe_fast.experiment.page.figures.base import (
    NARROW,
    check_width,
    column,
    in_range,
    padded,
    percent,
    tick_digits,
)
from sqe_fast.experiment.page.styles import BLUE, styles
from sqe_fast.experiment.page.svg import Canvas, Scale, spread, text_width

__all__ = ["threshold_sweep"]


def threshold_sweep(
    thresholds: ArrayLike,
    recall: ArrayLike,
    share: ArrayLike,
    *,
    dense: float,
    always: float,
    error: ArrayLike | None = None,
    chosen: float | None = 0.65,
    cut: int = 5,
    width: float = 720,
    name: str = "sweep",
) -> str:
    """Draw the recall of a gate at each threshold above the share of questions that it expands.

    Two panels with one x axis, rather than two y axes in one panel.

    Parameters
    ----------
    thresholds : float[t]
        Rising; a question is expanded where its best dense score is below.
    recall, share : float[t]
        Recall of the gated method, and the share expanded, from 0 to 1.
    dense, always : float
        Recall of no and of every expansion, drawn as reference lines.
    error : float[t], optional
        Half the height of the band about the line, such as a standard error.
    chosen : float, optional
        A threshold to mark.
    cut, width, name
        As in `recall_by_seed`.

    Returns
    -------
    str
        An ``<svg>`` element.

    Raises
    ------
    InvalidInputError
        Arrays differ in length, or thresholds do not rise.
    """
    width = check_width(width)
    t = column("thresholds", thresholds)
    if len(t) < 2 or not (np.diff(t) > 0).all():
        raise InvalidInputError("thresholds must be at least two and rise")
    found, rate = percent(column("recall", recall, len(t))), percent(column("share", share, len(t)))
    band = percent(column("error", error, len(t))) if error is not None else np.zeros(len(t))
    lines = {"Dense-Only": dense * 100, "Always-Expand": always * 100}
    low, high = padded(
        min(*lines.values(), float((found - band).min())),
        max(*lines.values(), float((found + band).max())),
        share=0.08,
    )
    narrow = width < NARROW
    left, top = 40.0, 34.0
    right = 14.0 if narrow else max(text_width(f"{key} 00.0") for key in lines) + 12
    middle = top + (190.0 if narrow else 220.0)
    second = middle + 44
    bottom = second + (90.0 if narrow else 110.0)
    pad = (t[-1] - t[0]) * 0.02
    across = Scale(float(t[0] - pad), float(t[-1] + pad), left, width - right)
    up, share_up = Scale(low, high, middle, top), Scale(0, 100, bottom, second)
    best = int(np.argmax(found))
    canvas = Canvas(
        name,
        f"Recall@{cut} and expansion share by threshold",
        f"Highest recall {found[best]:.1f} % at threshold {t[best]:.2f}, where {rate[best]:.0f} % are "
        "expanded. " + "; ".join(f"{key} {value:.1f} %" for key, value in lines.items()) + ".",
        width,
        bottom + 44,
    )
    y_ticks = in_range(low, high, 6)
    x_ticks = in_range(across.low, across.high, 5 if narrow else 8)
    canvas.text(0, 12, f"Recall@{cut} (%)")
    canvas.y_axis(up, left, y_ticks, right=width - right, digits=tick_digits(y_ticks))
    canvas.text(0, second - 16, "Expanded (%)")
    canvas.y_axis(share_up, left, [0, 50, 100], right=width - right)
    for value in x_ticks:
        canvas.line(across(value), top, across(value), middle, width=0.75, opacity=0.18)
    canvas.line(across.start, middle, across.stop, middle)
    canvas.x_axis(across, bottom, x_ticks, top=second, title="Threshold of the best dense score", digits=2)
    if chosen is not None and across.low <= chosen <= across.high:
        for start, stop in ((top, middle), (second, bottom)):
            canvas.line(across(chosen), start, across(chosen), stop, dash="1 3", width=1.5)
    look = styles(lines)
    _references(canvas, lines, up, across, narrow=narrow, width=width)
    x = [across(value) for value in t]
    if band.any():
        edge = [(a, up(b)) for a, b in zip(x, found + band, strict=True)]
        edge += [(a, up(b)) for a, b in zip(reversed(x), (found - band)[::-1], strict=True)]
        canvas.area(edge, color=BLUE, opacity=0.16)
    for key, value in lines.items():
        canvas.line(
            across.start,
            up(value),
            across.stop,
            up(value),
            color=look[key].color,
            dash=look[key].dash,
            width=1.5,
        )
    for values, scale, what in ((found, up, f"Recall@{cut}"), (rate, share_up, "expanded")):
        canvas.path([(a, scale(float(b))) for a, b in zip(x, values, strict=True)], color=BLUE)
        for a, b, threshold in zip(x, values, t, strict=True):
            is_chosen = chosen is not None and abs(threshold - chosen) < 1e-9
            canvas.mark(
                a,
                scale(float(b)),
                "circle",
                color=BLUE,
                radius=5.5 if is_chosen else 3.2,
                outline=1.5 if is_chosen else 0.6,
                title=f"threshold {threshold:.2f}: {b:.1f} % {what}",
            )
    return canvas.svg()


def _references(
    canvas: Canvas, lines: dict[str, float], up: Scale, across: Scale, *, narrow: bool, width: float
) -> None:
    """Name the two reference lines: at their right ends, or in a narrow figure in the line of the title."""
    if not narrow:
        places = spread([up(value) for value in lines.values()], 15, up.stop, up.start)
        for (key, value), y in zip(lines.items(), places, strict=True):
            canvas.line(across.stop, up(value), across.stop + 7, y, width=0.75, opacity=0.6)
            canvas.text(across.stop + 9, y + 4, f"{key} {value:.1f}")
        return
    x, look = width, styles(lines)
    for key in reversed(list(lines)):
        label = key.removesuffix("-Only").removesuffix("-Expand")
        x -= text_width(label)
        canvas.text(x, 12, label)
        x -= 26
        canvas.line(x, 8, x + 22, 8, color=look[key].color, dash=look[key].dash, width=1.5)
        x -= 12
