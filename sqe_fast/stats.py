"""Paired tests of one method against another over the same queries.

Random numbers are Philox4x32-10 (counter-based), so a result depends on the values, the seed and the number
of resamples alone: not on the order of the queries, the number of threads or the instruction set level.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sqe_fast import _core
from sqe_fast._checks import check_int, check_threads, describe
from sqe_fast.errors import InvalidInputError, InvalidTypeError

__all__ = ["BootstrapResult", "paired_bootstrap", "sign_flip"]

MAX_ROUNDS = 2**31 - 1
MAX_SEED = 2**64 - 1
SIGN_FLIP_TOLERANCE = 1e-12  # of the sum of magnitudes: more than rounding, less than any real difference


class BootstrapResult(NamedTuple):
    """What `paired_bootstrap` returns.

    Attributes
    ----------
    mean : float
        Mean of the differences.
    low, high : float
        95% interval: the 2.5 and 97.5 percentiles of the resampled means, linearly interpolated.
    p_one_sided : float
        Share of resampled means on the other side of 0 (or at 0). Of a mean of exactly 0 both sides are the
        other side; the larger share is given.
    p_two_sided : float
        Twice the share of the smaller tail (means <= 0 or means >= 0), at most 1.
    """

    mean: float
    low: float
    high: float
    p_one_sided: float
    p_two_sided: float


def paired_bootstrap(
    deltas: ArrayLike, resamples: int = 10_000, seed: int = 0, threads: int | None = None
) -> BootstrapResult:
    """Bootstrap the mean of per-query differences (Efron's percentile interval).

    A resample draws as many rows as there are, with replacement: row ``(u * n) >> 32`` of the sorted
    differences for a random 32-bit number u.

    Parameters
    ----------
    deltas : array of n numbers
        Per query, the metric of one method minus that of the other. Whole numbers from -128 to 127 (hits:
        -1, 0, 1), of any dtype, are summed exactly and by counting, which is many times faster.
    resamples : int
        At least 1.
    seed : int
        From 0 to 2**64 - 1.
    threads : int, optional
        Default: all CPUs this process may run on.

    Returns
    -------
    BootstrapResult

    Raises
    ------
    InvalidInputError, InvalidTypeError
        If `deltas` is empty, not one-dimensional or not finite, or another argument is out of range.

    Examples
    --------
    >>> result = paired_bootstrap([1, 0, 1, 0, 0, -1, 1, 0], resamples=1000)
    >>> result.mean
    0.25
    >>> result.low <= result.mean <= result.high
    True
    """
    rows = _sorted_deltas(deltas)
    resamples = check_int("resamples", resamples, 1, MAX_ROUNDS)
    seed = check_int("seed", seed, 0, MAX_SEED)
    means = _core.bootstrap_sums(rows, resamples, seed, check_threads(threads)) / rows.size
    mean = math.fsum(rows.tolist()) / rows.size
    low, high = np.percentile(means, (2.5, 97.5))
    at_most_0 = int(np.count_nonzero(means <= 0.0)) / resamples
    at_least_0 = int(np.count_nonzero(means >= 0.0)) / resamples
    smaller, larger = sorted((at_most_0, at_least_0))
    one_sided = larger if mean == 0.0 else at_most_0 if mean > 0.0 else at_least_0
    return BootstrapResult(mean, float(low), float(high), one_sided, min(1.0, 2.0 * smaller))


def sign_flip(deltas: ArrayLike, rounds: int = 10_000, seed: int = 0, threads: int | None = None) -> float:
    """Return the two-sided p-value of a sign-flip (paired permutation) test.

    ``p = (count + 1) / (rounds + 1)``, where count is the number of rounds in which the sum of the
    differences with random signs is at least as far from 0 as the sum that was observed.

    Parameters
    ----------
    deltas : array of n numbers
        As in `paired_bootstrap`. Whole numbers from -128 to 127 are compared exactly; for others a sum counts
        as at least as far when it falls short by no more than 1e-12 of the sum of magnitudes, because
        sums that are equal on paper may differ by rounding.
    rounds : int
        At least 1.
    seed, threads
        As in `paired_bootstrap`.

    Returns
    -------
    float

    Raises
    ------
    InvalidInputError, InvalidTypeError
        As `paired_bootstrap`.

    Examples
    --------
    >>> sign_flip([1, -1, 0, 0])
    1.0
    >>> sign_flip([1] * 20) < 0.001
    True
    """
    rows = _sorted_deltas(deltas)
    rounds = check_int("rounds", rounds, 1, MAX_ROUNDS)
    seed = check_int("seed", seed, 0, MAX_SEED)
    threads = check_threads(threads)
    rows = rows[rows != 0]  # whatever their sign, zeros change no sum
    observed = abs(math.fsum(rows.tolist()))
    if rows.dtype == np.int8:
        sizes = np.sort(np.abs(rows.astype(np.int16)).astype(np.uint8))
        count = _core.count_extreme_flips(sizes, int(observed), rounds, seed, threads)
    else:
        magnitudes = np.sort(np.abs(rows.astype(np.float64)))
        limit = observed - SIGN_FLIP_TOLERANCE * math.fsum(magnitudes.tolist())
        count = _core.count_extreme_flips(magnitudes, limit, rounds, seed, threads)
    return (count + 1) / (rounds + 1)


def _sorted_deltas(deltas: ArrayLike) -> NDArray[np.int8] | NDArray[np.float64]:
    """Return `deltas` in ascending order, as int8 where that changes none of them, else as float64."""
    if deltas is None or isinstance(deltas, (str, bytes)):
        raise InvalidTypeError(f"deltas must be an array of numbers; got {describe(deltas)}")
    try:
        array = np.asarray(deltas)
    except ValueError:
        raise InvalidInputError("deltas must have shape [n]; got rows of different lengths") from None
    if array.ndim != 1:
        raise InvalidInputError(f"deltas must have shape [n]; got shape {list(array.shape)}")
    if not 1 <= array.size < 2**31:
        raise InvalidInputError(f"deltas must hold from 1 to 2**31 - 1 numbers; got {array.size}")
    if array.dtype.kind not in "biuf":
        raise InvalidTypeError(f"deltas must hold real numbers; got dtype {array.dtype}")
    if array.dtype.kind == "b" or array.dtype == np.int8:
        return np.sort(array.astype(np.int8))
    values = np.sort(array.astype(np.float64))
    if not np.isfinite(values).all():
        raise InvalidInputError(f"deltas must be finite; got {values[~np.isfinite(values)][0]}")
    low, high = float(values[0]), float(values[-1])
    if not math.isfinite(max(-low, high) * values.size):
        raise InvalidInputError(
            f"deltas must have a sum within float64; got numbers from {low:g} to {high:g}"
        )
    if low >= -128 and high <= 127 and bool((values == np.rint(values)).all()):
        return values.astype(np.int8)
    return values
