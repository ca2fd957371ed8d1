"""`sqe-fast qa`: question answering by search agents."""

from __future__ import annotations

import click

from sqe_fast._cli.options import examples
from sqe_fast._cli.qa.report import report
from sqe_fast._cli.qa.run import run
from sqe_fast._cli.qa.show import show

__all__ = ["qa"]

EXAMPLES = """\
Examples:
  sqe-fast qa run runs/expandsearch --system expandsearch --policy vllm:Qwen/Qwen2.5-3B-Instruct \\
      --retriever memory/ --questions nq --questions hotpotqa --limit 500
  sqe-fast qa report runs/*
  sqe-fast qa show runs/expandsearch bamboogle/test_4"""


@click.group(epilog=examples(EXAMPLES), short_help="Answer questions by search agents: run, report, show.")
def qa() -> None:
    """Answer question sets by search agents, and compare the agents."""


for command in (run, report, show):
    qa.add_command(command)
