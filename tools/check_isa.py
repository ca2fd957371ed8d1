"""Check that only the AVX2 and AVX-512 kernels hold instructions that a baseline machine lacks.

    python tools/check_isa.py BUILD_FOLDER

Looks at the object files of a CMake build folder (``setup.py`` leaves one in build/temp.*/cmake):

- No object but those of sqe_simd_avx2 and sqe_simd_avx512 holds a VEX or EVEX encoded instruction or one of
  BMI, MOVBE or LZCNT.
- Those objects define nothing that the linker could take in the place of another object's copy: an inline
  function or template, compiled there for AVX-512, would otherwise be called on machines that lack it. Nor do
  they run anything when the module is loaded.

Prints what it found. Exit code 0 if all is well, 1 if not, 2 if it cannot tell (no objdump, no such folder).
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

LEVELS = ("avx2", "avx512")

# VEX and EVEX mnemonics begin with v; two old instructions do too. Mask instructions begin with k. The rest
# is BMI, MOVBE and LZCNT. TZCNT is not among them: it runs as BSF on older machines, which GCC makes use of.
OLD = {"verr", "verw"}
NEW = re.compile(
    r"v[a-z0-9]+|k(mov|and|or|xor|xnor|not|test|ortest|add|shift|unpck)\w*|andn|bextr|blsi|blsr|blsmsk|"
    r"bzhi|mulx|pdep|pext|rorx|sarx|shlx|shrx|lzcnt|movbe"
)
WIDE = re.compile(r"%[yz]mm\d|%k[0-7]\b")


def tool(*command: str | Path) -> str:
    """Return what a binary tool prints."""
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


def too_new(path: Path) -> Counter[str]:
    """Return how many instructions beyond the baseline each function of an object file holds."""
    found: Counter[str] = Counter()
    function = "?"
    for line in tool("objdump", "-d", "--no-show-raw-insn", "-C", path).splitlines():
        if line.endswith(">:"):
            function = line.split("<", 1)[1][:-2]
            continue
        _, _, text = line.partition(":\t")
        words = text.split(None, 1)
        if not words:
            continue
        if (NEW.fullmatch(words[0]) and words[0] not in OLD) or WIDE.search(text):
            found[function] += 1
    return found


def symbols(path: Path) -> dict[str, str]:
    """Return the symbols that an object file defines and others see: name -> kind letter of nm."""
    rows = (line.split() for line in tool("nm", "--extern-only", "--defined-only", path).splitlines())
    return {row[2]: row[1] for row in rows if len(row) == 3}


def level_of(path: Path) -> str:
    """Return the level an object is compiled for: its library is named for it."""
    match = re.search(r"sqe_simd_(\w+?)\.dir", str(path))
    return match.group(1) if match and match.group(1) in LEVELS else "baseline"


def check(folder: Path) -> list[str]:
    """Return what is wrong, one line each; print what was looked at."""
    objects = sorted(folder.rglob("*.o"))
    by_level = {
        level: [path for path in objects if level_of(path) == level] for level in ("baseline", *LEVELS)
    }
    problems = []
    for path in by_level["baseline"]:
        for function, count in too_new(path).items():
            problems.append(f"{path.name}: {count} instructions beyond the baseline in {function}")
    print(f"baseline: {len(by_level['baseline'])} objects, {len(problems)} functions beyond the baseline")
    elsewhere = {name for path in by_level["baseline"] for name in symbols(path)}
    for level in LEVELS:
        defined = {name: kind for path in by_level[level] for name, kind in symbols(path).items()}
        own = [name for name in defined if f"isa_{level}" in name]
        weak = [name for name, kind in defined.items() if kind in "VWu"]
        shared = [name for name in defined if name in elsewhere]
        wide = sum(sum(too_new(path).values()) for path in by_level[level])
        print(
            f"{level}: {len(by_level[level])} objects, {wide} instructions beyond the baseline, "
            f"{len(own)} symbols of its own, {len(weak)} weak, {len(shared)} defined by baseline objects too"
        )
        problems += [f"{level}: weak symbol {name}" for name in weak if f"isa_{level}" not in name]
        problems += [
            f"{path.name} ({level}): runs code when the module is loaded"
            for path in by_level[level]
            if "_GLOBAL__sub_I" in tool("nm", path)
        ]
        problems += [f"{level}: {name} is also defined by a baseline object" for name in shared]
        if not wide:
            problems.append(f"{level}: holds no instruction of its level")
    if not by_level["baseline"]:
        problems.append("no object files of the baseline")
    return problems


def main(arguments: list[str]) -> int:
    """Check the folder that the arguments name."""
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print("usage: python tools/check_isa.py BUILD_FOLDER (a CMake build folder)", file=sys.stderr)
        return 2
    missing = [name for name in ("objdump", "nm") if not shutil.which(name)]
    if missing:
        print(f"{' and '.join(missing)} not found: apt-get install binutils", file=sys.stderr)
        return 2
    problems = check(Path(arguments[0]))
    for problem in problems:
        print(f"problem: {problem}")
    print("failed" if problems else "passed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
