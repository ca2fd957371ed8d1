"""A model of what expansion gains on a question: kept as JSON, used with numpy alone.

What is predicted is the gain, +1 where the expansion finds the answer and the question alone does not, -1 the
other way round, else 0. That is not the difficulty: a question may be too hard for the expansion too.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from sqe_fast._checks import check_choice
from sqe_fast.errors import InvalidInputError, RecordError
from sqe_fast.gate.signals import SIGNALS

__all__ = ["FORMS", "KNOTS", "SCALES", "GainModel", "Values", "check_names", "floats", "scaled", "scales_of"]

FORMAT = "sqe_fast gain model 1"
FORMS = ("ridge", "logistic")
SCALES = ("ranks", "standard")
KNOTS = 33

Values = Mapping[str, NDArray[np.float32]]
Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Scale:
    """A monotone map of one signal, linear between its knots and constant outside: what makes signals alike.

    Attributes
    ----------
    values, to : tuple of float
        Knots, ascending, and where they go.
    """

    values: tuple[float, ...]
    to: tuple[float, ...]

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in zip(self.values, self.values[1:], strict=False))
        finite = all(map(math.isfinite, (*self.values, *self.to)))
        if len(self.values) != len(self.to) or not self.values or not rising or not finite:
            raise InvalidInputError("Scale: values must be finite and ascending, with one place in `to` each")

    @classmethod
    def ranks(cls, values: Doubles, knots: int = KNOTS) -> Self:
        """Map a sample to its ranks, of mean 0 and variance 1; equal values to their middle rank."""
        finite = values[np.isfinite(values)]
        if not len(finite):
            return cls((0.0,), (0.0,))
        places = np.linspace(0, 1, knots)
        distinct, which = np.unique(np.quantile(finite, places), return_inverse=True)
        middle = np.bincount(which, places) / np.bincount(which)
        return cls(floats(distinct), floats((middle - 0.5) * math.sqrt(12)))

    @classmethod
    def standard(cls, values: Doubles) -> Self:
        """Map a sample to mean 0 and variance 1; what lies outside it counts as its nearest value."""
        finite = values[np.isfinite(values)]
        if not len(finite) or finite.min() == finite.max():
            return cls((float(finite[0]) if len(finite) else 0.0,), (0.0,))
        ends = np.array([finite.min(), finite.max()])
        return cls(floats(ends), floats((ends - finite.mean()) / finite.std()))

    def __call__(self, values: NDArray[Any]) -> Doubles:
        """Return float64[n]."""
        doubles = np.asarray(values, np.float64)
        if np.isnan(doubles).any():
            raise InvalidInputError("signals must not hold NaN")
        mapped: Doubles = np.interp(doubles, self.values, self.to)
        return mapped


@dataclass(frozen=True)
class GainModel:
    """Predicts from signals what expanding a question gains; made by `sqe_fast.gate.learned.fit_gain`.

    With z the scaled signals, the prediction is ``b + w z`` (ridge), or the mean of `gains` under
    ``softmax(b + w z)`` (logistic).

    Attributes
    ----------
    names : tuple of str
        The signals, of `SIGNALS`.
    form, scale : str
        Of `FORMS` and of `SCALES`.
    scales : tuple of Scale
        Of each signal.
    weights : tuple of tuple of float
        [outputs, signals]; ridge has one output.
    offsets : tuple of float
        Of each output.
    gains : tuple of float
        The gain that each output of a logistic model stands for; of ridge (1.0,).
    """

    names: tuple[str, ...]
    form: Literal["ridge", "logistic"]
    scale: Literal["ranks", "standard"]
    scales: tuple[Scale, ...]
    weights: tuple[tuple[float, ...], ...]
    offsets: tuple[float, ...]
    gains: tuple[float, ...]

    def __post_init__(self) -> None:
        check_names(self.names)
        check_choice("form", self.form, FORMS)
        check_choice("scale", self.scale, SCALES)
        numbers = [*self.offsets, *self.gains, *(weight for row in self.weights for weight in row)]
        shapes = {len(self.weights), len(self.offsets), len(self.gains)}
        fits = all(len(row) == len(self.names) for row in self.weights) and len(self.scales) == len(
            self.names
        )
        if len(shapes) != 1 or not fits or not self.weights or not all(map(math.isfinite, numbers)):
            raise InvalidInputError("GainModel: weights, offsets, gains and scales must fit, and be finite")
        if self.form == "ridge" and len(self.weights) != 1:
            raise InvalidInputError("GainModel: ridge has one output")

    @cached_property
    def _arrays(self) -> tuple[Doubles, Doubles, Doubles]:
        return np.array(self.weights), np.array(self.offsets), np.array(self.gains)

    def predict(self, signals: Values) -> Doubles:
        """Return float64[n]: the gain expected of each question, finite.

        Parameters
        ----------
        signals : mapping of str to float32[n]
            At least those of `names`.
        """
        weights, offsets, gains = self._arrays
        z = scaled(signals, self.names, self.scales)
        # Summed signal by signal, not by BLAS: a question's gain is the same in any batch.
        outputs = offsets + sum(z[:, j, None] * weights[:, j] for j in range(len(self.names)))
        if self.form == "ridge":
            return outputs[:, 0]
        odds = np.exp(outputs - outputs.max(1, keepdims=True))
        predicted: Doubles = (odds * gains).sum(1) / odds.sum(1)
        return predicted

    def adapted(self, signals: Values) -> GainModel:
        """Return this model with its scales taken from other questions: no answers to them are needed.

        For another encoder or store, whose scores lie elsewhere: with "ranks", a signal then counts by where
        it stands among these questions.
        """
        return replace(self, scales=scales_of(signals, self.names, self.scale))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as JSON, in one step; there is no code in it for `load` to run."""
        target = Path(path)
        beside = target.with_name(f"{target.name}.{os.getpid()}.tmp")
        beside.write_text(json.dumps(self.record, indent=1) + "\n", encoding="utf-8")
        beside.replace(target)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> GainModel:
        """Read a model that `save` wrote: it predicts the same bits.

        Raises
        ------
        RecordError
            The file is none, or another version's; the message names it.
        """
        try:
            return cls.of_record(json.loads(Path(path).read_text(encoding="utf-8")))
        except OSError as error:
            raise RecordError(f"{os.fspath(path)}: cannot be read: {error.strerror}") from error
        except RecordError as error:
            raise RecordError(f"{os.fspath(path)}: {error}") from error
        except ValueError as error:
            raise RecordError(f"{os.fspath(path)}: not a gain model: {error}") from error

    @property
    def record(self) -> dict[str, Any]:
        """The model as plain values that JSON can hold."""
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def of_record(cls, record: Any) -> GainModel:
        """Return the model of a `record`; `RecordError` where it is none."""
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            raise RecordError(f"not a {FORMAT!r}")
        held = {name: value for name, value in record.items() if name != "format"}
        try:
            held["scales"] = tuple(Scale(floats(s["values"]), floats(s["to"])) for s in held["scales"])
            held["weights"] = tuple(floats(row) for row in held["weights"])
            held |= {"offsets": floats(held["offsets"]), "gains": floats(held["gains"])}
            return cls(**held | {"names": tuple(held["names"])})
        except KeyError as error:
            raise RecordError(f"not a gain model: it lacks {error}") from error
        except (TypeError, ValueError, OverflowError) as error:
            raise RecordError(f"not a gain model: {error}") from error


def check_names(names: Sequence[str]) -> None:
    """Refuse names that are no signals, and none at all."""
    for name in names:
        check_choice("names", name, tuple(SIGNALS))
    if not names or len(set(names)) < len(names):
        raise InvalidInputError("names must hold at least one signal, and none twice")


def _column(signals: Values, name: str) -> Doubles:
    if name not in signals:
        raise InvalidInputError(f"signals lack {name!r}")
    return np.asarray(signals[name], np.float64)


def scales_of(signals: Values, names: Sequence[str], scale: str, knots: int = KNOTS) -> tuple[Scale, ...]:
    """Return the scale of each named signal, taken from a sample."""
    columns = [_column(signals, name) for name in names]
    return tuple(Scale.ranks(c, knots) if scale == "ranks" else Scale.standard(c) for c in columns)


def scaled(signals: Values, names: Sequence[str], scales: Sequence[Scale]) -> Doubles:
    """Return float64[n, signals]."""
    columns = [scale(_column(signals, name)) for name, scale in zip(names, scales, strict=True)]
    if len({len(column) for column in columns}) > 1:
        raise InvalidInputError("signals must be of one length")
    return np.stack(columns, axis=1)


def floats(values: Any) -> tuple[float, ...]:
    """Return numbers as Python's own."""
    return tuple(float(value) for value in values)
