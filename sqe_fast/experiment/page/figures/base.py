"""What the figures share: checks of their arrays, and the range of an axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sqe_fast._checks import check_number
from sqe_fast.errors import InvalidInputError
from sqe_fast.experiment.page.svg import ticks

__all__ = ["NARROW", "column", "columns", "in_range", "padded", "percent", "robust_low", "tick_digits"]

NARROW = 480  # pixels; below, a figure is laid out for a telephone
# One value below the rest by more than this many times their range (at least 5 points) is drawn at the edge.
OUTLIER, LEAST_RANGE = 2.0, 5.0


def column(name: str, values: ArrayLike, size: int | None = None) -> NDArray[np.float64]:
    """Return `values` as float64[size], all finite."""
    array = np.asarray(values, np.float64)
    if array.ndim != 1 or not array.size or (size is not None and len(array) != size):
        wish = "at least one value" if size is None else f"{size} values"
        raise InvalidInputError(f"{name} must have {wish} in one dimension; got shape {array.shape}")
    if not np.isfinite(array).all():
        raise InvalidInputError(f"{name} must be finite; got {array[~np.isfinite(array)][0]}")
    return array


def columns(name: str, values: Mapping[str, ArrayLike], size: int) -> dict[str, NDArray[np.float64]]:
    """Return each of `values` as float64[size], all finite; at least one."""
    if not values:
        raise InvalidInputError(f"{name} must hold at least one series; got none")
    return {key: column(f"{name}[{key!r}]", array, size) for key, array in values.items()}


def percent(values: ArrayLike) -> NDArray[np.float64]:
    """Return shares as percent."""
    return np.asarray(values, np.float64) * 100


def robust_low(values: Sequence[float]) -> float:
    """Return the least of `values` that an axis should show: one far below all others stays off the scale.

    Examples
    --------
    >>> robust_low([30.2, 63.5, 68.5, 69.4])
    63.5
    >>> robust_low([60.0, 63.5, 68.5])
    60.0
    """
    order = sorted(values)
    if len(order) > 2 and order[1] - order[0] > OUTLIER * max(order[-1] - order[1], LEAST_RANGE):
        return order[1]
    return order[0]


def padded(low: float, high: float, share: float = 0.06, least: float = 0.5) -> tuple[float, float]:
    """Return the range widened at both ends, and never narrower than 2 * `least`."""
    pad = max((high - low) * share, least - (high - low) / 2, 1e-9)
    return low - pad, high + pad


def in_range(low: float, high: float, count: int) -> list[float]:
    """Return the ticks of an axis of percent."""
    return [value for value in ticks(low, high, count) if low <= value <= high]


def tick_digits(values: Sequence[float]) -> int:
    """Return how many digits after the point the labels of `values` need."""
    return next((d for d in range(4) if all(abs(v - round(v, d)) < 1e-9 for v in values)), 4)


def check_width(width: float) -> float:
    """Return `width` in pixels: from 320 to 2,000."""
    return check_number("width", width, 320, 2000)
