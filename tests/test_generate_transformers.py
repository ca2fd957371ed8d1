"""The transformers generator on a tiny random Llama: equal to single prompts, counts, failures."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from oracles.tiny import llama_folder

from sqe_fast.errors import InvalidInputError, ModelUnavailableError
from sqe_fast.generate import Generator, Message, Request, TokenCounter, make_generator
from sqe_fast.generate._chat import prompt_ids
from sqe_fast.generate.base import Bounded


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(llama_folder(tmp_path_factory.mktemp("models") / "llama"))


@pytest.fixture(scope="module")
def tiny(folder):
    return make_generator(f"transformers:{folder}", dtype="float32", device="cpu", batch_size=4)


def oracle(tiny, request):
    """Greedy decoding one token at a time."""
    import torch

    ids = prompt_ids(tiny._tokenizer, request)
    made = []
    with torch.no_grad():
        while len(made) < request.max_new_tokens:
            token = int(tiny._model(torch.tensor([ids + made])).logits[0, -1].argmax())
            made.append(token)
            if token == 2:
                break
    text = tiny._tokenizer.decode([t for t in made if t != 2], skip_special_tokens=True)
    return text, len(ids), len(made), "stop" if made[-1] == 2 else "length"


def test_greedy_batches_equal_single_prompts(tiny):
    assert isinstance(tiny, Generator)
    requests = [Request.of("retry " * (i + 1), max_new_tokens=12) for i in range(7)]
    requests.insert(3, Request.of("other settings", max_new_tokens=3))
    for request, answer in zip(requests, tiny.generate(requests), strict=True):
        text, prompt, completion, reason = oracle(tiny, request)
        assert answer.texts == (text,)
        assert (answer.prompt_tokens, answer.completion_tokens) == (prompt, completion)
        assert answer.finish_reasons == (reason,)
        assert (answer.cached_tokens, answer.calls, answer.error) == (0, 1, None)


def test_it_tells_beforehand_what_requests_can_cost(tiny):
    assert isinstance(tiny, Bounded)
    requests = [
        Request.of("retry " * (i + 1), max_new_tokens=5 + i, n=1 + i, temperature=1) for i in range(3)
    ]
    refused = Request((Message("assistant", "no"),))
    tiny._tokenizer.chat_template, kept = "{{ raise_exception('no') }}", tiny._tokenizer.chat_template
    try:
        assert tiny.most_tokens([refused]) == [(0, 0)]
    finally:
        tiny._tokenizer.chat_template = kept
    for answer, (prompt, most) in zip(tiny.generate(requests), tiny.most_tokens(requests), strict=True):
        assert answer.prompt_tokens == prompt
        assert 0 < answer.completion_tokens <= most
    assert [most for _, most in tiny.most_tokens(requests)] == [5, 12, 21]


def test_samples_seed_and_greedy_copies(tiny):
    request = Request.of("find it", n=3, temperature=1.0, max_new_tokens=10, seed=5)
    first = tiny.generate([request])[0]
    assert len(first.texts) == 3
    assert len(set(first.texts)) > 1
    assert tiny.generate([request])[0] == first
    greedy = tiny.generate([Request.of("find it", n=2, max_new_tokens=4)])[0]
    assert greedy.texts[0] == greedy.texts[1]


def test_requests_with_seeds_of_their_own_run_together(tiny, monkeypatch):
    requests = [Request.of(f"find {i}", temperature=1.0, max_new_tokens=8, seed=i) for i in range(4)]
    first = tiny.generate(requests)
    sizes, batch = [], tiny._batch

    def counted(prompts, request):
        sizes.append(len(prompts))
        return batch(prompts, request)

    monkeypatch.setattr(tiny, "_batch", counted)
    assert tiny.generate(requests) == first
    assert sizes == [4]
    assert len({answer.texts for answer in first}) == 4


def test_a_seed_leaves_the_global_generator_alone(tiny):
    import torch

    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    tiny.generate([Request.of("x", temperature=1.0, max_new_tokens=2, seed=5)])
    assert torch.equal(torch.rand(3), expected)


def test_stop_texts_end_a_sample_and_are_cut(tiny):
    whole = tiny.generate([Request.of("find it", max_new_tokens=20)])[0]
    stop = whole.texts[0][6:8]
    cut = tiny.generate([Request.of("find it", max_new_tokens=20, stop=(stop,))])[0]
    assert cut.texts[0] == whole.texts[0][: whole.texts[0].index(stop)]
    assert cut.finish_reasons == ("stop",)
    assert (whole.stopped_at, cut.stopped_at) == ((None,), (stop,))
    assert 0 < cut.completion_tokens < whole.completion_tokens


def test_a_begun_answer_is_gone_on_with(tiny):
    begun = "where is the "
    request = Request.of("find it", max_new_tokens=6, prefill=begun)
    ids = tiny._tokenizer(begun, add_special_tokens=False)["input_ids"]
    assert prompt_ids(tiny._tokenizer, request) == prompt_ids(tiny._tokenizer, Request.of("find it")) + ids
    plain, going_on = tiny.generate([Request.of("find it", max_new_tokens=6), request])
    text, prompt, completion, _ = oracle(tiny, request)
    assert (going_on.texts, going_on.prompt_tokens) == ((text,), prompt)
    assert (going_on.completion_tokens, plain.prompt_tokens + len(ids)) == (completion, prompt)


def test_tokens_are_counted_without_special_ones(tiny):
    texts = ["find it", "", "where is the retry limit"]
    counts = [len(tiny._tokenizer(text, add_special_tokens=False)["input_ids"]) for text in texts]
    assert isinstance(tiny, TokenCounter)
    assert tiny.count_tokens(texts) == counts
    assert tiny.count_tokens([]) == []
    assert tiny.window == 256


def test_one_over_long_prompt_fails_alone(tiny):
    long, fine = tiny.generate([Request.of("x y z " * 200), Request.of("ok", max_new_tokens=2)])
    assert "window of 256" in long.error
    assert long.calls == 0
    assert fine.error is None
    assert tiny.generate([]) == []


def test_a_batch_that_raises_fails_alone(tiny, monkeypatch):
    original = tiny._batch

    def failing(prompts, request):
        if request.max_new_tokens == 3:
            raise MemoryError("no room")
        return original(prompts, request)

    monkeypatch.setattr(tiny, "_batch", failing)
    bad, good = tiny.generate([Request.of("a", max_new_tokens=3), Request.of("a", max_new_tokens=2)])
    assert bad.error == "MemoryError: no room"
    assert bad.calls == 1
    assert good.error is None


def test_thinking_is_switched_off_where_the_template_has_it(tiny):
    request = Request((Message("system", "be brief"), Message("user", "hi")))
    text = tiny._tokenizer.decode(prompt_ids(tiny._tokenizer, request))
    assert "be brief" in text
    assert "<think>" not in text


def test_missing_models_and_wrong_options(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelUnavailableError, match="nobody/nothing"):
        make_generator("transformers:nobody/nothing")
    with pytest.raises(InvalidInputError, match="colour"):
        make_generator("transformers:x", colour=1)
    with pytest.raises(InvalidInputError, match="batch_size"):
        make_generator("transformers:x", batch_size=0)
