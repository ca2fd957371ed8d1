"""What the commands of an experiment share: seeds as text, progress as lines, models loaded when needed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from sqe_fast.errors import InvalidInputError

__all__ = ["LazyGenerator", "dtype", "exact_dtype", "root_argument", "seed_list", "tell"]

_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
MAX_SEEDS = 1000

root_argument = click.argument("root", metavar="EXPERIMENT", type=click.Path(file_okay=False, path_type=Path))
dtype = click.option(
    "--dtype", help="Of the encoder: float32, bfloat16 or float16.  [default: float32 on a CPU, else float16]"
)


def seed_list(text: str) -> list[int]:
    """Return the seeds of a text such as "42-49" or "42,44,46".

    Examples
    --------
    >>> seed_list("42-44,50")
    [42, 43, 44, 50]
    """
    seeds: list[int] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise InvalidInputError(
                f"--seeds must be numbers and ranges such as 42-49 or 42,44; got {text!r}"
            )
        low, high = int(match[1]), int(match[2] or match[1])
        if not low <= high < low + MAX_SEEDS:
            raise InvalidInputError(
                f"--seeds: a range must rise, over at most {MAX_SEEDS} seeds; got {part!r}"
            )
        seeds += range(low, high + 1)
    return seeds


def tell(line: str) -> None:
    """Print a line of progress on standard error."""
    click.echo(line, err=True)


def exact_dtype(device: str | None, given: str | None) -> str:
    """Return the precision of the encoder: fixed, where its own default may be left to a measurement."""
    if given is not None:
        return given
    if device is not None:
        return "float32" if device == "cpu" else "float16"
    import torch

    return "float16" if torch.cuda.is_available() else "float32"


class LazyGenerator:
    """A generator by its spec, loaded when it is first asked: what is there already loads no model.

    Attributes
    ----------
    name : str
        The spec; of a recording the name of its file and a checksum, since what was made from it is kept by
        this name: it may be moved, and must not be changed.
    """

    def __init__(self, spec: str) -> None:
        from sqe_fast.generate.factory import check_spec

        check_spec(spec)
        self.name = _recorded(spec) or spec
        self._spec = spec
        self._generator: Any = None

    def load(self) -> None:
        """Load the model, if it is not."""
        if self._generator is None:
            from sqe_fast.generate import make_generator

            self._generator = make_generator(self._spec)

    def generate(self, requests: Sequence[Any]) -> list[Any]:
        """See `sqe_fast.generate.base.Generator.generate`."""
        self.load()
        answers: list[Any] = self._generator.generate(requests)
        return answers

    def __getattr__(self, name: str) -> Any:
        """Return what else the loaded generator can, such as telling beforehand what requests can cost."""
        if name.startswith("_") or self._generator is None:
            raise AttributeError(name)
        return getattr(self._generator, name)

    def close(self) -> None:
        """Free the model, if it was loaded."""
        if self._generator is not None:
            self._generator.close()


def _recorded(spec: str) -> str | None:
    """Return a name for the content of a recording; None where the spec is of none that is there."""
    from sqe_fast._store.files import sha256_of

    kind, _, name = spec.partition(":")
    path = Path(name)
    return f"recorded:{path.name}@{sha256_of(path)[:16]}" if kind == "recorded" and path.is_file() else None
