"""`sqe-fast index`: files into a store."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sqe_fast._cli.options import debug, device, examples, store_argument
from sqe_fast.errors import InvalidInputError, RecordError

if TYPE_CHECKING:
    from sqe_fast.episode import Episode
    from sqe_fast.readers import Reading
    from sqe_fast.store import MemoryStore

__all__ = ["index"]

NO_ENCODER = "none"


EXAMPLES = """\
Examples:
  sqe-fast index memory/ run1.traj run2.traj --encoder minilm
  sqe-fast index memory/ trajectories/ --skip-bad
  sqe-fast index notes/ notes.jsonl --encoder none"""


@click.command(epilog=examples(EXAMPLES), short_help="Read files or folders into a store and index it.")
@store_argument
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@click.option(
    "--encoder",
    metavar="NAME",
    help="What makes the vectors of a new store: a folder, a name on the Hugging Face hub, minilm (needs no "
    "network), or none.  [default: BAAI/bge-m3, or what the store has]",
)
@click.option("--tokenizer", help="Of BM25 in a new store: code, word or whitespace.  [default: code]")
@click.option(
    "--variant", help="Of BM25 in a new store: lucene, okapi, atire, bm25l or bm25+.  [default: lucene]"
)
@click.option("--k1", type=float, help="Of BM25 in a new store.  [default: 1.2]")
@click.option("--b", type=float, help="Of BM25 in a new store.  [default: 0.75]")
@click.option("--skip-bad", is_flag=True, help="Count broken records and go on.")
@click.option("--replace", is_flag=True, help="Take a new text for an id that is there with another.")
@click.option("--split", default="tool", show_default=True, help="Of a data set on the hub.")
@device
@debug
def index(
    store: Path,
    sources: tuple[str, ...],
    encoder: str | None,
    tokenizer: str | None,
    variant: str | None,
    k1: float | None,
    b: float | None,
    skip_bad: bool,
    replace: bool,
    split: str,
    device: str | None,
) -> None:
    """Read each SOURCE into STORE, a folder, made if it is not there; then bring its index up to date.

    A SOURCE is a file, a folder of files, or owner/name of a data set on the Hugging Face hub. JSON Lines,
    JSON and Parquet are read, of the forms {"id", "text"}, BEIR, SWE-agent, mini-swe-agent and SWE-smith.
    What is there already is left as it is, so a command that was interrupted is simply run again. Without a
    SOURCE, only the index is brought up to date.
    """
    from sqe_fast.readers import read

    start = time.perf_counter()
    bad = _Bad(skip_bad)
    # Named wrongly, a source is refused before anything is made.
    readings = [read(source, skip_bad=skip_bad, on_bad=bad, split=split) for source in sources]
    if not sources and not _is_store(store):
        raise InvalidInputError(f"{str(store)!r} is not a store yet; name at least one SOURCE to read")
    settings = {"tokenizer": tokenizer, "variant": variant, "k1": k1, "b": b}
    settings = {name: value for name, value in settings.items() if value is not None}
    with ExitStack() as stack:
        opened, watch = _open(store, encoder, settings, device)
        stack.enter_context(opened)
        counts = _add(opened, sources, readings, replace)
        _commit(opened, watch)
        total = opened.stats()
    bad.tell()
    added, unchanged, replaced = counts
    click.echo(
        f"{store}: {added:,} added, {unchanged:,} unchanged, {replaced:,} replaced"
        f"{f', {bad.count:,} broken skipped' if bad.count else ''}; {total.indexed:,} episodes indexed, "
        f"{time.perf_counter() - start:.1f} s"
    )


class _Bad:
    """Broken records that were skipped: each is told as it comes, up to a few."""

    SHOWN = 5

    def __init__(self, skip: bool) -> None:
        self.skip = skip
        self.count = 0

    def __call__(self, error: RecordError) -> None:
        self.count += 1
        if self.count <= self.SHOWN:
            click.echo(f"sqe-fast: skipped {' '.join(str(error).split())}", err=True)

    def tell(self) -> None:
        if self.count > self.SHOWN:
            click.echo(f"sqe-fast: skipped {self.count - self.SHOWN:,} more broken records", err=True)


def _is_store(path: Path) -> bool:
    from sqe_fast._store import database

    return (path / database.NAME).is_file() and database.exists(path)


def _open(
    path: Path, encoder: str | None, settings: dict[str, Any], device: str | None
) -> tuple[MemoryStore, Any]:
    """Return the store, open for writing, and its watched encoder (None without one)."""
    from sqe_fast._cli.encoders import PinnedEncoder, Watched
    from sqe_fast.store import MemoryStore

    watch: Any = None
    if _is_store(path):
        pinned = MemoryStore.settings_of(path)["encoder"]
        has = pinned["name"] if pinned else NO_ENCODER
        if encoder not in (None, has):
            raise InvalidInputError(
                f"--encoder: the store {str(path)!r} was made with {has!r}, given {encoder!r}; leave it out, "
                "or make a new store"
            )
        if pinned:
            watch = Watched(PinnedEncoder(pinned, device), lambda _: None)
        return MemoryStore.open(path, encoder=watch, **settings), watch
    if encoder != NO_ENCODER:
        from sqe_fast.encode import Encoder
        from sqe_fast.encoder.profiles import DEFAULT_MODEL

        watch = Watched(Encoder.load(encoder or DEFAULT_MODEL, device), lambda _: None)
    return MemoryStore.create(path, encoder=watch, **settings), watch


def _add(
    store: MemoryStore, sources: tuple[str, ...], readings: list[Reading], replace: bool
) -> tuple[int, int, int]:
    """Add every source, each in one transaction; return how many were added, unchanged and replaced."""
    from sqe_fast._cli.progress import progress

    added = unchanged = replaced = 0
    for source, reading in zip(sources, readings, strict=True):
        episodes: Iterator[Episode] = reading
        with progress(f"reading {source}") as bar:
            result = store.add(bar.counted(episodes), replace=replace)
        added += result.added
        unchanged += result.unchanged
        replaced += result.replaced
    return added, unchanged, replaced


def _commit(store: MemoryStore, watch: Any) -> None:
    from sqe_fast._cli.progress import progress

    with progress("indexing", store.stats().to_add if watch is not None else None) as bar:
        if watch is not None:
            watch.done = bar.add
        store.commit()
