"""Requests to token ids by a model's own chat template."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqe_fast._extras import require
from sqe_fast._hub import GENERATOR_ADVICE, pretrained
from sqe_fast.generate.base import Generation, Request

__all__ = ["count_tokens", "fitting_prompt", "load_tokenizer", "most_tokens", "prompt_ids"]

# Names under which templates let a caller switch reasoning off (Qwen, SmolLM3; DeepSeek, Granite).
_THINKING = ("enable_thinking", "thinking")


def load_tokenizer(location: str) -> Any:
    """Load a tokenizer from a folder or the hub."""
    transformers = require("transformers", None, "generation")
    return pretrained(transformers.AutoTokenizer, location, GENERATOR_ADVICE)


def prompt_ids(tokenizer: Any, request: Request) -> list[int]:
    """Return the prompt's token ids, thinking switched off; a model without a template gets plain text."""
    template = tokenizer.chat_template
    if not template:
        text = "\n\n".join(message.content for message in request.messages) + "\n\n" + request.prefill
        return [int(token) for token in tokenizer(text)["input_ids"]]
    known = template if isinstance(template, str) else " ".join(template.values())
    switches = {name: False for name in _THINKING if name in known}
    ids = tokenizer.apply_chat_template(
        request.chat(), add_generation_prompt=True, tokenize=True, return_dict=False, **switches
    )
    # Behind the template's own opening of the answer: a template that renders the begun answer as a message
    # may strip it, or its reasoning, and the prefix cache would not know it again.
    begun = tokenizer(request.prefill, add_special_tokens=False)["input_ids"] if request.prefill else []
    return [int(token) for token in [*ids, *begun]]


def count_tokens(tokenizer: Any, texts: Sequence[str]) -> list[int]:
    """Return the tokens of each text, without special ones."""
    if not texts:
        return []
    return [len(ids) for ids in tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]]


def most_tokens(tokenizer: Any, requests: Sequence[Request]) -> list[tuple[int, int]]:
    """Return the tokens of each prompt, and of its samples at most; see `Bounded`."""
    return [_most(tokenizer, request) for request in requests]


def _most(tokenizer: Any, request: Request) -> tuple[int, int]:
    try:
        length = len(prompt_ids(tokenizer, request))
    except Exception:  # a template may raise anything: `fitting_prompt` makes a failure of it, at no cost
        return 0, 0
    return length, request.n * request.max_new_tokens


def fitting_prompt(tokenizer: Any, request: Request, window: int) -> list[int] | Generation:
    """Return the prompt's token ids, or the failure of a request that the model cannot take.

    Prompt and new tokens together must fit the model's `window`.
    """
    try:
        ids = prompt_ids(tokenizer, request)
    except Exception as error:  # a template may raise anything; only this request fails
        return Generation.failed(error)
    if len(ids) + request.max_new_tokens > window:
        return Generation.failed(
            f"prompt of {len(ids)} tokens and {request.max_new_tokens} new tokens exceed the model's "
            f"window of {window}"
        )
    return ids
