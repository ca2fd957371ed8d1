"""The parts of a system, made from what a command line says: generators, and where queries go."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqe_fast._checks import check_choice
from sqe_fast.errors import InvalidInputError, RecordError, SqeFastError

if TYPE_CHECKING:
    from sqe_fast.agent.presets import Preset
    from sqe_fast.agent.values import Retriever
    from sqe_fast.generate.base import Generator

__all__ = ["RETRIEVER_HELP", "Generators", "OpenedRetriever", "open_retriever"]

RETRIEVER_HELP = (
    "Where queries go: a store, a BEIR folder or a file of passages, http://HOST:PORT (a Search-R1 server), "
    "simulated:SPEC (a model writes the passages), or pool:FILE (a JSON object of names and SPECs of models)."
)


class Generators:
    """Generators by their spec, each made once and closed in the end: a model is not loaded twice."""

    def __init__(self, stack: ExitStack, preset: Preset) -> None:
        self._stack = stack
        self._preset = preset
        self._made: dict[str, Generator] = {}

    def get(self, spec: str) -> Generator:
        """Return the generator of `spec`; ``recorded:FILE`` says recorded turns, ``rules`` search by rule."""
        if spec not in self._made:
            made = _make(spec, self._preset)
            self._stack.callback(made.close)
            self._made[spec] = made
        return self._made[spec]


@dataclass(frozen=True)
class OpenedRetriever:
    """A retriever, and what is pinned of it."""

    retriever: Retriever | None
    settings: Mapping[str, Any]


def open_retriever(
    spec: str | None,
    generators: Generators,
    stack: ExitStack,
    *,
    method: str | None = None,
    encoder: str | None = None,
    device: str | None = None,
) -> OpenedRetriever:
    """Return the retriever of `spec`.

    Parameters
    ----------
    spec : str or None
        See `RETRIEVER_HELP`; None for a system that does not search.
    generators : Generators
        Gives the models of a simulated engine or of a pool.
    stack : ExitStack
        Closes what is opened.
    method : str, optional
        Of a store: any of the engine's that needs no generator; of passages: bm25, dense or hybrid.
    encoder : str, optional
        For the vectors of passages; a store has its own.
    device : str, optional
        Where the encoder runs.
    """
    if spec is None:
        return OpenedRetriever(None, {"kind": "none"})
    kind, colon, rest = spec.partition(":")
    if kind in ("http", "https") or (colon and kind in ("simulated", "pool")):
        if method or encoder:
            raise InvalidInputError("--method and --encoder are for a store or for passages")
        return _remote(kind, spec, rest, generators)
    path = Path(spec)
    if not path.exists():
        raise InvalidInputError(f"--retriever: there is no {spec!r}. {RETRIEVER_HELP}")
    if (path / "episodes.sqlite").exists():
        if encoder:
            raise InvalidInputError("--encoder: a store has its own")
        return _store(path, method, device, stack)
    return _passages(path, method, encoder, device)


def _make(spec: str, preset: Preset) -> Generator:
    kind, _, rest = spec.partition(":")
    if spec == "rules":
        from sqe_fast.agent.expanding import RulePolicy

        return RulePolicy(preset.queries or 3, preset.dialect)
    if kind == "recorded" and rest:
        return _recorded(Path(rest))
    from sqe_fast.generate import make_generator

    return make_generator(spec)


def _recorded(path: Path) -> Generator:
    """Return a policy that says the turns of a file: objects of ``id`` or ``question``, and ``turns``."""
    from sqe_fast.agent.replay import RecordedPolicy
    from sqe_fast.readers.containers import file_rows

    if not path.is_file():
        raise InvalidInputError(f"there is no recording {str(path)!r}")
    turns: dict[str, list[str]] = {}
    for row in file_rows(path):
        record = row.record
        if isinstance(record, SqeFastError):  # such as a line that is no JSON
            raise RecordError(f"{row.where}: {record}") from record
        if not isinstance(record, dict):
            raise RecordError(f"{row.where}: must be an object of id or question, and turns")
        name, said = record.get("id", record.get("question")), record.get("turns")
        if (
            not isinstance(name, str)
            or not isinstance(said, list)
            or not all(isinstance(one, str) for one in said)
        ):
            raise RecordError(f"{row.where}: needs id or question as a str, and turns, a list of str")
        turns[name] = said
    return RecordedPolicy(turns, name=f"recorded:{path.name}")


def _remote(kind: str, spec: str, rest: str, generators: Generators) -> OpenedRetriever:
    from sqe_fast.agent.retrievers import PoolRetriever, ServerRetriever, SimulatedRetriever

    if kind == "simulated":
        return OpenedRetriever(
            SimulatedRetriever(generators.get(rest)), {"kind": "simulated", "generator": rest}
        )
    if kind != "pool":
        return OpenedRetriever(ServerRetriever(spec), {"kind": "server", "url": spec})
    try:
        models = json.loads(Path(rest).read_bytes())
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"--retriever pool: cannot read {rest!r}: {error}") from None
    if not isinstance(models, dict) or not all(isinstance(one, str) for one in models.values()):
        raise InvalidInputError(
            f"--retriever pool: {rest!r} must hold an object of names and SPECs of models"
        )
    pool = PoolRetriever({name: generators.get(one) for name, one in models.items()})
    return OpenedRetriever(pool, {"kind": "pool", "models": models})


def _store(path: Path, method: str | None, device: str | None, stack: ExitStack) -> OpenedRetriever:
    from sqe_fast._cli.encoders import PinnedEncoder
    from sqe_fast.agent.retrievers import EngineRetriever
    from sqe_fast.engine import Engine
    from sqe_fast.store import MemoryStore

    pinned = MemoryStore.settings_of(path)["encoder"]
    encoder = PinnedEncoder(pinned, device) if pinned else None
    store = stack.enter_context(MemoryStore.open(path, read_only=True, encoder=encoder))
    method = method or ("hybrid" if pinned else "bm25")
    settings = {
        "kind": "store",
        "method": method,
        "passages": len(store),
        "encoder": pinned["name"] if pinned else None,
    }
    return OpenedRetriever(EngineRetriever(Engine(store, device=device), method), settings)


def _passages(path: Path, method: str | None, encoder: str | None, device: str | None) -> OpenedRetriever:
    from sqe_fast.agent.retrievers.index import KINDS, IndexRetriever

    loaded = None
    if encoder is not None:
        from sqe_fast.encode import Encoder

        loaded = Encoder.load(encoder, device)
    kind = check_choice("--method of passages", method or ("hybrid" if loaded else "bm25"), KINDS)
    if kind != "bm25" and encoder is None:
        raise InvalidInputError(f"--method {kind} needs an --encoder")
    index = IndexRetriever.from_beir(path, loaded, kind)
    settings = {"kind": "passages", "method": kind, "passages": len(index), "encoder": encoder}
    return OpenedRetriever(index, settings)
