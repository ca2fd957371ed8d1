"""The command line, `sqe-fast`: its commands, exit codes and errors.

Nothing heavy is imported before a command needs it, so that `--help` and mistakes answer at once.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import TextIO

import click

from sqe_fast import __version__
from sqe_fast._cli.experiment import experiment
from sqe_fast._cli.gate import gate
from sqe_fast._cli.index import index
from sqe_fast._cli.options import examples
from sqe_fast._cli.qa import qa
from sqe_fast._cli.search import search
from sqe_fast._cli.stats import stats
from sqe_fast._cli.verify import verify
from sqe_fast.errors import InvalidInputError, InvalidTypeError, SqeFastError

__all__ = ["main"]

USAGE, FAILED, UNEXPECTED, INTERRUPTED = 2, 3, 4, 130


MORE = """\
Examples:
  sqe-fast index memory/ runs/ --encoder minilm
  sqe-fast search memory/ "where did the import fail?"
  sqe-fast search memory/ --queries questions.jsonl --method sqe \\
      --generator vllm:Qwen/Qwen3-8B --json > answers.jsonl
  sqe-fast verify memory/

\b
Exit codes:
  0    done
  1    search found nothing, or verify found problems
  2    an argument or option is wrong
  3    it failed: a file, a store or a model; the message says what to do
  4    an unexpected error (--debug shows where)
  130  interrupted; stores stay whole"""


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, epilog=examples(MORE))
@click.version_option(__version__, prog_name="sqe-fast")
def sqe_fast() -> None:
    """Search agent memory, with selective LLM query expansion."""


for command in (index, search, stats, verify, gate, experiment, qa):
    sqe_fast.add_command(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; `arguments` are those of the process by default."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            # Not click's own `main`: it has its own ideas of what an interrupt and a closed pipe mean.
            with sqe_fast.make_context("sqe-fast", given or ["--help"]) as context:
                code = sqe_fast.invoke(context)
            sys.stdout.flush()
            return code if isinstance(code, int) else 0
        except click.exceptions.Exit as ended:
            return int(ended.exit_code)
        except click.exceptions.NoArgsIsHelpError as asked:  # a group by itself
            click.echo(asked.format_message())
            return 0
        except BrokenPipeError:
            # The reader of our output, such as `head`, has seen enough. Nothing more can be written, not even
            # by the interpreter as it ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            return 0
        except (Exception, KeyboardInterrupt) as error:
            if "--debug" in given:
                traceback.print_exc()
            message, code = _told(error)
            click.echo(f"sqe-fast: {' '.join(message.split())}", err=True)
            return code


def _told(error: BaseException) -> tuple[str, int]:
    """Return the message for an error, and the exit code."""
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        return "interrupted; what was written is kept, and is whole", INTERRUPTED
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        hint = f" (see '{context.command_path} --help')" if context else ""
        return f"{error.format_message()}{hint}", USAGE
    if isinstance(error, (InvalidInputError, InvalidTypeError)):
        return str(error), USAGE
    if isinstance(error, (SqeFastError, OSError)):
        return str(error), FAILED
    return f"unexpected {type(error).__name__}: {error} (--debug shows where)", UNEXPECTED


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    click.echo(f"sqe-fast: warning: {' '.join(str(message).split())}", err=True)
