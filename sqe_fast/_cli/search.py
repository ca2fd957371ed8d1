"""`sqe-fast search`: questions to answers."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sqe_fast._cli.options import debug, device, examples, json_output, store_argument
from sqe_fast.errors import InvalidInputError
from sqe_fast.readers.queries import Query, read_queries

if TYPE_CHECKING:
    from sqe_fast._cli.output import Output
    from sqe_fast.batch import SearchBatch
    from sqe_fast.engine import Engine
    from sqe_fast.methods import Method
    from sqe_fast.store import MemoryStore

__all__ = ["make_engine", "open_store", "search"]

FOUND, NOTHING = 0, 1

_NUMBERS = {"traces": "K", "paraphrases": "P"}  # options whose names in a method are others


EXAMPLES = """\
Examples:
  sqe-fast search memory/ "where did the import fail?"
  sqe-fast search memory/ "where did the import fail?" --generator openai:gpt-5-mini
  sqe-fast search memory/ --queries questions.txt --method hybrid --k 10 --trec > run.txt
  sqe-fast search memory/ --queries questions.jsonl --method sqe --threshold 0.6 \\
      --generator recorded:expansions.jsonl --json"""


@click.command(epilog=examples(EXAMPLES), short_help="Answer one question, or those of a file.")
@store_argument
@click.argument("question", required=False)
@click.option("--queries", metavar="FILE", help="Questions, one a line: plain text or JSON; - reads a pipe.")
@click.option(
    "--method",
    help="dense, bm25, hybrid, paraphrases, traces, always, random, sqe, oracle; hybrid+ and sqe+ are ours.  "
    "[default: sqe with a --generator, else hybrid, or bm25 in a store without vectors]",
)
@click.option("--k", type=int, default=5, show_default=True, help="Hits of each answer.")
@click.option(
    "--generator",
    metavar="SPEC",
    help="What expands questions: vllm:MODEL, transformers:MODEL, openai:MODEL@URL or recorded:FILE.",
)
@click.option(
    "--cache", type=click.Path(dir_okay=False, path_type=Path), help="A file where generations are kept."
)
@click.option("--threshold", type=float, help="Of sqe: expand where the signal is below.  [default: 0.65]")
@click.option("--signal", help="Of sqe: top1, margin, spread and others, see sqe_fast.gate.  [default: top1]")
@click.option(
    "--direction", help="Of sqe: expand where the signal is below the threshold, or above.  [default: below]"
)
@click.option("--traces", type=int, metavar="K", help="Hypothetical traces of a question.  [default: 2]")
@click.option("--paraphrases", type=int, metavar="P", help="Paraphrases of a question.  [default: 2]")
@click.option("--depth", type=int, help="Depth of each list that is fused.  [default: twice k]")
@click.option("--constant", type=float, help="Of reciprocal rank fusion.  [default: 60]")
@click.option("--fusion", help="rrf, or zscore or minmax of every document's scores.  [default: rrf]")
@click.option(
    "--accept",
    metavar="RULES",
    help="Refuse traces and paraphrases by what they find, as in 'top1 >= 0.6' or 'top1 >= question + 0.05'.",
)
@click.option("--joint", is_flag=True, help="Ask for traces and paraphrases in one call.")
@click.option("--rate", type=float, help="Of random: share that is expanded.  [default: 0.46]")
@click.option("--seed", type=int, help="Of random.  [default: 42]")
@click.option("--at", type=int, help="Of oracle: hits it looks at.  [default: 5]")
@click.option(
    "--gate",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A gate of `sqe-fast gate fit`, in place of the method's own.",
)
@json_output
@click.option("--trec", is_flag=True, help="Print a run as trec_eval reads it.")
@click.option("--parquet", type=click.Path(dir_okay=False, path_type=Path), help="Write a Parquet file.")
@click.option("--texts", is_flag=True, help="With --json: the text of each hit too.")
@click.option("--chunk", type=int, default=1024, show_default=True, help="Questions that flow together.")
@device
@debug
def search(
    store: Path,
    question: str | None,
    queries: str | None,
    method: str | None,
    k: int,
    generator: str | None,
    cache: Path | None,
    gate: Path | None,
    as_json: bool,
    trec: bool,
    parquet: Path | None,
    texts: bool,
    chunk: int,
    device: str | None,
    joint: bool,
    **numbers: Any,
) -> int:
    """Answer QUESTION, or each question of a file, from STORE.

    A file of JSON objects has each question under query, question or text, its id under query_id or id, and
    (for the oracle) its target under target_episode_id or target. Expansions of a file made earlier are used
    with --generator recorded:FILE. The exit code is 1 where nothing at all was found.
    """
    if (question is None) == (queries is None):
        raise click.UsageError("give one QUESTION, or --queries FILE")
    if sum((as_json, trec, parquet is not None)) > 1:
        raise click.UsageError("give one of --json, --trec and --parquet")
    if texts and not as_json:
        raise click.UsageError("--texts goes with --json")
    from sqe_fast.methods import get_method

    given = {_NUMBERS.get(name, name): value for name, value in numbers.items() if value is not None}
    if method is not None:
        chosen = _gated(get_method(method, k=k, **given), gate)  # a mistake is told before anything is loaded
    asked = iter([Query("1", question)]) if question is not None else read_queries(queries or "-")
    with ExitStack() as stack:
        opened = stack.enter_context(open_store(store, device))
        if method is None:
            plain = "hybrid" if opened.settings["encoder"] else "bm25"
            chosen = _gated(get_method("sqe" if generator else plain, k=k, **given), gate)
        if chosen.expands and generator is None:
            raise InvalidInputError(
                f"{chosen.alias} expands questions: give what does it as --generator; hybrid+ needs none"
            )
        engine = make_engine(
            opened, generator if chosen.expands else None, cache, chunk, device, stack, joint
        )
        output = stack.enter_context(_output(engine, as_json, trec, parquet, texts, queries is not None))
        # A bar and tables would write over each other on one terminal.
        show = queries is not None and (as_json or trec or parquet is not None)
        return _answer(engine, asked, chosen, output, show)


def _gated(method: Method, path: Path | None) -> Method:
    """Return the method with the gate of a file, where one is given."""
    if path is None:
        return method
    from dataclasses import replace

    from sqe_fast.gate.files import load_gate

    if not method.expands:
        raise click.UsageError(f"--gate: {method.alias} expands nothing")
    return replace(method, gate=load_gate(path))


def open_store(path: Path, device: str | None) -> MemoryStore:
    from sqe_fast._cli.encoders import PinnedEncoder
    from sqe_fast.store import MemoryStore

    pinned = MemoryStore.settings_of(path)["encoder"]
    return MemoryStore.open(path, read_only=True, encoder=PinnedEncoder(pinned, device) if pinned else None)


def make_engine(
    store: MemoryStore,
    generator: str | None,
    cache: Path | None,
    chunk: int,
    device: str | None,
    stack: ExitStack,
    joint: bool = False,
) -> Engine:
    from sqe_fast.engine import Engine

    expander: Any = None
    kept: Any = None
    if generator is not None:
        from sqe_fast.expand import Expander
        from sqe_fast.expansion.cache import ExpansionCache
        from sqe_fast.generate import make_generator

        made = make_generator(generator)
        stack.callback(made.close)
        if cache is not None:
            kept = ExpansionCache(cache)
            stack.callback(kept.close)
        expander = Expander(made, kept, joint=joint)
    return Engine(store, generator=expander, chunk=chunk, device=device)


def _output(
    engine: Engine, as_json: bool, trec: bool, parquet: Path | None, texts: bool, many: bool
) -> Output:
    from sqe_fast._cli import output

    if as_json:
        return output.JsonLines(engine.snapshot, texts)
    if trec:
        return output.Trec()
    if parquet is not None:
        return output.Parquet(parquet)
    return output.Table(engine.snapshot, many)


def _answer(engine: Engine, asked: Iterator[Query], method: Any, output: Output, show: bool) -> int:
    """Answer all questions as they are read; return the exit code."""
    from sqe_fast._cli.progress import progress

    pending: deque[Query] = deque()  # read, and not answered yet: two chunks at most
    found = False
    with progress("answering", show=show) as bar:
        for batch in _stream(engine, asked, method, pending):
            queries = [pending.popleft() for _ in range(len(batch))]
            output.write(queries, batch)
            found = found or any(batch.ids)
            bar.add(len(batch))
    return FOUND if found else NOTHING


def _stream(
    engine: Engine, asked: Iterator[Query], method: Any, pending: deque[Query]
) -> Iterator[SearchBatch]:
    from sqe_fast.gate import OracleGate

    def kept() -> Iterator[Query]:
        for query in asked:
            pending.append(query)
            yield query

    if not isinstance(method.gate, OracleGate):
        return engine.search_stream((query.text for query in kept()), method)
    texts, aims = tee(kept())
    return engine.search_stream((query.text for query in texts), method, targets=map(_targets, aims))


def _targets(query: Query) -> tuple[str, ...]:
    if query.targets is None:
        raise InvalidInputError(f"--method oracle needs targets, and question {query.id!r} has none")
    return query.targets
