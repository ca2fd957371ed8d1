"""How a TRL trainer generates a turn: with its own model, or with the vLLM that it keeps in step with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqe_fast.agent.training.environment import Sample, Wanted
from sqe_fast.errors import InvalidInputError

__all__ = ["sampler"]


def sampler(trainer: Any) -> _OwnModel | _Vllm:
    """Return what samples turns for `trainer`, and knows its `window`.

    Raises
    ------
    InvalidInputError
        The trainer generates in a way that needs all processes to generate equally often, which rollouts of
        different lengths do not.
    """
    return _Vllm(trainer) if trainer.use_vllm else _OwnModel(trainer)


class _OwnModel:
    """`generate` of the model that is trained, all live questions in one call."""

    def __init__(self, trainer: Any) -> None:
        if getattr(trainer, "use_transformers_continuous_batching", False):
            raise InvalidInputError("use_transformers_continuous_batching must be False for search agents")
        if trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled:
            raise InvalidInputError(
                "generation with a sharded model is not in step over processes: use use_vllm=True with "
                "vllm_mode='colocate'"
            )
        config = trainer.model.config
        self.window: int | None = getattr(config, "max_position_embeddings", None)
        self._trainer = trainer

    def __call__(self, wanted: Sequence[Wanted]) -> list[Sample]:
        """Sample for each; those that stop at the same texts go together."""
        return _by_stop(wanted, self._generate)

    def _generate(self, wanted: Sequence[Wanted], limit: int, stop: tuple[str, ...]) -> list[Sample]:
        import copy

        import torch
        from trl.models.utils import unwrap_model_for_generation

        trainer, tokenizer = self._trainer, self._trainer.processing_class
        width = max(len(one.ids) for one in wanted)
        pad = tokenizer.pad_token_id
        device = trainer.accelerator.device
        ids = torch.tensor([[pad] * (width - len(one.ids)) + list(one.ids) for one in wanted], device=device)
        kept = torch.tensor(
            [[0] * (width - len(one.ids)) + [1] * len(one.ids) for one in wanted], device=device
        )
        settings = copy.deepcopy(trainer.generation_config)
        settings.max_new_tokens = limit
        settings.stop_strings = list(stop)
        with (
            unwrap_model_for_generation(
                trainer.model_wrapped,
                trainer.accelerator,
                generation_kwargs=trainer.generation_kwargs,
                gradient_checkpointing_kwargs=trainer.args.gradient_checkpointing_kwargs,
            ) as model,
            torch.no_grad(),
        ):
            out = model.generate(
                input_ids=ids, attention_mask=kept, generation_config=settings, tokenizer=tokenizer
            )
        return [Sample(row) for row in out[:, width:].tolist()]


class _Vllm:
    """The trainer's vLLM, whose weights TRL has brought up to date before the rollouts of a batch."""

    def __init__(self, trainer: Any) -> None:
        processes = trainer.accelerator.num_processes
        engine = trainer.vllm_generation
        if processes > 1 and (
            engine.mode != "colocate" or engine.tensor_parallel_size > 1 or engine.enable_sleep_mode
        ):
            raise InvalidInputError(
                "with several processes search agents need vllm_mode='colocate', "
                "vllm_tensor_parallel_size=1 and vllm_enable_sleep_mode=False: rollouts of different lengths "
                "do not generate equally often in each"
            )
        self.window: int | None = None
        if engine.mode == "colocate":
            self.window = int(engine.llm.llm_engine.model_config.max_model_len)
        self._engine = engine

    def __call__(self, wanted: Sequence[Wanted]) -> list[Sample]:
        """Sample for each; those that stop at the same texts go together."""
        return _by_stop(wanted, self._generate)

    def _generate(self, wanted: Sequence[Wanted], limit: int, stop: tuple[str, ...]) -> list[Sample]:
        engine, before = self._engine, self._engine.generation_kwargs
        prompts = [list(one.ids) for one in wanted]
        engine.generation_kwargs = {
            **(before or {}),
            "max_tokens": limit,
            "stop": list(stop),
            "include_stop_str_in_output": True,
        }
        try:
            _, ids, logprobs, _ = engine.generate(prompts=prompts, images=None, num_generations=1)
        finally:
            engine.generation_kwargs = before
        return [
            Sample(list(row), [float("nan") if one[0] is None else one[0] for one in values])
            for row, values in zip(ids, logprobs, strict=True)
        ]


def _by_stop(
    wanted: Sequence[Wanted], generate: Callable[[Sequence[Wanted], int, tuple[str, ...]], list[Sample]]
) -> list[Sample]:
    """Sample for all in one call for each set of stop texts, up to the highest limit among them.

    The environment cuts each sample to its own limit: a few tokens too many cost less than a call more.
    """
    samples: dict[int, Sample] = {}
    for stop in dict.fromkeys(one.stop for one in wanted):
        members = [(place, one) for place, one in enumerate(wanted) if one.stop == stop]
        own = [one for _, one in members]
        found = generate(own, max(one.limit for one in own), stop)
        samples.update((place, sample) for (place, _), sample in zip(members, found, strict=True))
    return [samples[place] for place in range(len(wanted))]
