"""Import of optional packages when first needed; a missing one names the extra to install."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from types import ModuleType

from sqe_fast.errors import MissingExtraError

__all__ = ["package_folder", "require"]


def _missing(package: str, extra: str | None, why: str) -> MissingExtraError:
    wish = f"sqe_fast[{extra}]" if extra else package
    return MissingExtraError(f"{why} needs the package {package!r}; install it with: pip install '{wish}'")


def require(module: str, extra: str | None, why: str) -> ModuleType:
    """Import `module`, or raise MissingExtraError naming `extra` (None: a core dependency)."""
    package = module.split(".", maxsplit=1)[0]
    if importlib.util.find_spec(package) is None:
        raise _missing(package, extra, why)
    return importlib.import_module(module)


def package_folder(package: str, extra: str, why: str) -> Path:
    """Return the folder of an installed package without running its code (some import much)."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise _missing(package, extra, why)
    return Path(next(iter(spec.submodule_search_locations)))
