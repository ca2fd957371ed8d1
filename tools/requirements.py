"""Print the requirements of extras of this project, one a line: python tools/requirements.py test lint.

The Makefile installs them from this list, because `pip install -e '.[test]'` would build the package again.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path


def main(extras: list[str]) -> None:
    """Print the requirements of `extras`."""
    text = (Path(__file__).resolve().parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    declared = tomllib.loads(text)["project"]["optional-dependencies"]
    for extra in extras:
        if extra not in declared:
            raise SystemExit(f"no extra named {extra}; there are {', '.join(declared)}")
        print("\n".join(declared[extra]))


if __name__ == "__main__":
    main(sys.argv[1:])
