"""Figure 5 of the paper: what an oracle gate would find, and how often expansion helps and harms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sqe_fast.experiment.page.figures.base import (
    NARROW,
    check_width,
    column,
    in_range,
    padded,
    percent,
    tick_digits,
)
from sqe_fast.experiment.page.styles import BLUE, VERMILLION, styles
from sqe_fast.experiment.page.svg import Box, Canvas, Scale, text_width

__all__ = ["oracle_headroom"]


def oracle_headroom(
    seeds: Sequence[int],
    dense: ArrayLike,
    always: ArrayLike,
    oracle: ArrayLike,
    helpful: ArrayLike,
    harmful: ArrayLike,
    *,
    cut: int = 5,
    width: float = 720,
    name: str = "headroom",
) -> str:
    """Draw, for each seed and the mean, recall of dense, always and oracle beside helpful and harmful shares.

    Parameters
    ----------
    seeds : sequence of int
        s of them.
    dense, always, oracle : float[s]
        Recall from 0 to 1 of no expansion, of every, and of those that help.
    helpful, harmful : float[s]
        Share of questions that only expansion finds, and that only the plain question finds.
    cut, width, name
        As in `recall_by_seed`; a narrow figure has its two panels one below the other.

    Returns
    -------
    str
        An ``<svg>`` element.

    Raises
    ------
    InvalidInputError
        A value is missing or not finite.
    """
    width = check_width(width)
    n = len(seeds)
    recall = {
        "Dense-Only": percent(column("dense", dense, n)),
        "Always-Expand": percent(column("always", always, n)),
        "Oracle": percent(column("oracle", oracle, n)),
    }
    shares = {
        "harmful": percent(column("harmful", harmful, n)),
        "helpful": percent(column("helpful", helpful, n)),
    }
    narrow = width < NARROW
    left, row, top = 62.0, 24.0, 52.0
    rows = [f"Seed {seed}" for seed in seeds] + ["Mean"]
    height = row * len(rows) + 10
    split = width if narrow else left + (width - left) * 0.56
    low, high = padded(
        min(float(array.min()) for array in recall.values()),
        max(float(array.max()) for array in recall.values()),
    )
    first = Scale(low, high, left, split - 16)
    second_left = left if narrow else split + 18
    second_top = top + height + 44 + 42 if narrow else top
    most = max(float(array.max()) for array in shares.values()) or 1.0
    room = text_width("00.0") + 10
    span = most * (width - second_left) / max(width - second_left - 2 * room, 1)
    second = Scale(-span, span, second_left, width - 8)
    canvas = Canvas(
        name,
        "Headroom of an oracle gate",
        "; ".join(f"{key} {array.mean():.1f} %" for key, array in recall.items())
        + f". Expansion helps {shares['helpful'].mean():.1f} % of the questions and harms "
        f"{shares['harmful'].mean():.1f} %. Means over seeds.",
        width,
        second_top + height + 44,
    )
    values = in_range(low, high, 5)
    canvas.x_axis(first, top + height, values, top=top, title=f"Recall@{cut} (%)", digits=tick_digits(values))
    _recall_panel(canvas, rows, recall, first, top=top, row=row, left=left)
    _legend(canvas, list(recall), left, top - 38, split)
    values = in_range(0, most, 2)
    ends = sorted({-value for value in values} | set(values))
    base = second_top + height
    digits = tick_digits(ends)
    for value in ends:
        canvas.text(second(value), base + 16, f"{abs(value):.{digits}f}", anchor="middle")
    canvas.line(second.start, base, second.stop, base)
    canvas.text((second.start + second.stop) / 2, base + 35, "Questions (%)", anchor="middle")
    _share_panel(canvas, rows, shares, second, top=second_top, row=row, left=left if narrow else 0.0)
    return canvas.svg()


def _recall_panel(
    canvas: Canvas,
    rows: list[str],
    recall: Mapping[str, NDArray[np.float64]],
    scale: Scale,
    *,
    top: float,
    row: float,
    left: float,
) -> None:
    look = styles(recall)
    for place, label in enumerate(rows):
        y = top + row * place + row / 2 + (6 if label == "Mean" else 0)
        canvas.text(left - 10, y + 4, label, anchor="end", bold=label == "Mean")
        here = {key: _value(array, place, label) for key, array in recall.items()}
        canvas.line(
            scale(min(here.values())),
            y,
            scale(max(here.values())),
            y,
            width=2 if label == "Mean" else 1,
            opacity=0.4,
        )
        # Dense and always often fall together: then one stands above the line, the other below it.
        close = abs(scale(here["Dense-Only"]) - scale(here["Always-Expand"])) < 8
        shift = {"Dense-Only": -4.5, "Always-Expand": 4.5} if close else {}
        for key, value in here.items():
            canvas.mark(
                scale(value),
                y + shift.get(key, 0),
                look[key].shape,
                color=look[key].color,
                radius=5.5 if label == "Mean" else 4.5,
                title=f"{label}, {key}: {value:.1f} %",
            )
        if label == "Mean":
            canvas.line(scale.start, y - row / 2 - 2, scale.stop, y - row / 2 - 2, width=0.75, opacity=0.4)


def _share_panel(
    canvas: Canvas,
    rows: list[str],
    shares: Mapping[str, NDArray[np.float64]],
    scale: Scale,
    *,
    top: float,
    row: float,
    left: float,
) -> None:
    middle = scale(0)
    canvas.text(middle - 8, top - 12, "harmed", anchor="end")
    canvas.text(middle + 8, top - 12, "helped")
    for place, label in enumerate(rows):
        y = top + row * place + row / 2 + (6 if label == "Mean" else 0)
        if left:
            canvas.text(left - 10, y + 4, label, anchor="end", bold=label == "Mean")
        for key, sign, color in (("harmful", -1, VERMILLION), ("helpful", 1, BLUE)):
            value = _value(shares[key], place, label)
            end = scale(sign * value)
            canvas.rect(
                Box(min(middle, end), y - row / 2 + 4, abs(end - middle), row - 8), color=color, outline=True
            )
            canvas.text(
                end + sign * 5,
                y + 4,
                f"{value:.1f}",
                anchor="start" if sign > 0 else "end",
                bold=label == "Mean",
            )
    canvas.line(middle, top, middle, top + row * len(rows) + 10)


def _value(array: NDArray[np.float64], place: int, label: str) -> float:
    return float(array.mean() if label == "Mean" else array[place])


def _legend(canvas: Canvas, names: list[str], x: float, y: float, stop: float) -> None:
    """Write the marks with their names; on two lines where one is too short."""
    look = styles(names)
    start = x
    for key in names:
        wide = 16 + text_width(key) + 12
        if x + wide > stop + 12:
            x, y = start, y + 18
        canvas.mark(x + 5, y - 4, look[key].shape, color=look[key].color)
        canvas.text(x + 16, y, key)
        x += wide
