"""`sqe-fast experiment prepare`: trajectories into stores with questions."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from sqe_fast._cli.experiment.common import LazyGenerator, dtype, exact_dtype, root_argument, seed_list, tell
from sqe_fast._cli.options import debug, device, examples
from sqe_fast.errors import InvalidInputError

__all__ = ["prepare"]

TOLD = 1024  # texts between two lines of progress
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)

EXAMPLES = """\
Examples:
  sqe-fast experiment prepare exp/ SWE-bench/SWE-smith-trajectories --seeds 42-49 \\
      --encoder BAAI/bge-m3 --generator vllm:Qwen/Qwen3-8B
  sqe-fast experiment prepare exp/ runs/ --memory 200 --targets 20 --generator vllm:smollm2
  sqe-fast experiment prepare exp/ traces.jsonl --questions queries.jsonl --store-ids store_ids.txt"""


@click.command(epilog=examples(EXAMPLES), short_help="Draw a store a seed, and have its questions written.")
@root_argument
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--seeds", default="42", show_default=True, help="Such as 42-49 or 42,44: a folder each.")
@click.option(
    "--encoder", default="minilm", show_default=True, help="As for index; the paper's is BAAI/bge-m3."
)
@click.option(
    "--generator", metavar="SPEC", help="What writes the questions: vllm:MODEL, transformers:MODEL ..."
)
@click.option(
    "--questions", type=FILE, help="Questions with targets that are there, in place of a generator."
)
@click.option("--store-ids", type=FILE, help="With --questions: the exact store, an id a line.")
@click.option("--memory", type=int, metavar="N", help="Episodes of a store.  [default: 5000]")
@click.option("--targets", type=int, metavar="N", help="Of them with a question.  [default: 500]")
@click.option("--pool", type=int, metavar="N", help="Episodes drawn from.  [default: 3 x (memory + targets)]")
@click.option(
    "--ids",
    type=click.Choice(["own", "counted"]),
    help="Of the episodes: their own, or ep_000000 and on.  [default: counted for a data set on the hub]",
)
@click.option("--tokenizer", help="Of BM25.  [default: whitespace]")
@click.option("--variant", help="Of BM25.  [default: okapi]")
@click.option("--k1", type=float, help="Of BM25.  [default: 1.5]")
@click.option("--b", type=float, help="Of BM25.  [default: 0.75]")
@click.option("--temperature", type=float, help="Of the questions.  [default: 0.7]")
@click.option("--max-new-tokens", type=int, metavar="N", help="Of a question.  [default: 128]")
@click.option("--attempts", type=int, metavar="N", help="To get a question of a target.  [default: 3]")
@click.option(
    "--chunk", type=int, default=64, show_default=True, help="Targets of one call of the generator."
)
@click.option("--skip-bad", is_flag=True, help="Count broken records and go on.")
@click.option("--split", default="tool", show_default=True, help="Of a data set on the hub.")
@dtype
@device
@debug
def prepare(
    root: Path,
    sources: tuple[str, ...],
    seeds: str,
    encoder: str,
    generator: str | None,
    questions: Path | None,
    store_ids: Path | None,
    ids: str | None,
    chunk: int,
    skip_bad: bool,
    split: str,
    dtype: str | None,
    device: str | None,
    **numbers: Any,
) -> None:
    """Draw a store and its targets from the SOURCEs for each seed, and have the questions written.

    A SOURCE is what `sqe-fast index` reads. Each seed gets the folder EXPERIMENT/seedN with the store, the
    questions and a manifest of every choice and checksum. A command that was interrupted is simply run again;
    what is there with other choices is left as it is, and the difference told.
    """
    if (generator is None) == (questions is None):
        raise click.UsageError("give --generator SPEC, or --questions FILE")
    if store_ids is not None and questions is None:
        raise click.UsageError("--store-ids goes with --questions")
    sizes = [name for name in ("memory", "targets", "pool") if numbers[name] is not None]
    if store_ids is not None and sizes:
        raise click.UsageError(f"--{sizes[0]} is of a draw; with --store-ids nothing is drawn")
    from sqe_fast.experiment.prepare import prepare as prepare_all
    from sqe_fast.experiment.protocol import Given, Protocol
    from sqe_fast.experiment.trajectories import Source

    names = {"memory": "n_memory", "targets": "n_targets"}
    chosen = {names.get(name, name): value for name, value in numbers.items() if value is not None}
    if generator is not None and generator.startswith("recorded:"):
        raise InvalidInputError("--generator: a recording holds no questions; give them as --questions FILE")
    if questions is not None:  # which say what the targets are; the number only sizes the pool
        chosen.setdefault("n_targets", min(Protocol.n_targets, chosen.get("n_memory", Protocol.n_memory)))
    protocol = Protocol(**chosen)
    wanted = seed_list(seeds)
    source = Source(sources, split, skip_bad, ids or _ids(sources))  # type: ignore[arg-type]
    with ExitStack() as stack:
        lazy = None if generator is None else LazyGenerator(generator)
        if lazy is not None:
            stack.callback(lazy.close)
        done = prepare_all(
            root,
            wanted,
            source,
            _encoder(encoder, device, dtype),
            lazy,
            protocol=protocol,
            given=None if questions is None else Given(questions, store_ids),
            chunk=chunk,
            tell=tell,
        )
    for one in done:
        for note in one.notes:
            click.echo(f"sqe-fast: seed {one.folder.seed}: {note}", err=True)
        without = f", {one.failed:,} targets without" if one.failed else ""
        there = "" if one.new else " (there already)"
        click.echo(f"{one.folder.path}: {one.memory:,} episodes, {one.questions:,} questions{without}{there}")


def _ids(sources: tuple[str, ...]) -> str:
    """Return "counted" where a source is a data set on the hub: the protocol numbers its steps."""
    return "own" if all(Path(source).exists() for source in sources) else "counted"


def _encoder(name: str, device: str | None, given: str | None) -> Any:
    """Return the encoder; it tells now and then how far it has come."""
    from sqe_fast._cli.encoders import Watched
    from sqe_fast.encode import Encoder

    encoded = 0

    def done(n: int) -> None:
        nonlocal encoded
        before, encoded = encoded, encoded + n
        if before // TOLD < encoded // TOLD:
            tell(f"{encoded:,} texts encoded")

    return Watched(Encoder.load(name, device, exact_dtype(device, given)), done)
