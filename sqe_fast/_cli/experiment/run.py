"""`sqe-fast experiment run`: all methods over the prepared seeds."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sqe_fast._cli.experiment.common import LazyGenerator, dtype, exact_dtype, root_argument, seed_list, tell
from sqe_fast._cli.options import debug, device, examples
from sqe_fast.errors import InvalidInputError

if TYPE_CHECKING:
    from sqe_fast.experiment.run import Ran

__all__ = ["run"]

EXAMPLES = """\
Examples:
  sqe-fast experiment run exp/ --generator vllm:Qwen/Qwen3-8B
  sqe-fast experiment run exp/ --seeds 42 --generator recorded:expansions.jsonl --also oracle
  sqe-fast experiment run exp/ --methods dense,bm25,hybrid"""


@click.command(epilog=examples(EXAMPLES), short_help="Answer the questions of each seed by all methods.")
@root_argument
@click.option("--seeds", help="Such as 42-49 or 42,44.  [default: all that are prepared]")
@click.option(
    "--generator",
    metavar="SPEC",
    help="What expands questions: vllm:MODEL, transformers:MODEL, openai:MODEL@URL or recorded:FILE.",
)
@click.option("--methods", metavar="NAMES", help="Names or aliases with commas.  [default: the eight]")
@click.option("--also", metavar="NAMES", help="Further ones beside those, such as oracle.")
@click.option("--k", type=int, help="Hits of an answer.  [default: 10]")
@click.option("--depth", type=int, help="Of each list before fusion.  [default: twice k]")
@click.option("--threshold", type=float, help="Of Selective-QE.  [default: 0.65, which belongs to bge-m3]")
@click.option("--rate", type=float, help="Of Random-Gated-Expansion.  [default: 0.46]")
@click.option("--signals", metavar="NAMES", help="That the first method's rows tell.  [default: all]")
@click.option("--untimed", is_flag=True, help="Do not run each method once more, alone, to time it.")
@click.option("--trace-temperature", type=float, help="Of the traces.  [default: 0.8]")
@click.option("--paraphrase-temperature", type=float, help="Of the paraphrases.  [default: 0.5]")
@click.option("--max-new-tokens", type=int, metavar="N", help="Of an expansion.  [default: 256]")
@click.option("--sampling-seed", type=int, help="Fixes the expansions where the engine can.")
@click.option("--joint", is_flag=True, help="Ask for traces and paraphrases in one answer.")
@click.option("--brief", is_flag=True, help="Ask for traces in few words: a shorter prompt.")
@click.option(
    "--trace-end", type=click.Choice(["model", "step", "blank"]), help="Of a trace.  [default: model]"
)
@click.option(
    "--observation-lines", type=int, metavar="N", help="Of a trace, at most.  [default: as they come]"
)
@click.option(
    "--cache",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file of generations to share with other runs.  [default: one a seed, in its results]",
)
@click.option("--chunk", type=int, default=64, show_default=True, help="Questions that flow together.")
@click.option("--again", is_flag=True, help="Replace results that are there; generations are kept.")
@dtype
@device
@debug
def run(
    root: Path,
    seeds: str | None,
    generator: str | None,
    methods: str | None,
    also: str | None,
    signals: str | None,
    untimed: bool,
    cache: Path | None,
    chunk: int,
    again: bool,
    dtype: str | None,
    device: str | None,
    **numbers: Any,
) -> None:
    """Answer the questions of each prepared seed by all methods in one pass; write a row a question.

    The rows are in EXPERIMENT/seedN/results, in the form and under the names of the SQE release. A command
    that was interrupted is simply run again: what the model wrote is kept, and never paid for twice.
    """
    from sqe_fast.experiment.run import run as run_all
    from sqe_fast.experiment.settings import RunSettings

    chosen = {name: value for name, value in numbers.items() if value is not None}
    if signals is not None:
        chosen["signals"] = _names(signals)
    named = _names(methods) or RunSettings().methods
    settings = RunSettings(methods=(*named, *_names(also)), timed=not untimed, **chosen)
    wanted = None if seeds is None else seed_list(seeds)
    if generator is None and any(method.expands for method in settings.of_seed(0)):
        raise click.UsageError("give --generator SPEC, or only --methods that never expand")
    with ExitStack() as stack:
        lazy = None if generator is None else LazyGenerator(generator)
        if lazy is not None:
            stack.callback(lazy.close)
        done = run_all(
            root,
            _encoder(root, wanted, device, dtype),
            lazy,
            seeds=wanted,
            settings=settings,
            cache=cache,
            chunk=chunk,
            device=device,
            again=again,
            tell=tell,
        )
    for one in done:
        _show(one)


def _names(text: str | None) -> tuple[str, ...]:
    return () if text is None else tuple(name.strip() for name in text.split(",") if name.strip())


def _encoder(root: Path, seeds: list[int] | None, device: str | None, given: str | None) -> Any:
    """Return the encoder that the stores pin; its model is loaded when a text is to be encoded."""
    from sqe_fast._cli.encoders import PinnedEncoder
    from sqe_fast.experiment.layout import seed_folders
    from sqe_fast.store import MemoryStore

    there = seed_folders(root)
    if not there:
        raise InvalidInputError(
            f"{str(root)!r} holds no prepared seed; see sqe-fast experiment prepare --help"
        )
    first = next((one for one in there if seeds is None or one.seed in seeds), None)
    if first is None:
        return None  # the run tells which seeds there are
    pinned = MemoryStore.settings_of(first.memory)["encoder"]
    return PinnedEncoder(pinned, device, exact_dtype(device, given)) if pinned else None


def _show(one: Ran) -> None:
    """Print what a seed came to: recall of each method."""
    left = f", {one.left_out:,} targets without a question" if one.left_out else ""
    there = "" if one.new else " (there already)"
    click.echo(f"{one.folder.results.path}: {one.questions:,} questions{left}{there}")
    click.echo(f"  {'method':<24}{'R@1':>7}{'R@5':>7}{'R@10':>7}{'expanded':>10}")
    for rows in one.rows():
        recalls = "".join(f"{100 * rows.hit(k).mean():>7.1f}" for k in (1, 5, 10))
        click.echo(f"  {rows.method:<24}{recalls}{100 * rows.expanded.mean():>9.1f}%")
