"""What is checked against verl itself, run by an interpreter that has it; prints one JSON object of results.

No pytest here: verl pins other versions of what the tests of this package use.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import math
import os
import sys
import traceback
from pathlib import Path

import numpy as np
import torch
from noted import PASSAGES, NotedIndex
from omegaconf import MissingMandatoryValue, OmegaConf
from tensordict import TensorDict
from transformers import AutoTokenizer
from verl import DataProto
from verl.experimental.agent_loop.agent_loop import (
    AgentLoopBase,
    AgentLoopOutput,
    DictConfigWrap,
    ToolListWrap,
    _agent_loop_registry,
)
from verl.tools.base_tool import BaseTool
from verl.tools.tool_registry import load_all_tools
from verl.utils.config import omega_conf_to_dataclass
from verl.utils.dataset.rl_dataset import RLHFDataset
from verl.workers.rollout.replica import TokenOutput

from sqe_fast.agent.qa.sets import Question
from sqe_fast.agent.rollout import Budgets
from sqe_fast.agent.training.environment import Sample, SearchEnvironment
from sqe_fast.agent.training.verl import agent_loop, data, launch, parts, tool

QUESTIONS = [
    Question("nq", str(place), text, answers)
    for place, (text, answers) in enumerate(
        [
            ("When was Emma published?", ("1815",)),
            ("Where was Jane Austen born?", ("Steventon", "Hampshire")),
            ("Which novel did Jane Austen finish last?", ("Persuasion",)),
            ("Who?", ("Emma",)),
        ]
    )
]
TURNS = {
    QUESTIONS[0].question: [
        "<think>Look.</think><search>Emma novel</search>",
        "<think>So.</think><answer>1815</answer>",
    ],
    QUESTIONS[1].question: [
        "<think>Look.</think><search>Jane Austen</search>",
        "<think>More.</think>\n<search>Steventon</search>",
        "<think>So.</think><answer>Steventon</answer>",
    ],
    QUESTIONS[2].question: ["<think>I know.</think><answer>Emma</answer>"],
    QUESTIONS[3].question: ["nothing", "no answer either"],
}


class Server:
    """Stands for verl's LLMServerClient: `generate` returns token ids; told by the prompt who asks."""

    def __init__(self, tokenizer, logprobs=True):
        self.tokenizer, self.logprobs, self.asked = tokenizer, logprobs, []

    async def generate(self, request_id, *, prompt_ids, sampling_params):
        assert isinstance(prompt_ids, list)
        assert sampling_params["include_stop_str_in_output"] is True
        assert sampling_params["temperature"] == 1.0
        place = sum(one[0] == request_id for one in self.asked)
        self.asked.append((request_id, list(prompt_ids), dict(sampling_params)))
        await asyncio.sleep(0.01)
        said = self.said(prompt_ids, place, sampling_params["stop"], sampling_params["max_tokens"])
        sampling_params.clear()  # as vLLM's server does, in part
        logprobs = [-0.25] * len(said) if self.logprobs else None
        return TokenOutput(
            token_ids=said, log_probs=logprobs, num_preempted=place, extra_fields={"max_global_steps": place}
        )

    def said(self, prompt_ids, place, stop, limit):
        text = self.tokenizer.decode(prompt_ids)
        turns = next(turns for question, turns in TURNS.items() if question in text)
        ids = self.tokenizer(turns[min(place, len(turns) - 1)], add_special_tokens=False)["input_ids"]
        if not any(word in turns[min(place, len(turns) - 1)] for word in stop):
            ids = [*ids, self.tokenizer.eos_token_id]
        return ids[:limit]


def the_tokenizer():
    return AutoTokenizer.from_pretrained(os.environ["CHECKS_TOKENIZER"])


def composed(*overrides):
    from hydra import compose, initialize_config_dir

    with initialize_config_dir(str(launch.CONFIG.parent), version_base=None):
        return compose(launch.CONFIG.stem, overrides=list(overrides))


def complete(folder, *more):
    loops = launch.write_agent_loop(folder / "loop.json", "search-r1", str(folder / "corpus.jsonl"))
    return composed(
        f"data.train_files={folder}/train.parquet",
        f"data.val_files={folder}/train.parquet",
        "actor_rollout_ref.model.path=" + os.environ["CHECKS_TOKENIZER"],
        f"actor_rollout_ref.rollout.agent.agent_loop_config_path={loops}",
        *more,
    )


def corpus(folder):
    path = folder / "corpus.jsonl"
    rows = [{"_id": one.id, "title": one.title, "text": one.text} for one in PASSAGES]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def loop_of(folder, server, tokenizer, **more):
    """Make an agent loop as AgentLoopWorker does."""
    import hydra

    config = complete(folder)
    entries = OmegaConf.load(config.actor_rollout_ref.rollout.agent.agent_loop_config_path)
    return hydra.utils.instantiate(
        config=OmegaConf.merge(entries[0], more),
        trainer_config=DictConfigWrap(config=config),
        server_manager=server,
        tokenizer=tokenizer,
        processor=None,
        hf_model_type="llama",
        dataset_cls=RLHFDataset,
        data_config=DictConfigWrap(config.data),
        tools=ToolListWrap([]),
    )


def rows_of(questions=QUESTIONS, preset="search-r1"):
    return data.verl_rows(questions, preset)


SAMPLING = {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "repetition_penalty": 1.0, "logprobs": True}


async def run_all(folder, server, tokenizer, rows, **more):
    loops = [loop_of(folder, server, tokenizer, **more) for _ in rows]
    return await asyncio.gather(
        *(
            loop.run(dict(SAMPLING), raw_prompt=row["prompt"], index=0, uid="u", session_id=0, **row)
            for loop, row in zip(loops, rows, strict=True)
        )
    )


def check_base_classes(folder):
    assert issubclass(agent_loop.SearchAgentLoop, AgentLoopBase)
    assert issubclass(tool.SearchTool, BaseTool)
    assert _agent_loop_registry[data.NAME] == {"_target_": launch.LOOP}


def check_agent_loop_equals_the_environment(folder):
    tokenizer = the_tokenizer()
    corpus(folder)
    server = Server(tokenizer)
    outputs = asyncio.run(run_all(folder, server, tokenizer, rows_of()))
    environment = SearchEnvironment(
        tokenizer, NotedIndex(), "search-r1", budgets=Budgets(prompt=4096), completion=5096
    )
    wanted = environment.reset([one.question for one in QUESTIONS])
    places = dict.fromkeys(range(len(QUESTIONS)), 0)
    while wanted:
        samples = []
        for one in wanted:
            ids = server.said(list(one.ids), places[one.row], one.stop, one.limit)
            places[one.row] += 1
            samples.append(Sample(ids, [-0.25] * len(ids)))
        wanted = environment.step(samples)
    for output, episode in zip(outputs, environment.episodes(), strict=True):
        assert isinstance(output, AgentLoopOutput)
        assert output.prompt_ids == list(episode.prompt_ids)
        assert output.response_ids == list(episode.completion_ids)
        assert output.response_mask == list(episode.mask)
        assert output.response_logprobs == list(episode.logprobs)
        assert output.extra_fields["search_rollout"]["answer"] == episode.rollout.answer
        assert output.extra_fields["turn_scores"] == []
        fields = output.as_dict()
        assert fields["response_mask"].tolist() == list(episode.mask)
        assert fields["rollout_log_probs"].shape == fields["responses"].shape
    assert [output.num_turns for output in outputs] == [4, 6, 2, 3]
    assert [output.metrics.num_preempted for output in outputs] == [1, 2, 0, 1]
    assert outputs[1].extra_fields["max_global_steps"] == 2
    assert 0 in outputs[0].response_mask
    assert outputs[0].metrics.generate_sequences > 0


def check_agent_loops_search_together(folder):
    tokenizer = the_tokenizer()
    corpus(folder)
    parts._retriever.cache_clear()
    agent_loop._shared.cache_clear()
    index = NotedIndex()
    original, parts._retriever = parts._retriever, lambda _: index
    try:
        rows = [rows_of()[0]] * 8
        asyncio.run(run_all(folder, Server(tokenizer), tokenizer, rows))
    finally:
        parts._retriever = original
    assert 1 <= len(index.batches) < 8, index.batches
    assert set().union(*index.batches) == {"Emma novel"}


def check_the_worker_of_verl_runs_the_loop(folder):
    """verl's own worker: it finds the loop by its file, runs rows of its data set, and pads what comes."""
    from verl.experimental.agent_loop.agent_loop import AgentLoopWorker

    corpus(folder)
    data.write_parquet(folder / "train.parquet", QUESTIONS, "search-r1")
    config = complete(folder, "data.max_response_length=600", "data.max_prompt_length=1000")
    config.actor_rollout_ref.rollout.agent.num_workers = 1
    rows = RLHFDataset(str(folder / "train.parquet"), the_tokenizer(), config.data)
    named = [
        {key: value for key, value in rows[place].items() if key != "dummy_tensor"} for place in range(4)
    ]

    async def work():
        worker = AgentLoopWorker(config, Server(the_tokenizer()))
        columns = {}
        for key in named[0]:
            columns[key] = np.empty(len(named), dtype=object)
            columns[key][:] = [row[key] for row in named]
        batch = DataProto(
            batch=TensorDict({"dummy": torch.zeros(4, 1)}, batch_size=4), non_tensor_batch=columns
        )
        return await worker.generate_sequences(batch)

    made = asyncio.run(work())
    assert made.batch["responses"].shape == made.batch["response_mask"].shape == (4, 600)
    loops = asyncio.run(run_all(folder, Server(the_tokenizer()), the_tokenizer(), rows_of()))
    for place, output in enumerate(loops):
        size = len(output.response_ids)
        assert made.batch["responses"][place, :size].tolist() == output.response_ids
        assert made.batch["response_mask"][place, :size].tolist() == output.response_mask
        assert not made.batch["response_mask"][place, size:].any()
        prompt = made.batch["prompts"][place, -len(output.prompt_ids) :]
        assert prompt.tolist() == output.prompt_ids


def check_agent_loop_keeps_the_lengths_of_verl(folder):
    tokenizer = the_tokenizer()
    corpus(folder)
    config = complete(folder, "data.max_response_length=40", "data.max_prompt_length=4000")
    import hydra

    entries = OmegaConf.load(config.actor_rollout_ref.rollout.agent.agent_loop_config_path)
    made = hydra.utils.instantiate(
        config=entries[0],
        trainer_config=DictConfigWrap(config=config),
        server_manager=Server(tokenizer, logprobs=False),
        tokenizer=tokenizer,
        processor=None,
        dataset_cls=RLHFDataset,
        data_config=DictConfigWrap(config.data),
    )
    row = rows_of()[1]
    output = asyncio.run(made.run(dict(SAMPLING), **row))
    assert 0 < len(output.response_ids) <= 40
    assert output.response_logprobs is None
    config.data.max_prompt_length = 3
    made.rollout_config.prompt_length = 3
    short = agent_loop.SearchAgentLoop(
        DictConfigWrap(config), Server(tokenizer), tokenizer, None, RLHFDataset, DictConfigWrap(config.data),
        preset="r1",
    )  # fmt: skip
    output = asyncio.run(short.run(dict(SAMPLING), **row))
    assert len(output.prompt_ids) == 3
    assert (output.response_ids, output.response_mask) == ([tokenizer.eos_token_id], [0])
    assert output.extra_fields["search_rollout"]["finish"] == "failed"


def check_mistakes_are_told(folder):
    tokenizer = the_tokenizer()
    corpus(folder)
    made = loop_of(folder, Server(tokenizer), tokenizer)
    with raises("no extra_info.question"):
        asyncio.run(made.run(dict(SAMPLING), extra_info={}))
    config = complete(folder, "actor_rollout_ref.rollout.name=sglang")
    with raises("rollout.name must be vllm"):
        agent_loop.SearchAgentLoop(
            DictConfigWrap(config), None, tokenizer, None, RLHFDataset, DictConfigWrap(config.data)
        )
    with raises("config needs retriever"):
        tool.SearchTool({}, None)


def check_tool(folder):
    config = OmegaConf.load(launch.CONFIG.with_name("search_tool.yaml"))
    with contextlib.suppress(MissingMandatoryValue):
        raise AssertionError(f"a retriever is named: {config.tools[0].config.retriever}")
    config.tools[0].config.merge_with({"retriever": str(corpus(folder)), "k": 2})
    path = folder / "tools.yaml"
    OmegaConf.save(config, path)
    (made,) = load_all_tools(str(path), None)
    assert isinstance(made, BaseTool)
    assert made.name == "search"

    async def use():
        name, _ = await made.create(create_kwargs={"question": "Where?", "golden_answers": ["Steventon"]})
        empty = await made.calc_reward(name)
        response, reward, metrics = await made.execute(
            name, {"query_list": ["Jane Austen born", " Jane  Austen born", "Emma"]}, agent_data=None
        )
        nothing, _, told = await made.execute(name, {"query_list": [3]})
        paid = await made.calc_reward(name)
        await made.release(name)
        return empty, response, reward, metrics, nothing, told, paid, await made.calc_reward(name)

    empty, response, reward, metrics, nothing, told, paid, after = asyncio.run(use())
    assert (empty, reward, paid, after) == (0.0, 0.0, 1.0, 0.0)
    assert "Steventon in 1775" in response.text
    assert metrics["queries"] == 2
    assert "no query" in nothing.text
    assert told["problem"] == "no query"


def check_tool_in_the_loop_of_verl(folder):
    """verl's own tool agent loop calls the tool as its parser reads it."""
    from verl.experimental.agent_loop.tool_agent_loop import ToolAgentLoop

    tokenizer = the_tokenizer()
    tokenizer.chat_template = (
        "{% for m in messages %}[{{ m.role }}] {{ m.content }}{{ eos_token }}{% endfor %}"
        "{% if add_generation_prompt %}[assistant] {% endif %}"
    )
    config = complete(folder, "actor_rollout_ref.rollout.multi_turn.max_tool_response_length=4000")
    made = tool.SearchTool({"retriever": str(corpus(folder)), "k": 1}, None)
    call = '<tool_call>\n{"name": "search", "arguments": {"query_list": ["Emma novel"]}}\n</tool_call>'

    class Calls:
        count = 0

        async def generate(self, request_id, *, prompt_ids, sampling_params, **_):
            self.count += 1
            self.prompt = tokenizer.decode(prompt_ids)
            said = call if self.count == 1 else "<answer>1815</answer>"
            return TokenOutput(token_ids=[*tokenizer(said)["input_ids"], tokenizer.eos_token_id])

    server = Calls()
    row = rows_of()[0]

    async def use():
        loop = ToolAgentLoop(
            DictConfigWrap(config), server, tokenizer, None, RLHFDataset, DictConfigWrap(config.data),
            tools=ToolListWrap([made]),
        )  # fmt: skip
        kwargs = row["extra_info"]["tools_kwargs"]
        return await loop.run(dict(SAMPLING), raw_prompt=row["prompt"], tools_kwargs=kwargs)

    output = asyncio.run(use())
    assert server.count == 2
    assert "published in December 1815" in server.prompt
    assert set(output.response_mask) == {0, 1}


def check_reward_function(folder):
    from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager
    from verl.trainer.ppo.reward import get_custom_reward_fn

    tokenizer = the_tokenizer()
    corpus(folder)
    outputs = asyncio.run(run_all(folder, Server(tokenizer), tokenizer, rows_of()))
    paid = []

    async def score():
        manager = NaiveRewardManager(complete(folder), tokenizer, get_custom_reward_fn(complete(folder)))
        for row, output in zip(rows_of(), outputs, strict=True):
            responses = torch.tensor([output.response_ids])
            batch = TensorDict(
                {"responses": responses, "attention_mask": torch.ones_like(responses)}, batch_size=1
            )
            named = {key: np.array([row[key]], dtype=object) for key in row if key != "prompt"}
            named["__num_turns__"] = np.array([output.num_turns])
            named["tool_extra_fields"] = np.array([output.extra_fields], dtype=object)
            paid.append(await manager.run_single(DataProto(batch=batch, non_tensor_batch=named)))

    asyncio.run(score())
    # Right and valid; right and valid; wrong and valid; no tags, but an answer when it was asked for.
    assert [one["reward_score"] for one in paid] == [1.0, 1.0, 0.2, 0.1], paid
    assert [one["reward_extra_info"]["searches"] for one in paid] == [1, 2, 0, 0]
    assert all(math.isfinite(value) for one in paid for value in one["reward_extra_info"].values())


def check_data(folder):
    path = data.write_parquet(folder / "train.parquet", QUESTIONS, "search-r1")
    tokenizer = the_tokenizer()
    config = OmegaConf.create(
        {"max_prompt_length": 4000, "filter_overlong_prompts": False, "cache_dir": str(folder)}
    )
    found = RLHFDataset(str(path), tokenizer, config)
    assert len(found) == len(QUESTIONS)
    corpus(folder)
    rows = [found[place] for place in range(len(found))]
    assert [row["agent_name"] for row in rows] == [data.NAME] * len(rows)
    assert [row["index"] for row in rows] == [0, 1, 2, 3]
    kept = [
        {k: row[k] for k in ("extra_info", "reward_model", "data_source", "tools_kwargs", "prompt")}
        for row in rows
    ]
    outputs = asyncio.run(run_all(folder, Server(tokenizer), tokenizer, kept))
    answers = [output.extra_fields["search_rollout"]["answer"] for output in outputs]
    assert answers[:3] == ["1815", "Steventon", "Emma"]


def check_configuration_composes(folder):
    from hydra import compose, initialize_config_module

    corpus(folder)
    config = complete(folder)
    with initialize_config_module("verl.trainer.config", version_base=None):
        base = compose("ppo_trainer")
    own = OmegaConf.load(launch.CONFIG)
    unknown = sorted(unknown_keys(own, base))
    # A free mapping that verl asks for by name, and what hydra itself takes.
    assert unknown == ["defaults", "hydra", "reward.custom_reward_function.reward_kwargs"], unknown
    assert config.algorithm.adv_estimator == "gae"
    assert config.actor_rollout_ref.actor.optim.lr == 1e-6
    assert config.critic.optim.lr == 1e-5
    assert (config.data.train_batch_size, config.actor_rollout_ref.actor.ppo_mini_batch_size) == (512, 256)
    micro = config.actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu
    assert micro * config.trainer.n_gpus_per_node * config.trainer.nnodes == 64
    assert config.critic.ppo_micro_batch_size_per_gpu == micro
    assert config.trainer.total_epochs == 15
    assert not config.algorithm.use_kl_in_reward
    assert not config.actor_rollout_ref.actor.use_kl_loss
    assert config.actor_rollout_ref.rollout.prompt_length == 4096
    assert config.actor_rollout_ref.rollout.response_length == 5096
    actor = config.actor_rollout_ref
    for part in (actor.rollout, actor.actor, config.critic, config.algorithm):
        omega_conf_to_dataclass(part)  # dataclasses refuse what they do not know


def check_configuration_is_one_that_verl_takes(folder):
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import validate_config

    corpus(folder)
    config = complete(folder)
    OmegaConf.resolve(config)
    assert need_critic(config)
    assert not need_reference_policy(config)
    validate_config(config=config, use_reference_policy=False, use_critic=True)


def check_command_line(folder):
    command = launch.ppo_command(
        "some/model", "a b/train.parquet", "test.parquet", "loop.json", "expandsearch", folder,
        overrides=["trainer.n_gpus_per_node=4"],
    )  # fmt: skip
    assert command[1:3] == ["-m", "verl.trainer.main_ppo"]
    config = composed(*command[5:])
    assert config.data.train_files == str(Path("a b/train.parquet").absolute())
    assert config.actor_rollout_ref.model.path == config.critic.model.path == "some/model"
    assert config.trainer.n_gpus_per_node == 4
    assert config.reward.custom_reward_function.reward_kwargs.reward == "table"
    assert composed(*launch.ppo_command("m", "it's", "t", "l", "r1", folder)[5:]).data.train_files.endswith(
        "it's"
    )


def unknown_keys(own, base, path=""):
    for key in own:
        name = f"{path}{key}"
        if key not in list(base):  # a value that must be given is there too
            yield name
        elif OmegaConf.is_dict(own) and OmegaConf.is_dict(own._get_node(key)):
            yield from unknown_keys(own[key], base[key], f"{name}.")


@contextlib.contextmanager
def raises(text):
    told = "nothing was raised"
    try:
        yield
    except Exception as error:
        told = str(error)
    assert text in told, told


CHECKS = {name: value for name, value in globals().items() if name.startswith("check_")}


def main(folder):
    results = {}
    for name, check in CHECKS.items():
        own = Path(folder) / name
        own.mkdir()
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said):
                check(own)
            results[name] = "ok"
        except BaseException:
            results[name] = f"{said.getvalue()[-2000:]}\n{traceback.format_exc()}"
    print("\nRESULTS " + json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1])
