"""How a model wants its texts: pooling, prefixes, length."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqe_fast.errors import InvalidInputError, ModelUnavailableError

__all__ = ["DEFAULT_MODEL", "POOLINGS", "Profile", "find_profile"]

DEFAULT_MODEL = "BAAI/bge-m3"
POOLINGS = ("cls", "mean")


@dataclass(frozen=True)
class Profile:
    """How one family of models turns a text into a vector; vectors are always L2-normalised."""

    pooling: str
    max_length: int
    query_prefix: str = ""
    document_prefix: str = ""


_BGE_M3 = Profile("cls", 512)
_E5 = Profile("mean", 512, query_prefix="query: ", document_prefix="passage: ")
_MINILM = Profile("mean", 256)
_OTHER = Profile("mean", 512)

# By the last part of a hub name or folder. The instruction-tuned E5 models take other prefixes.
_FAMILIES = (
    (re.compile(r"^bge-m3$"), _BGE_M3),
    (re.compile(r"^(multilingual-)?e5-(small|base|large)(-v2)?$"), _E5),
    (re.compile(r"^(all-)?minilm"), _MINILM),
)


def find_profile(name: str, location: str) -> Profile:
    """Return the profile of a model: its family's by name, else what its folder declares, else mean/512."""
    last = name.rstrip("/").rsplit("/", 1)[-1].lower()
    for pattern, profile in _FAMILIES:
        if pattern.match(last):
            return profile
    folder = Path(location)
    return _declared(folder) if folder.is_dir() else _OTHER


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ModelUnavailableError(f"cannot read {path}: {error}") from error


def _declared(folder: Path) -> Profile:
    """Read pooling, length and prompts from the files of the sentence-transformers layout."""
    length = (_read(folder / "sentence_bert_config.json") or {}).get("max_seq_length") or _OTHER.max_length
    prompts = (_read(folder / "config_sentence_transformers.json") or {}).get("prompts") or {}
    pooling = _OTHER.pooling
    for module in _read(folder / "modules.json") or []:
        if str(module.get("type", "")).endswith("Pooling"):
            pooling = _pooling(folder, _read(folder / module.get("path", "") / "config.json") or {})
    document = prompts.get("document") or prompts.get("passage") or ""
    return Profile(pooling, int(length), prompts.get("query") or "", document)


def _pooling(folder: Path, config: dict[str, Any]) -> str:
    chosen = config.get("pooling_mode")
    modes = (
        {str(chosen)} if chosen else {k for k, on in config.items() if k.startswith("pooling_mode_") and on}
    )
    if modes & {"cls", "pooling_mode_cls_token"} and len(modes) == 1:
        return "cls"
    if not modes or (modes & {"mean", "pooling_mode_mean_tokens"} and len(modes) == 1):
        return "mean"
    raise InvalidInputError(
        f"the model in {folder} wants pooling {', '.join(sorted(modes))}; known: {', '.join(POOLINGS)} "
        f"(pass pooling=... to force one)"
    )
