"""Starting verl: the agent loop's file, and the command line over the configuration."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sqe_fast._checks import describe
from sqe_fast.agent.presets import Preset, get_preset
from sqe_fast.agent.training.verl.data import NAME
from sqe_fast.errors import InvalidInputError

__all__ = ["CONFIG", "LOOP", "ppo_command", "write_agent_loop"]

CONFIG = Path(__file__).with_name("config") / "search_ppo.yaml"
LOOP = "sqe_fast.agent.training.verl.agent_loop.SearchAgentLoop"


def write_agent_loop(
    path: str | os.PathLike[str],
    preset: Preset | str,
    retriever: str | None,
    compressor: str | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    budgets: Mapping[str, int] | None = None,
    force_answer: bool = True,
) -> Path:
    """Write the file that `rollout.agent.agent_loop_config_path` names (JSON, which YAML reads).

    Parameters
    ----------
    path
    preset : str or Preset
        Of a Preset its name is written; what was changed in it belongs into `settings`.
    retriever, compressor : str or None
        As `sqe_fast.agent.training.verl.parts` reads them, on each node.
    settings : mapping, optional
        Fields of the preset in place of its own.
    budgets : mapping, optional
        Fields of `Budgets`.
    """
    preset = get_preset(preset, **(settings or {}))
    if preset.searches != (retriever is not None):
        need = "searches: give a retriever" if preset.searches else "does not search: leave out the retriever"
        raise InvalidInputError(f"{preset.name} {need}")
    if preset.squeeze != (compressor is not None):
        need = "squeezes: give a compressor" if preset.squeeze else "does not squeeze"
        raise InvalidInputError(f"{preset.name} {need}; got compressor={describe(compressor)}")
    entry = {
        "name": NAME,
        "_target_": LOOP,
        "preset": preset.alias,
        "retriever": retriever,
        "compressor": compressor,
        "settings": dict(settings or {}),
        "budgets": dict(budgets or {}),
        "force_answer": force_answer,
    }
    target = Path(path)
    target.write_text(json.dumps([entry], indent=2) + "\n", encoding="utf-8")
    return target


def ppo_command(
    model: str,
    train: str | os.PathLike[str],
    test: str | os.PathLike[str],
    agent_loop: str | os.PathLike[str],
    preset: Preset | str,
    output: str | os.PathLike[str],
    *,
    overrides: Sequence[str] = (),
    python: str = sys.executable,
) -> list[str]:
    """Return the command that trains by PPO; `overrides` are hydra's, ``key=value``, and come last."""
    preset = get_preset(preset)
    settings = {
        "actor_rollout_ref.model.path": model,
        "data.train_files": Path(train).absolute(),
        "data.val_files": Path(test).absolute(),
        "actor_rollout_ref.rollout.agent.agent_loop_config_path": Path(agent_loop).absolute(),
        "reward.custom_reward_function.reward_kwargs.reward": preset.reward,
        "trainer.default_local_dir": Path(output).absolute() / "checkpoints",
        "trainer.experiment_name": preset.alias,
    }
    return [
        python,
        "-m",
        "verl.trainer.main_ppo",
        f"--config-path={CONFIG.parent}",
        f"--config-name={CONFIG.stem}",
        *(f"{key}={_quoted(str(value))}" for key, value in settings.items()),
        *overrides,
    ]


def _quoted(value: str) -> str:
    """Return a value as hydra's grammar takes it whatever it holds."""
    if all(letter.isalnum() or letter in "-_./:+" for letter in value):
        return value
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
