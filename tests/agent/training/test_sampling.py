"""What is asked of the vLLM that a TRL trainer keeps; the trainer's own model is in test_trl_grpo.py."""

from __future__ import annotations

import inspect
import math
from types import SimpleNamespace

import pytest

pytest.importorskip("trl")

from sqe_fast.agent.training._sampling import sampler
from sqe_fast.agent.training.environment import Sample, Wanted
from sqe_fast.errors import InvalidInputError

BOTH, ANSWER = ("</search>", "</answer>"), ("</answer>",)
WANTED = [Wanted(0, (1, 2), 9, BOTH), Wanted(3, (1,), 4, ANSWER), Wanted(5, (7, 8, 9), 12, BOTH)]


class Engine:
    """The part of TRL's VLLMGeneration that is used; says the first id of a prompt, twice."""

    mode, tensor_parallel_size, enable_sleep_mode = "colocate", 1, False
    fails = False

    def __init__(self):
        self.generation_kwargs = {"seed": 3}
        config = SimpleNamespace(max_model_len=512)
        self.llm = SimpleNamespace(llm_engine=SimpleNamespace(model_config=config))
        self.asked = []

    def generate(self, prompts, images, num_generations, profiler=None):
        self.asked.append((prompts, num_generations, self.generation_kwargs))
        if self.fails:
            raise RuntimeError("out of memory")
        ids = [[prompt[0]] * 2 for prompt in prompts]
        return prompts, ids, [[[-1.0], [None]] for _ in ids], None


def trainer(engine, processes=1):
    return SimpleNamespace(
        use_vllm=True, vllm_generation=engine, accelerator=SimpleNamespace(num_processes=processes)
    )


def test_one_call_for_each_set_of_stop_texts():
    engine = Engine()
    sample = sampler(trainer(engine))
    made = sample(WANTED)
    assert sample.window == 512
    assert [list(one.ids) for one in made] == [[1, 1], [1, 1], [7, 7]]
    assert all(isinstance(one, Sample) and one.logprobs[0] == -1.0 for one in made)
    assert all(math.isnan(one.logprobs[1]) for one in made)  # vLLM had none
    (prompts, each, settings), (_, _, forced) = engine.asked
    assert (prompts, each) == ([[1, 2], [7, 8, 9]], 1)
    assert settings == {
        "seed": 3, "max_tokens": 12, "stop": list(BOTH), "include_stop_str_in_output": True,
    }  # fmt: skip
    assert (forced["max_tokens"], forced["stop"]) == (4, list(ANSWER))
    assert engine.generation_kwargs == {"seed": 3}


def test_the_settings_of_the_trainer_come_back_after_a_failure():
    engine = Engine()
    engine.fails = True
    with pytest.raises(RuntimeError, match="out of memory"):
        sampler(trainer(engine))(WANTED)
    assert engine.generation_kwargs == {"seed": 3}


@pytest.mark.parametrize(
    "change", [{"mode": "server"}, {"tensor_parallel_size": 2}, {"enable_sleep_mode": True}]
)
def test_what_needs_processes_in_step_is_refused(change):
    engine = Engine()
    vars(engine).update(change)
    with pytest.raises(InvalidInputError, match="with several processes search agents need"):
        sampler(trainer(engine, processes=2))
    assert sampler(trainer(engine)) is not None


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore:TRL currently supports vLLM")
def test_trl_has_what_is_used():
    from trl.generation.vllm_generation import VLLMGeneration

    assert list(inspect.signature(VLLMGeneration.generate).parameters) == list(
        inspect.signature(Engine.generate).parameters
    )
    source = inspect.getsource(VLLMGeneration)
    assert "generation_kwargs.update(self.generation_kwargs)" in source
    for name in ("mode", "tensor_parallel_size", "enable_sleep_mode", "llm"):
        assert f"self.{name} = " in source
