"""TRL's GRPOTrainer over the search environment, through its `rollout_func`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from sqe_fast._checks import check_choice
from sqe_fast._extras import require
from sqe_fast.agent.presets import Preset, get_preset
from sqe_fast.agent.qa.sets import Question
from sqe_fast.agent.retrievers.simulated import SimulatedRetriever
from sqe_fast.agent.rewards import REWARDS, Gold, score
from sqe_fast.agent.squeeze import Squeezer
from sqe_fast.agent.training._sampling import sampler
from sqe_fast.agent.training.environment import Episode, SearchEnvironment
from sqe_fast.agent.values import Budgets, Retriever, Rollout
from sqe_fast.errors import InvalidInputError
from sqe_fast.generate.base import Generator

__all__ = ["GrpoRollouts", "grpo_reward", "grpo_trainer", "training_rows"]


def grpo_trainer(
    model: Any,
    questions: Sequence[Question],
    retriever: Retriever | None,
    preset: Preset | str,
    args: Any,
    *,
    compressor: Squeezer | Generator | None = None,
    budgets: Budgets | None = None,
    reward: str | Callable[..., Any] | Sequence[str | Callable[..., Any]] | None = None,
    force_answer: bool = True,
    **more: Any,
) -> Any:
    """Return a GRPOTrainer that trains a search agent; `train()` starts it.

    Parameters
    ----------
    model
        As of GRPOTrainer: a model, a folder, or a hub name.
    questions : sequence of Question
        With their golden answers; see `sqe_fast.agent.qa.sets.load_questions`.
    retriever, preset, compressor, budgets, force_answer
        As of `Roller`. `args.max_completion_length` limits sampled tokens and observations together.
    args : trl.GRPOConfig
    reward : str or callable, or a sequence of them, optional
        Names of `sqe_fast.agent.rewards.REWARDS`, or reward functions as of GRPOTrainer; by default the
        preset's reward. Rewards of single steps are added to the total: GRPO knows one reward a completion.
    more
        Further arguments of GRPOTrainer.

    Raises
    ------
    MissingExtraError
        TRL is not installed: ``pip install 'sqe_fast[train]'``.
    InvalidInputError
        A setting of `args` does not go with rollouts of several turns.
    """
    preset = get_preset(preset)
    trl = import_trl(vllm=bool(args.use_vllm))
    datasets = require("datasets", "train", "training with TRL")
    if args.mask_truncated_completions:
        raise InvalidInputError(
            "mask_truncated_completions must be False: a rollout ends at </answer>, not with an "
            "end-of-sequence token, and TRL would take it for cut"
        )
    given = preset.reward if reward is None else reward
    paying = [given] if isinstance(given, str) or callable(given) else list(given)
    rollouts = GrpoRollouts(
        retriever, preset, compressor=compressor, budgets=budgets, force_answer=force_answer
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="You are using 'rollout_func'")
        return trl.GRPOTrainer(
            model=model,
            reward_funcs=[grpo_reward(one) if isinstance(one, str) else one for one in paying],
            args=args,
            train_dataset=datasets.Dataset.from_list(training_rows(questions)),
            rollout_func=rollouts,
            **more,
        )


def training_rows(questions: Sequence[Question]) -> list[dict[str, Any]]:
    """Return the rows of a data set for `GrpoRollouts` and `grpo_reward`; a prompt is the bare question."""
    return [
        {"prompt": one.question, "id": one.id, "set": one.set, "golden_answers": list(one.golden_answers)}
        for one in questions
    ]


class GrpoRollouts:
    """A `rollout_func`: all questions of a generation batch in step through the search environment.

    TRL gives it one prompt a completion (its sampler has repeated each `num_generations` times) and takes
    `prompt_ids`, `completion_ids`, `logprobs` (None where the model of the trainer generates: TRL computes
    them itself), `env_mask` (1 sampled, 0 shown) and, for reward functions, `rollout`.

    Parameters
    ----------
    retriever, preset, compressor, budgets, force_answer
        As of `Roller`.

    Attributes
    ----------
    episodes : list of Episode
        Those of the last call.
    """

    def __init__(
        self,
        retriever: Retriever | None,
        preset: Preset | str,
        *,
        compressor: Squeezer | Generator | None = None,
        budgets: Budgets | None = None,
        force_answer: bool = True,
    ) -> None:
        self.preset = get_preset(preset)
        self.episodes: list[Episode] = []
        self._retriever = retriever
        self._compressor = compressor
        self._budgets = budgets
        self._force = force_answer

    def __call__(self, prompts: Sequence[str], trainer: Any) -> dict[str, Any]:
        """Return one rollout for each prompt, which is a question."""
        for prompt in prompts:
            if not isinstance(prompt, str):
                raise InvalidInputError(
                    "the data set's prompt must be the bare question, a str; got messages (the preset writes "
                    "the prompt around it)"
                )
        tokenizer = trainer.processing_class
        sample = sampler(trainer)
        if isinstance(self._retriever, SimulatedRetriever) and trainer.state.max_steps > 0:
            self._retriever.progress = min(1.0, trainer.state.global_step / trainer.state.max_steps)
        environment = SearchEnvironment(
            tokenizer,
            self._retriever,
            self.preset,
            compressor=self._compressor,
            budgets=self._budgets,
            window=sample.window,
            completion=trainer.args.max_completion_length,
            ends=trainer.eos_token_ids,
            force_answer=self._force,
        )
        wanted = environment.reset(prompts)
        while wanted:
            wanted = environment.step(sample(wanted))
        self.episodes = environment.episodes()
        return _fields(self.episodes, tokenizer.eos_token_id)


def grpo_reward(name: str) -> Callable[..., list[float | None]]:
    """Return a reward function for GRPOTrainer that pays by a name of `REWARDS`.

    It reads `rollout` (of `GrpoRollouts`) and the data set's columns `golden_answers` and, where a reward
    needs them, `comparison`, `keys` and `evidence`. A rollout whose generator failed gets None, which TRL
    leaves out of its group.
    """
    check_choice("reward", name, tuple(REWARDS))

    def reward(
        rollout: Sequence[Rollout],
        golden_answers: Sequence[Sequence[str]],
        log_metric: Callable[[str, float], None] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        paid: list[float | None] = []
        for place, (one, answers) in enumerate(zip(rollout, golden_answers, strict=True)):
            if one.finish == "failed":
                paid.append(None)
                continue
            more = {key: columns[key][place] for key in ("comparison", "keys", "evidence") if key in columns}
            got = score(name, one, Gold(tuple(answers), **more))
            paid.append(got.total + sum(got.steps))
        if log_metric is not None and rollout:
            log_metric("rollout/searches", sum(len(one.turns) for one in rollout) / len(rollout))
            log_metric("rollout/valid", sum(one.valid for one in rollout) / len(rollout))
            log_metric("rollout/answered", sum(one.answer is not None for one in rollout) / len(rollout))
        return paid

    reward.__name__ = name
    return reward


def import_trl(vllm: bool = False) -> Any:
    """Import TRL; without vLLM in use, what it says of an installed vLLM's version does not matter."""
    with warnings.catch_warnings():
        if not vllm:
            warnings.filterwarnings("ignore", message="TRL currently supports vLLM")
        trl = require("trl", "train", "training with TRL")
        _ = trl.GRPOTrainer, trl.GRPOConfig  # lazy: the import happens here
    return trl


def _fields(episodes: Sequence[Episode], end: int) -> dict[str, Any]:
    """Return what TRL wants; a completion of no token gets one that is not the policy's."""
    known = all(one.logprobs is not None or not one.completion_ids for one in episodes)
    return {
        "prompt_ids": [list(one.prompt_ids) for one in episodes],
        "completion_ids": [list(one.completion_ids) or [end] for one in episodes],
        "env_mask": [list(one.mask) or [0] for one in episodes],
        "logprobs": [list(one.logprobs or ()) or [0.0] for one in episodes] if known else None,
        "rollout": [one.rollout for one in episodes],
    }
