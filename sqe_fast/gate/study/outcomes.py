"""What a gate is judged by: of each question its signals, and whether either answer to it is right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sqe_fast.errors import InvalidInputError, InvalidTypeError

__all__ = ["AXES", "Floats", "Outcomes"]

Floats = NDArray[np.float64]

AXES = ("questions", "tokens")
"""What a budget counts: questions that are expanded, or the tokens that their expansions cost."""


@dataclass(frozen=True, eq=False, init=False)
class Outcomes:
    """The outcomes of n questions under two ways to answer them: a base, and with expansion.

    Everything about a gate follows from these: it chooses, for each question, one of two known answers.

    Parameters
    ----------
    signals : mapping of str to float[n]
        What gates may look at, by name. NaN: no value; a gate leaves the question for last.
    base_hit, expanded_hit : bool[n]
        Whether a target is among the first k hits of each answer.
    tokens : float[n], optional
        What the expansion of each question costs, 0 or more; ones by default.

    Raises
    ------
    InvalidInputError, InvalidTypeError
        An array has another shape than the rest, or a value that is not allowed.

    Examples
    --------
    >>> outcomes = Outcomes({"top1": [0.4, 0.9]}, [False, True], [True, True])
    >>> outcomes.gain.tolist(), outcomes.recall
    ([1, 0], 0.5)
    """

    signals: Mapping[str, Floats]
    base_hit: NDArray[np.bool_]
    expanded_hit: NDArray[np.bool_]
    tokens: Floats

    def __init__(
        self,
        signals: Mapping[str, ArrayLike],
        base_hit: ArrayLike,
        expanded_hit: ArrayLike,
        tokens: ArrayLike | None = None,
    ) -> None:
        base = _hits("base_hit", base_hit, None)
        n = len(base)
        if not isinstance(signals, Mapping):
            raise InvalidTypeError(f"signals must map names to arrays; got {type(signals).__name__}")
        columns = {name: _floats(f"signals[{name!r}]", values, n) for name, values in signals.items()}
        costs = np.ones(n) if tokens is None else _floats("tokens", tokens, n)
        if not (np.isfinite(costs) & (costs >= 0)).all():
            raise InvalidInputError("tokens must be finite and 0 or more")
        for name, value in (
            ("signals", columns),
            ("base_hit", base),
            ("expanded_hit", _hits("expanded_hit", expanded_hit, n)),
            ("tokens", costs),
        ):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.base_hit)

    @property
    def gain(self) -> NDArray[np.int64]:
        """int64[n]: 1 where expansion helps (a miss becomes a hit), -1 where it hurts, else 0."""
        return self.expanded_hit.astype(np.int64) - self.base_hit.astype(np.int64)

    @property
    def helps(self) -> NDArray[np.bool_]:
        """bool[n]: where expansion turns a miss into a hit."""
        return self.expanded_hit & ~self.base_hit

    @property
    def hurts(self) -> NDArray[np.bool_]:
        """bool[n]: where expansion turns a hit into a miss."""
        return self.base_hit & ~self.expanded_hit

    @property
    def recall(self) -> float:
        """Recall of the base: the share of questions that it answers."""
        return float(self.base_hit.mean()) if len(self) else 0.0

    def signal(self, name: str) -> Floats:
        """Return one signal, float64[n]; an unknown name is refused."""
        if name not in self.signals:
            raise InvalidInputError(
                f"signal must be one of {', '.join(self.signals) or '(none)'}; got {name!r}"
            )
        return self.signals[name]

    def costs(self, axis: str) -> Floats:
        """Return float64[n]: what the expansion of each question takes of a budget of that axis."""
        if axis not in AXES:
            raise InvalidInputError(f"axis must be one of {', '.join(AXES)}; got {axis!r}")
        return np.ones(len(self)) if axis == "questions" else self.tokens

    def take(self, rows: ArrayLike) -> Outcomes:
        """Return the outcomes of some questions, by their places or a mask."""
        at = np.asarray(rows)
        return Outcomes(
            {name: values[at] for name, values in self.signals.items()},
            self.base_hit[at],
            self.expanded_hit[at],
            self.tokens[at],
        )

    @classmethod
    def concat(cls, parts: Sequence[Outcomes]) -> Outcomes:
        """Join outcomes, in order; signals that not all parts hold are left out."""
        if not parts:
            raise InvalidInputError("Outcomes.concat: at least one part is needed")
        names = [name for name in parts[0].signals if all(name in part.signals for part in parts)]
        return cls(
            {name: np.concatenate([part.signals[name] for part in parts]) for name in names},
            np.concatenate([part.base_hit for part in parts]),
            np.concatenate([part.expanded_hit for part in parts]),
            np.concatenate([part.tokens for part in parts]),
        )


def _hits(name: str, values: ArrayLike, n: int | None) -> NDArray[np.bool_]:
    array = np.asarray(values)
    if array.ndim != 1 or (n is not None and len(array) != n):
        wish = "[n]" if n is None else f"[n] = [{n}]"
        raise InvalidInputError(f"{name} must have shape {wish}; got {list(array.shape)}")
    if array.dtype != np.bool_ and len(array):
        raise InvalidTypeError(f"{name} must be of dtype bool; got {array.dtype}")
    return array.astype(np.bool_)


def _floats(name: str, values: ArrayLike, n: int) -> Floats:
    array = np.asarray(values)
    if array.shape != (n,):
        raise InvalidInputError(f"{name} must have shape [n] = [{n}]; got {list(array.shape)}")
    if array.dtype.kind not in "biuf" and n:
        raise InvalidTypeError(f"{name} must hold real numbers; got dtype {array.dtype}")
    return array.astype(np.float64)
