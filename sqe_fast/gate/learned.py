"""Models of what expansion gains, fitted by scikit-learn to questions whose gain is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from sqe_fast._checks import check_choice, check_int, check_number, check_texts
from sqe_fast._extras import require
from sqe_fast.errors import InvalidInputError
from sqe_fast.gate.gain import (
    FORMS,
    KNOTS,
    SCALES,
    GainModel,
    Values,
    check_names,
    floats,
    scaled,
    scales_of,
)

__all__ = ["fit_gain"]


def fit_gain(
    signals: Values,
    gain: ArrayLike,
    names: Sequence[str] | None = None,
    *,
    form: Literal["ridge", "logistic"] = "ridge",
    scale: Literal["ranks", "standard"] = "ranks",
    penalty: float = 10.0,
    knots: int = KNOTS,
) -> GainModel:
    """Fit a `GainModel` to questions whose gain is known.

    Parameters
    ----------
    signals : mapping of str to float32[n]
        Of n questions.
    gain : int[n]
        Hit with the expansion less hit without: +1, 0 or -1. For ridge any finite numbers.
    names : sequence of str, optional
        Which signals to look at; by default all that are given.
    form : {"ridge", "logistic"}
        Linear regression on the gain, or multinomial logistic regression on its three values. Both with an
        L2 penalty: a few hundred questions carry no more.
    scale : {"ranks", "standard"}
        How signals are made alike: by their ranks among these questions, which outliers and scores' own
        scales do not move, or by mean and deviation.
    penalty : float
        Weight of the squared weights against the sum of losses; more is more cautious.
    knots : int
        Quantiles that ranks are kept by.

    Raises
    ------
    MissingExtraError
        scikit-learn is not installed (extra `learn`); a fitted model does without it.
    InvalidInputError
        Lengths differ, a value is not finite, or all gains are equal.

    Examples
    --------
    >>> spread = np.linspace(0, 1, 100, dtype=np.float32)
    >>> model = fit_gain({"spread": spread}, (spread < 0.3).astype(int))  # doctest: +SKIP
    >>> model.predict({"spread": np.array([0.1, 0.9], np.float32)}) > 0.3  # doctest: +SKIP
    array([ True, False])
    """
    chosen = tuple(signals) if names is None else tuple(check_texts("names", names))
    check_names(chosen)
    check_choice("form", form, FORMS)
    check_choice("scale", scale, SCALES)
    check_number("penalty", penalty, 1e-9)
    check_int("knots", knots, 2, 2**16)
    wanted = np.asarray(gain, np.float64)
    if wanted.ndim != 1 or not np.isfinite(wanted).all():
        raise InvalidInputError(f"gain must be finite numbers of shape [n]; got shape {list(wanted.shape)}")
    values, which = np.unique(wanted, return_inverse=True)
    if len(values) < 2:
        raise InvalidInputError(
            "gain must hold at least two different values: else there is nothing to learn"
        )
    scales = scales_of(signals, chosen, scale, knots)
    z = scaled(signals, chosen, scales)
    if len(z) != len(wanted):
        raise InvalidInputError(f"gain must have one value a question, {len(z)}; got {len(wanted)}")
    rows: Any
    offsets: Any
    gains: Any
    linear = require("sklearn.linear_model", "learn", "fitting a gain model")
    if form == "ridge":
        fitted = linear.Ridge(alpha=penalty).fit(z, wanted)
        rows, offsets, gains = fitted.coef_[None], [float(fitted.intercept_)], [1.0]
    else:
        if not set(values) <= {-1.0, 0.0, 1.0}:
            raise InvalidInputError("gain must be -1, 0 or 1 for form='logistic'")
        fitted = linear.LogisticRegression(C=1 / penalty, max_iter=10_000).fit(z, which)
        rows, offsets, gains = fitted.coef_, fitted.intercept_, values
        if len(values) == 2:  # scikit-learn keeps one row: the odds of the second against the first
            rows, offsets = np.vstack([0 * rows, rows]), [0.0, *offsets]
    weights = tuple(floats(row) for row in rows)
    return GainModel(chosen, form, scale, scales, weights, floats(offsets), floats(gains))
