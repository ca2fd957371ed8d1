"""Conversion of array arguments to what the kernels take; every message names the argument."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sqe_fast._checks import describe
from sqe_fast.errors import InvalidInputError, InvalidTypeError

__all__ = ["as_floats", "as_int32"]

INT32 = np.iinfo(np.int32)


def _as_array(name: str, value: ArrayLike, axes: str) -> NDArray[np.generic]:
    """Return `value` as an array whose axes are those of `axes`, such as "n, lists, depth"."""
    wanted = axes.count(",") + 1
    if value is None or isinstance(value, (str, bytes)):
        raise InvalidTypeError(f"{name} must be an array of shape [{axes}]; got {describe(value)}")
    try:
        array = np.asarray(value)
    except ValueError:
        hint = ": pad them (ids with -1), or pad and give `lengths`" if axes.endswith("depth") else ""
        raise InvalidInputError(
            f"{name} must be a regular array of shape [{axes}]; got rows of different lengths{hint}"
        ) from None
    if array.size == 0 and array.ndim < wanted and not isinstance(value, np.ndarray):
        array = array.reshape(array.shape + (0,) * (wanted - array.ndim))  # [] or [[]] for an empty batch
    if array.ndim != wanted:
        raise InvalidInputError(f"{name} must have shape [{axes}]; got shape {list(array.shape)}")
    if array.size == 0 and not isinstance(value, np.ndarray):
        array = array.astype(np.int8)  # a list without numbers has no dtype of its own
    return array


def as_int32(name: str, value: ArrayLike, axes: str) -> NDArray[np.int32]:
    """Return `value` as a contiguous int32 array; wider integers are accepted where they fit."""
    array = _as_array(name, value, axes)
    if array.dtype == np.int32:
        return np.ascontiguousarray(array, np.int32)
    if array.dtype.kind not in "iu":
        raise InvalidTypeError(f"{name} must hold integers; got dtype {array.dtype}")
    if array.size and array.dtype.itemsize >= 4:
        low, high = int(array.min()), int(array.max())
        if low < INT32.min or high > INT32.max:
            wrong = low if low < INT32.min else high
            raise InvalidInputError(f"{name} must fit int32 (at most {INT32.max}); got {wrong}")
    return np.ascontiguousarray(array, np.int32)


def as_floats(name: str, value: ArrayLike, axes: str) -> NDArray[np.float32]:
    """Return `value` as a contiguous float32 array; other real numbers are rounded to float32."""
    array = _as_array(name, value, axes)
    if array.dtype.kind not in "iuf":
        raise InvalidTypeError(f"{name} must hold real numbers; got dtype {array.dtype}")
    with np.errstate(over="ignore"):  # becomes inf, which the kernels refuse where it counts
        return np.ascontiguousarray(array, np.float32)
