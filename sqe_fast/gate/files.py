"""Gates as JSON files: `sqe-fast gate fit` writes them, `sqe-fast search --gate` reads them."""

from __future__ import annotations

import json
import os
from dataclasses import fields
from pathlib import Path
from typing import Any

from sqe_fast._checks import describe
from sqe_fast.errors import InvalidInputError, InvalidTypeError, RecordError
from sqe_fast.gate.gain import GainModel
from sqe_fast.gate.gates import Gate, LearnedGate, RateGate, StreamingGate, ThresholdGate

__all__ = ["load_gate", "save_gate"]

FORMAT = "sqe_fast gate 1"
_KINDS: dict[str, Any] = {
    kind.__name__: kind for kind in (ThresholdGate, LearnedGate, RateGate, StreamingGate)
}


def save_gate(gate: Gate, path: str | os.PathLike[str]) -> None:
    """Write a gate as JSON, in one step.

    Parameters
    ----------
    gate : ThresholdGate, LearnedGate, RateGate or StreamingGate
        With its model, where it has one. Other gates are nothing that is fitted.
    path : str or path

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "gate.json"
    >>> save_gate(ThresholdGate(threshold=1.25, signal="fused_spread"), path)
    >>> load_gate(path)
    ThresholdGate(threshold=1.25, signal='fused_spread', direction='below')
    """
    name = type(gate).__name__
    if _KINDS.get(name) is not type(gate):
        raise InvalidTypeError(f"gate must be one of {', '.join(_KINDS)}; got {describe(gate)}")
    held = {field.name: getattr(gate, field.name) for field in fields(gate)}  # type: ignore[arg-type]
    held = {key: value.record if isinstance(value, GainModel) else value for key, value in held.items()}
    target = Path(path)
    beside = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    text = json.dumps({"format": FORMAT, "gate": name, **held}, indent=1)
    beside.write_text(text + "\n", encoding="utf-8")
    beside.replace(target)


def load_gate(path: str | os.PathLike[str]) -> Gate:
    """Read a gate that `save_gate` wrote.

    Raises
    ------
    RecordError
        The file is none, or another version's; the message names it.
    """
    where = os.fspath(path)
    try:
        held = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise RecordError(f"{where}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise RecordError(f"{where}: not JSON ({error})") from None
    if not isinstance(held, dict) or held.pop("format", None) != FORMAT:
        raise RecordError(f"{where}: not a {FORMAT!r}")
    kind = _KINDS.get(str(held.pop("gate", "")))
    if kind is None:
        raise RecordError(f"{where}: gate must be one of {', '.join(_KINDS)}")
    known = [field.name for field in fields(kind)]
    for name in held:
        if name not in known:
            raise RecordError(f"{where}: {kind.__name__} has no {name!r}; it has {', '.join(known)}")
    if kind is LearnedGate and "model" not in held:
        raise RecordError(f"{where}: LearnedGate needs a 'model'")
    try:
        if held.get("model") is not None:
            held["model"] = GainModel.of_record(held["model"])
        gate: Gate = kind(**held)
    except (RecordError, InvalidInputError, InvalidTypeError) as error:
        raise RecordError(f"{where}: {error}") from error
    return gate
