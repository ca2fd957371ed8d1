"""`sqe-fast qa run`: one system over question sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sqe_fast._cli.options import debug, device, examples
from sqe_fast._cli.qa.parts import RETRIEVER_HELP
from sqe_fast._cli.systems import budget_options, k, limit, make_preset, system, turns
from sqe_fast.errors import SqeFastError

if TYPE_CHECKING:
    from sqe_fast.agent.presets import Preset
    from sqe_fast.agent.rollout import Roller

__all__ = ["run"]

EXAMPLES = """\
Examples:
  sqe-fast qa run runs/expandsearch --system expandsearch --questions questions.jsonl \\
      --policy vllm:Qwen/Qwen2.5-3B-Instruct --retriever wiki/
  sqe-fast qa run runs/search-r1 --system search-r1 --questions nq --questions hotpotqa \\
      --policy openai:my-model@http://127.0.0.1:8000/v1 --retriever http://127.0.0.1:8001
  sqe-fast qa run runs/zerosearch --system zerosearch --questions bamboogle \\
      --policy vllm:smollm2 --retriever simulated:vllm:smollm2 --limit 20

\b
Systems: r1, search-r1, zerosearch, stepsearch, router-r1, parallelsearch, expandsearch.
Sets of the hub: nq, triviaqa, popqa, hotpotqa, 2wiki, musique, bamboogle."""


@click.command(epilog=examples(EXAMPLES), short_help="Answer question sets by one system, in step.")
@click.argument("out", type=click.Path(file_okay=False, path_type=Path))
@system
@click.option(
    "--questions",
    "sources",
    multiple=True,
    required=True,
    metavar="SOURCE",
    help="A set of the hub, a file, a BEIR folder, or NAME=PATH; may be repeated.",
)
@limit
@click.option(
    "--policy",
    required=True,
    metavar="SPEC",
    help="The model that searches: vllm:MODEL, transformers:MODEL, openai:MODEL@URL or recorded:FILE; or "
    "rules, which search once and do not answer: what retrieval finds, without a model.",
)
@click.option("--compressor", metavar="SPEC", help="The model that squeezes.  [default: the policy]")
@click.option("--retriever", metavar="WHERE", help=RETRIEVER_HELP)
@click.option(
    "--method", help="How a store or passages are searched.  [default: hybrid with vectors, else bm25]"
)
@click.option("--encoder", help="For vectors of passages: minilm, a folder or a hub name.")
@k
@click.option(
    "--queries", type=click.IntRange(1), metavar="N", help="Queries a turn at most.  [default: the system's]"
)
@turns
@click.option(
    "--dialect",
    type=click.Choice(["single", "tags", "tools"]),
    help="How searches are written: one query, several, or a tool call in JSON.  [default: the system's]",
)
@click.option(
    "--template",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file with the prompt that a model was trained on, {question} where the question goes.",
)
@budget_options
@click.option(
    "--context-tokens",
    type=click.IntRange(1),
    metavar="N",
    help="Of everything.  [default: the model's window]",
)
@click.option(
    "--squeeze-tokens",
    type=click.IntRange(1),
    metavar="N",
    default=512,
    show_default=True,
    help="Of an observation.",
)
@click.option(
    "--fallback",
    type=click.Choice(["raw", "truncated", "drop"]),
    default="raw",
    show_default=True,
    help="What is shown where the compressor fails.",
)
@click.option(
    "--temperature",
    type=float,
    metavar="X",
    default=0.0,
    show_default=True,
    help="Of the policy; 0 is greedy.",
)
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Fixes samples where the engine can.")
@click.option(
    "--continuation",
    type=click.Choice(["prefill", "chat"]),
    help="How the policy goes on after a search.  [default: chat with openai:, else prefill]",
)
@click.option("--no-forced-answer", is_flag=True, help="Let a rollout end without an answer.")
@click.option(
    "--batch", type=click.IntRange(1), metavar="N", default=256, show_default=True, help="Questions in step."
)
@click.option("--retry-failed", is_flag=True, help="Ask again the questions whose model failed.")
@device
@debug
def run(
    out: Path,
    system: str,
    sources: tuple[str, ...],
    limit: int | None,
    policy: str,
    compressor: str | None,
    retriever: str | None,
    method: str | None,
    encoder: str | None,
    device: str | None,
    batch: int,
    retry_failed: bool,
    **options: Any,
) -> None:
    """Answer questions by one search agent and keep a row of each in the folder OUT.

    A run that was stopped goes on when it is started again with the same settings: questions that have a row
    are not asked again. `sqe-fast qa report` makes tables of runs, `sqe-fast qa show` shows one
    question's way.
    """
    preset = _preset(system, options)  # a mistake is told before anything is loaded
    if preset.searches and retriever is None:
        raise click.UsageError(f"{preset.name} searches: give --retriever")
    if not preset.searches and retriever is not None:
        raise click.UsageError(f"{preset.name} does not search: leave out --retriever")
    if compressor is not None and not preset.squeeze:
        raise click.UsageError(f"{preset.name} does not squeeze: leave out --compressor")
    if policy == "rules" and not preset.searches:
        raise click.UsageError(f"--policy rules only searches, and {preset.name} does not")
    if preset.squeeze and (compressor or policy) == "rules":
        raise click.UsageError(f"{preset.name} squeezes, which rules cannot: give a model as --compressor")
    from sqe_fast._cli.progress import progress
    from sqe_fast._cli.qa.parts import Generators, open_retriever
    from sqe_fast.agent.qa.run import read_run, run_qa, unanswered
    from sqe_fast.agent.qa.sets import load_questions

    questions = [question for source in sources for question in load_questions(source, limit)]
    with ExitStack() as stack:
        generators = Generators(stack, preset)
        opened = open_retriever(retriever, generators, stack, method=method, encoder=encoder, device=device)
        compressor = (compressor or policy) if preset.squeeze else None
        continuation = options["continuation"] or ("chat" if policy.startswith("openai:") else "prefill")
        settings = {
            **_preset_settings(preset),
            "policy": policy,
            "compressor": compressor,
            "squeeze_tokens": options["squeeze_tokens"] if compressor else None,
            "fallback": options["fallback"] if compressor else None,
            "retriever": dict(opened.settings),
            "temperature": options["temperature"],
            "seed": options["seed"],
            "continuation": continuation,
            "forced_answer": not options["no_forced_answer"],
        }
        roller = _roller(preset, generators, opened.retriever, policy, compressor, continuation, options)
        left = len(unanswered(out, questions, retry_failed=retry_failed))
        with progress("answering", total=left) as bar:
            answered = run_qa(
                out,
                questions,
                roller,
                settings,
                batch=batch,
                searches=preset.searches,
                retry_failed=retry_failed,
                on_rows=lambda rows: bar.add(len(rows)),
            )
    _tell(out, read_run(out).rows, answered)


def _preset(system: str, options: dict[str, Any]) -> Preset:
    from sqe_fast.agent.dialect import DIALECTS

    template = options["template"]
    return make_preset(
        system,
        options,
        dialect=DIALECTS[options["dialect"]] if options["dialect"] else None,
        template=template.read_text(encoding="utf-8") if template is not None else None,
    )


def _preset_settings(preset: Preset) -> dict[str, Any]:
    """Return what is pinned of a preset: all that decides an answer, the prompt as the policy reads it."""
    return {
        "system": preset.name,
        "queries": preset.queries,
        "k": preset.k,
        "turns": preset.turns,
        "squeeze": preset.squeeze,
        "dialect": preset.dialect.name,
        "prompt": preset.ask("{question}"),
        "budgets": {one.name: getattr(preset.budgets, one.name) for one in fields(preset.budgets)},
    }


def _roller(
    preset: Preset,
    generators: Any,
    retriever: Any,
    policy: str,
    compressor: str | None,
    continuation: Any,
    options: dict[str, Any],
) -> Roller:
    from sqe_fast.agent.rollout import Roller
    from sqe_fast.agent.squeeze import Squeezer

    squeezer = None
    if compressor is not None:
        squeezer = Squeezer(
            generators.get(compressor), max_new_tokens=options["squeeze_tokens"], fallback=options["fallback"]
        )
    return Roller(
        generators.get(policy),
        retriever,
        preset,
        compressor=squeezer,
        temperature=options["temperature"],
        seed=options["seed"],
        continuation=continuation,
        force_answer=not options["no_forced_answer"],
    )


def _tell(out: Path, rows: Sequence[Mapping[str, Any]], answered: int) -> None:
    from sqe_fast.agent.qa.report import squeezes

    right = sum(row["em"] for row in rows)
    failed = sum(row["finish"] == "failed" for row in rows)
    click.echo(f"{answered:,} answered now, {len(rows):,} in {out}: exact match {right / len(rows):.1%}")
    if told := squeezes(rows):
        click.echo(told, err=True)
    if failed:
        first = next(row["problem"] for row in rows if row["finish"] == "failed")
        told = f"{failed:,} failed (--retry-failed asks them again), the first: {first}"
        if failed == len(rows):
            raise SqeFastError(told)
        click.echo(told, err=True)
