"""`sqe-fast gate`: gates fitted on questions with known answers, and judged on others."""

from __future__ import annotations

import click

from sqe_fast._cli.gate.curve import curve
from sqe_fast._cli.gate.fit import fit
from sqe_fast._cli.options import examples

__all__ = ["gate"]

MORE = """\
Examples:
  sqe-fast gate curve exp/ --svg curves.svg
  sqe-fast gate curve memory/ --queries questions.jsonl --generator recorded:expansions.jsonl --method sqe
  sqe-fast gate fit exp/ --share 0.4 --out gate.json
  sqe-fast search memory/ --queries new.jsonl --method sqe --gate gate.json --generator vllm:Qwen/Qwen3-8B"""


@click.group(epilog=examples(MORE), short_help="Fit gates, and judge them by recall against budget.")
def gate() -> None:
    """Fit gates on questions with known answers, and judge them by recall against budget."""


for command in (curve, fit):
    gate.add_command(command)
