"""Figure 2 of the paper: the recall of each seed, and its mean, for each method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sqe_fast.experiment.page.figures.base import (
    NARROW,
    check_width,
    columns,
    in_range,
    padded,
    percent,
    robust_low,
    tick_digits,
)
from sqe_fast.experiment.page.styles import styles
from sqe_fast.experiment.page.svg import Canvas, Scale, text_width

__all__ = ["recall_by_seed"]

OFF_SCALE = 24.0  # pixels left of the scale, for methods below it


def recall_by_seed(
    recall: Mapping[str, ArrayLike],
    seeds: Sequence[int],
    *,
    cut: int = 5,
    width: float = 720,
    name: str = "recall",
) -> str:
    """Draw one row a method: a mark for each seed, the mean as a bar, and mean and deviation as text.

    Parameters
    ----------
    recall : mapping of str to float[s]
        Recall of each seed by method, from 0 to 1; drawn from the highest mean to the lowest.
    seeds : sequence of int
        The s seeds, from the top of a row to its bottom.
    cut : int
        The k of Recall@k, for the axis.
    width : float
        Pixels; below 480 the names stand above their rows.
    name : str
        Prefix of the ids.

    Returns
    -------
    str
        An ``<svg>`` element. The deviation is the sample's (n-1), absent for one seed.

    Raises
    ------
    InvalidInputError
        A value is missing or not finite.
    """
    width = check_width(width)
    values = {key: percent(array) for key, array in columns("recall", recall, len(seeds)).items()}
    means = {key: float(array.mean()) for key, array in values.items()}
    order = sorted(values, key=lambda key: (-means[key], key))
    low_mean = robust_low(list(means.values()))
    shown = [key for key in order if means[key] >= low_mean]
    low, high = padded(
        min(float(values[key].min()) for key in shown), max(float(values[key].max()) for key in shown)
    )
    narrow = width < NARROW
    left = 8.0 if narrow else max(text_width(key) for key in order) + 14
    right = 12.0 if narrow else 92.0
    row = max(20.0, 3.0 * len(seeds) + 6)
    step = row + (28 if narrow else 8)
    off = 0.0 if len(shown) == len(order) else OFF_SCALE
    top = 8.0
    bottom = top + step * len(order)
    scale = Scale(low, high, left + off + 6, width - right)
    canvas = Canvas(
        name,
        f"Recall@{cut} of each seed, with means",
        "; ".join(f"{key} {_summary(values[key])}" for key in order) + f". Seeds {_listed(seeds)}.",
        width,
        bottom + 44,
    )
    tick_values = in_range(low, high, 6 if narrow else 9)
    canvas.x_axis(
        scale, bottom, tick_values, top=top, title=f"Recall@{cut} (%)", digits=tick_digits(tick_values)
    )
    look = styles(order)
    for place, key in enumerate(order):
        start = top + step * place + (22 if narrow else 0)
        middle = start + row / 2 + 2
        if narrow:
            canvas.text(left, start - 8, key)
            canvas.text(width - right, start - 8, _summary(values[key]), anchor="end")
        else:
            canvas.text(left - 14, middle + 4, key, anchor="end")
            canvas.text(width, middle + 4, _summary(values[key]), anchor="end")
        if key not in shown:
            canvas.mark(left + off / 2, middle, "left", color=look[key].color, title=f"{key}: below the axis")
            canvas.text(left + off + 6, middle + 4, "all seeds below the axis", muted=True)
            continue
        mean, deviation = means[key], _deviation(values[key])
        if deviation:
            ends = scale(max(low, mean - deviation)), scale(min(high, mean + deviation))
            canvas.line(ends[0], middle, ends[1], middle, width=6, opacity=0.16)
        gap = (row - 6) / max(len(seeds) - 1, 1)
        for i, seed in enumerate(seeds):
            y = middle if len(seeds) == 1 else start + 5 + gap * i
            canvas.mark(
                scale(values[key][i]),
                y,
                look[key].shape,
                color=look[key].color,
                radius=3.2 if len(seeds) > 1 else 5.0,
                outline=0.6,
                title=f"{key}, seed {seed}: {values[key][i]:.1f} %",
            )
        if len(seeds) > 1:  # of one, the line would hide the mark
            canvas.line(scale(mean), start, scale(mean), start + row + 4, width=2.5)
    return canvas.svg()


def _deviation(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def _summary(values: NDArray[np.float64]) -> str:
    mean = f"{values.mean():.1f}"
    return f"{mean} ± {_deviation(values):.1f}" if len(values) > 1 else mean


def _listed(seeds: Sequence[int]) -> str:
    return ", ".join(map(str, seeds))
