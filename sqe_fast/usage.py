"""What generation costs: calls and tokens of each query, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqe_fast.errors import InvalidInputError

__all__ = ["Usage"]

_FIELDS = ("calls", "prompt_tokens", "cached_tokens", "completion_tokens")


@dataclass(frozen=True, eq=False)
class Usage:
    """Calls and tokens of n queries; `+` adds them query by query.

    Attributes
    ----------
    calls : int64[n]
        Requests sent to the model. n samples of one prompt are one request; an answer out of a cache is none.
    prompt_tokens : int64[n]
        Tokens of the prompts, once for each request, those of `cached_tokens` included.
    cached_tokens : int64[n]
        The part of `prompt_tokens` that the engine took from its prefix cache.
    completion_tokens : int64[n]
        New tokens, summed over all samples.
    estimated : bool
        True where some of the counts are not the engine's own (recorded generations, a provider that
        reports no usage).

    Examples
    --------
    >>> one = Usage.of(calls=[1, 2], prompt_tokens=[10, 20], cached_tokens=[0, 16], completion_tokens=[5, 6])
    >>> (one + one).total_tokens
    82
    >>> (one + Usage.zeros(2)).totals()["calls"]
    3
    """

    calls: NDArray[np.int64]
    prompt_tokens: NDArray[np.int64]
    cached_tokens: NDArray[np.int64]
    completion_tokens: NDArray[np.int64]
    estimated: bool = False

    def __post_init__(self) -> None:
        columns = self._columns()
        shape = columns[0].shape
        if len(shape) != 1 or not all(c.shape == shape and c.dtype == np.int64 for c in columns):
            shapes = sorted({column.shape for column in columns})
            kinds = sorted({str(column.dtype) for column in columns})
            raise InvalidInputError(
                f"Usage: {', '.join(_FIELDS)} must be int64 arrays of one length; "
                f"got shapes {shapes} and dtypes {kinds}"
            )
        # Rollouts make one for each question: the sign of all four in one pass.
        if (columns[0] | columns[1] | columns[2] | columns[3]).min(initial=0) < 0:
            raise InvalidInputError("Usage: counts must be >= 0")

    @classmethod
    def of(
        cls,
        calls: Sequence[int],
        prompt_tokens: Sequence[int],
        cached_tokens: Sequence[int],
        completion_tokens: Sequence[int],
        estimated: bool = False,
    ) -> Usage:
        """Build from any sequences of ints."""
        return cls(
            _ints(calls), _ints(prompt_tokens), _ints(cached_tokens), _ints(completion_tokens), estimated
        )

    @classmethod
    def zeros(cls, n: int) -> Usage:
        """Return the usage of n queries that cost nothing."""
        return cls(*np.zeros((4, n), np.int64))

    @classmethod
    def concat(cls, parts: Sequence[Usage]) -> Usage:
        """Join the queries of `parts`, in order."""
        if not parts:
            return cls.zeros(0)
        calls, prompt, cached, completion = (
            np.concatenate(columns) for columns in zip(*(part._columns() for part in parts), strict=True)
        )
        return cls(calls, prompt, cached, completion, any(part.estimated for part in parts))

    def __len__(self) -> int:
        return len(self.calls)

    def __add__(self, other: Usage) -> Usage:
        if not isinstance(other, Usage):
            return NotImplemented
        if len(self) != len(other):
            raise InvalidInputError(f"Usage: cannot add {len(other)} queries to {len(self)}")
        calls, prompt, cached, completion = (
            mine + theirs for mine, theirs in zip(self._columns(), other._columns(), strict=True)
        )
        return Usage(calls, prompt, cached, completion, self.estimated or other.estimated)

    def totals(self) -> dict[str, int]:
        """Return the sums over all queries, by field name."""
        return {name: int(column.sum()) for name, column in zip(_FIELDS, self._columns(), strict=True)}

    @property
    def total_tokens(self) -> int:
        """Prompt and completion tokens of all queries together."""
        return int(self.prompt_tokens.sum() + self.completion_tokens.sum())

    def _columns(self) -> tuple[NDArray[np.int64], ...]:
        return self.calls, self.prompt_tokens, self.cached_tokens, self.completion_tokens


def _ints(values: Sequence[int]) -> NDArray[np.int64]:
    return np.asarray(values, dtype=np.int64)
