"""`sqe-fast train`: reinforcement learning of a search agent, with TRL or verl."""

from __future__ import annotations

import shlex
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sqe_fast._cli.options import debug, examples
from sqe_fast._cli.qa.parts import RETRIEVER_HELP
from sqe_fast._cli.systems import budget_options, given_budgets, k, limit, make_preset, system, turns
from sqe_fast.errors import InvalidInputError, SqeFastError

if TYPE_CHECKING:
    from sqe_fast.agent.presets import Preset
    from sqe_fast.agent.qa.sets import Question

__all__ = ["train"]

EXAMPLES = """\
Examples:
  sqe-fast train out/ --backend trl --system search-r1 --model smollm2 --questions questions.jsonl \\
      --retriever corpus.jsonl --steps 2 --batch 2 --generations 2 --turn-tokens 32
  sqe-fast train out/ --backend verl --system expandsearch --model Qwen/Qwen2.5-3B-Instruct \\
      --questions nq --questions hotpotqa --retriever http://127.0.0.1:8000 \\
      --compressor openai:my-model@http://127.0.0.1:8001/v1 --set trainer.n_gpus_per_node=8"""

_EVALUATED = 256  # training questions that verl validates with where no others are given


@click.command(epilog=examples(EXAMPLES), short_help="Train a search agent by GRPO (TRL) or PPO (verl).")
@click.argument("out", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--backend",
    type=click.Choice(["trl", "verl"]),
    required=True,
    help="TRL: GRPO in this process. verl: PPO on Ray, for machines with GPUs.",
)
@system
@click.option("--model", required=True, help="What is trained: a folder, a hub name, or smollm2.")
@click.option(
    "--questions",
    "sources",
    multiple=True,
    required=True,
    metavar="SOURCE",
    help="A set of the hub (its train split), a file, a BEIR folder, or NAME=PATH; may be repeated.",
)
@click.option(
    "--validate",
    multiple=True,
    metavar="SOURCE",
    help="With verl: questions to validate with.  [default: the first 256 of --questions]",
)
@limit
@click.option("--retriever", metavar="WHERE", help=f"{RETRIEVER_HELP} With verl: a file, a folder or http.")
@click.option("--compressor", metavar="SPEC", help="The frozen model that squeezes, where the system does.")
@k
@turns
@click.option("--opening", metavar="TEXT", help="What each turn is begun with, such as <think>.")
@click.option("--reward", help="A reward by name.  [default: the system's]")
@budget_options
@click.option(
    "--completion-tokens",
    type=click.IntRange(1),
    metavar="N",
    help="Limit of sampled and shown tokens together.  [default: the model's window; verl 5096]",
)
@click.option("--steps", type=click.IntRange(1), metavar="N", help="Optimiser steps, in place of epochs.")
@click.option("--epochs", type=click.IntRange(1), metavar="N", help="[default: 15]")
@click.option("--batch", type=click.IntRange(1), metavar="N", help="Questions a step.  [trl 8, verl 512]")
@click.option(
    "--generations",
    type=click.IntRange(1),
    metavar="N",
    help="Rollouts a question.  [trl 8, verl 1]",
)
@click.option("--learning-rate", type=float, metavar="X", help="Of the policy.  [default: 1e-6]")
@click.option("--seed", type=click.IntRange(0), metavar="N", default=42, show_default=True)
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="A field of TRL's GRPOConfig, or an override of verl's configuration; may be repeated.",
)
@click.option("--dry-run", is_flag=True, help="With verl: write the files and print the command only.")
@debug
def train(out: Path, backend: str, system: str, **options: Any) -> None:
    """Train a search agent and keep what comes of it in the folder OUT.

    TRL needs `pip install 'sqe_fast[train]'`; it trains on a GPU, or, to try it, slowly on a CPU.
    verl needs GPUs and `pip install 'sqe_fast[verl]'` in an environment of its own.
    """
    preset = _preset(system, options)  # a mistake is told before anything is loaded
    if preset.searches != (options["retriever"] is not None):
        verb = "searches: give" if preset.searches else "does not search: leave out"
        raise click.UsageError(f"{preset.name} {verb} --retriever")
    if preset.squeeze != (options["compressor"] is not None):
        verb = "squeezes: give" if preset.squeeze else "does not squeeze: leave out"
        raise click.UsageError(f"{preset.name} {verb} --compressor")
    if options["steps"] and options["epochs"]:
        raise click.UsageError("give one of --steps and --epochs")
    for name in ("dry_run", "validate"):
        if backend == "trl" and options[name]:
            raise click.UsageError(f"--{name.replace('_', '-')} goes with --backend verl")
    (_with_verl if backend == "verl" else _with_trl)(out, preset, options)


def _with_trl(out: Path, preset: Preset, options: dict[str, Any]) -> None:
    from sqe_fast._cli.qa.parts import Generators, open_retriever
    from sqe_fast.agent.training.trl_grpo import grpo_trainer, import_trl

    fields = dict(_pair(text) for text in options["overrides"])
    trl = import_trl(vllm=_value(fields.get("use_vllm", "false")) is True)
    import torch

    gpu = torch.cuda.is_available()
    batch, generations = options["batch"] or 8, options["generations"] or 8
    settings: dict[str, Any] = {
        "output_dir": str(out),
        "max_steps": options["steps"] or -1,
        "num_train_epochs": options["epochs"] or 15,
        "per_device_train_batch_size": generations,
        "gradient_accumulation_steps": batch,
        "num_generations": generations,
        "learning_rate": options["learning_rate"] or 1e-6,
        "max_completion_length": options["completion_tokens"],
        "bf16": gpu,
        "use_cpu": not gpu,
        "dataloader_pin_memory": gpu,
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": "none",
        "seed": options["seed"],
        "disable_tqdm": True,
    }
    settings |= {name: _value(value) for name, value in fields.items()}
    if unknown := sorted(set(settings) - set(trl.GRPOConfig.__dataclass_fields__)):
        raise click.UsageError(f"--set: GRPOConfig has no field {unknown[0]!r}")
    questions = _questions(options["sources"], options["limit"])
    with ExitStack() as stack:
        generators = Generators(stack, preset)
        opened = open_retriever(options["retriever"], generators, stack)
        trainer = grpo_trainer(
            _model(options["model"]),
            questions,
            opened.retriever,
            preset,
            trl.GRPOConfig(**settings),
            compressor=generators.get(options["compressor"]) if preset.squeeze else None,
            reward=options["reward"],
        )
        trainer.train()
        trainer.save_model(str(out))
        trainer.save_state()
    click.echo(f"{trainer.state.global_step:,} steps; the model and trainer_state.json are in {out}")


def _with_verl(out: Path, preset: Preset, options: dict[str, Any]) -> None:
    from sqe_fast._extras import package_folder
    from sqe_fast.agent.training.verl.data import write_parquet
    from sqe_fast.agent.training.verl.launch import ppo_command, write_agent_loop

    overrides = ["=".join(_pair(text)) for text in options["overrides"]]
    retriever = options["retriever"]
    if retriever is not None and not retriever.startswith(("http://", "https://")):
        if not Path(retriever).exists():
            raise click.UsageError(
                f"--retriever: with verl, http://HOST:PORT or passages that are there; got {retriever!r}"
            )
        retriever = str(Path(retriever).absolute())  # workers run elsewhere
    if not options["dry_run"]:
        for package in ("verl", "ray", "vllm"):
            package_folder(package, "verl" if package != "vllm" else "gpu", "--backend verl")
    questions = _questions(options["sources"], options["limit"])
    validated = _questions(options["validate"], options["limit"], split=None) or questions[:_EVALUATED]
    out.mkdir(parents=True, exist_ok=True)
    loop = write_agent_loop(
        out / "agent_loop.json",
        preset,
        retriever,
        options["compressor"],
        settings={name: options[name] for name in ("k", "turns", "opening") if options[name] is not None},
        budgets=given_budgets(options),
    )
    given = {
        "trainer.total_training_steps": options["steps"],
        "trainer.total_epochs": options["epochs"],
        "data.train_batch_size": options["batch"],
        "actor_rollout_ref.rollout.n": options["generations"],
        "actor_rollout_ref.actor.optim.lr": options["learning_rate"],
        "data.max_prompt_length": options["prompt_tokens"],
        "data.max_response_length": options["completion_tokens"],
        "reward.custom_reward_function.reward_kwargs.reward": options["reward"],
        "data.seed": options["seed"],
    }
    command = ppo_command(
        str(_model(options["model"])),
        write_parquet(out / "train.parquet", questions, preset),
        write_parquet(out / "test.parquet", validated, preset, "test"),
        loop,
        preset,
        out,
        overrides=[*(f"{key}={value}" for key, value in given.items() if value is not None), *overrides],
    )
    if options["dry_run"]:
        click.echo(shlex.join(command))
        return
    code = subprocess.run(command, check=False).returncode
    if code != 0:
        raise SqeFastError(f"verl ended with exit code {code}; its output above tells why")


def _preset(system: str, options: dict[str, Any]) -> Preset:
    from sqe_fast.agent.rewards import REWARDS

    preset = make_preset(system, options, opening=options["opening"])
    if options["reward"] is not None and options["reward"] not in REWARDS:
        raise click.UsageError(f"--reward must be one of {', '.join(REWARDS)}; got {options['reward']!r}")
    if (options["reward"] or preset.reward) == "stepsearch":
        raise click.UsageError(
            "the reward stepsearch needs search keys and golden passages, which question files do not hold: "
            "give another --reward, or train in Python with grpo_reward"
        )
    return preset


def _questions(sources: tuple[str, ...], limit: int | None, split: str | None = "train") -> list[Question]:
    from sqe_fast.agent.qa.sets import load_questions

    return [question for source in sources for question in load_questions(source, limit, split)]


def _model(name: str) -> str:
    if name != "smollm2":
        return name
    from sqe_fast.generate.smollm2 import smollm2_folder

    return str(smollm2_folder())


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InvalidInputError(f"--set must be KEY=VALUE; got {text!r}")
    return name, value


def _value(text: str) -> Any:
    """Return a value as JSON reads it, else the text itself."""
    import json

    try:
        return json.loads(text.lower() if text in ("True", "False", "None") else text)
    except ValueError:
        return None if text == "None" else text
