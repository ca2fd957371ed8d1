"""`sqe-fast experiment`: from trajectories to tables, one command a step."""

from __future__ import annotations

import click

from sqe_fast._cli.experiment.prepare import prepare
from sqe_fast._cli.experiment.report import report
from sqe_fast._cli.experiment.run import run
from sqe_fast._cli.experiment.verify import verify
from sqe_fast._cli.options import examples

__all__ = ["experiment"]

MORE = """\
Examples:
  sqe-fast experiment prepare exp/ SWE-bench/SWE-smith-trajectories --seeds 42-49 \\
      --encoder BAAI/bge-m3 --generator vllm:Qwen/Qwen3-8B
  sqe-fast experiment run exp/ --generator vllm:Qwen/Qwen3-8B
  sqe-fast experiment report exp/
  sqe-fast experiment verify exp/"""


@click.group(epilog=examples(MORE), short_help="Prepare and run the SQE experiment on your own models.")
def experiment() -> None:
    """Prepare and run the SQE experiment: one folder, and in it one a seed."""


for command in (prepare, run, report, verify):
    experiment.add_command(command)
