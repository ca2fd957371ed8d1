"""Any OpenAI-compatible endpoint, many requests in flight, usage as the provider reports it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sqe_fast._checks import check_int, check_number
from sqe_fast._extras import require
from sqe_fast.errors import ModelUnavailableError
from sqe_fast.generate.base import Generation, Request, check_requests

__all__ = ["OpenAIGenerator"]


class OpenAIGenerator:
    """Generate over HTTP with the official client.

    A reply of 408, 409, 429 or 5xx, a time-out and a lost connection are tried again after a growing pause
    (the provider's Retry-After where it sends one). A provider that returns fewer samples than asked for
    is asked again for the rest. An answer that is begun (`Request.prefill`) goes out as an assistant message
    with the fields by which vLLM and SGLang servers continue it; other providers may refuse the request.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        key_variable: str = "OPENAI_API_KEY",
        concurrency: int = 16,
        timeout: float = 120.0,
        retries: int = 4,
        token_parameter: str = "max_tokens",
        extra_body: Mapping[str, Any] | None = None,
    ) -> None:
        """Prepare a client; nothing is sent.

        Parameters
        ----------
        model
            The model's name at the provider.
        base_url
            The endpoint, ending in "/v1" for most; None: `OPENAI_BASE_URL`, else api.openai.com.
        key_variable
            The environment variable that holds the key; a key is taken from nowhere else. An endpoint
            given by URL may go without.
        concurrency
            Requests in flight at most.
        timeout
            Seconds for one try.
        retries
            Further tries after the first.
        token_parameter
            Name of the limit of new tokens: "max_tokens", or "max_completion_tokens" for newer OpenAI models.
        extra_body
            Further fields of each request, such as
            {"chat_template_kwargs": {"enable_thinking": False}} for a vLLM server.
        """
        client = require("openai", "openai", "the generator 'openai'")
        base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
        key = os.environ.get(key_variable)
        if not key and base_url is None:
            raise ModelUnavailableError(
                f"no key for the OpenAI endpoint: set the environment variable {key_variable}, or give the "
                f"base_url of an endpoint that needs none"
            )
        self.name = f"openai:{model}" + (f"@{base_url}" if base_url else "")
        self._model = model
        self._concurrency = check_int("concurrency", concurrency, 1, 1024)
        self._token_parameter = token_parameter
        self._extra_body = dict(extra_body or {})
        self._errors = client.OpenAIError
        self._client = client.OpenAI(
            api_key=key or "none",
            base_url=base_url,
            timeout=check_number("timeout", timeout, 0.001),
            max_retries=check_int("retries", retries, 0, 100),
        )

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Answer all requests concurrently; see `Generator.generate`."""
        requests = check_requests(requests)
        if not requests:
            return []
        with ThreadPoolExecutor(min(self._concurrency, len(requests)), "sqe-openai") as pool:
            return list(pool.map(self._answer, requests))

    def _answer(self, request: Request) -> Generation:
        done = Generation(calls=0)
        while len(done.texts) < request.n:
            try:
                reply = self._client.chat.completions.create(
                    **self._body(request, request.n - len(done.texts))
                )
                part = _read(reply)
            except (self._errors, ValueError, TypeError, AttributeError) as error:
                part = Generation.failed(error, calls=1)
            done = _joined(done, part)
            if part.error is not None:
                break
        return done

    def _body(self, request: Request, n: int) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": request.chat(),
            "n": n,
            "temperature": request.temperature,
            self._token_parameter: request.max_new_tokens,
        }
        if request.seed is not None:
            body["seed"] = request.seed
        if request.stop:
            body["stop"] = list(request.stop)
        extra = dict(self._extra_body)
        if request.prefill:
            body["messages"] = [*request.chat(), {"role": "assistant", "content": request.prefill}]
            extra |= {"continue_final_message": True, "add_generation_prompt": False}
        if extra:
            body["extra_body"] = extra
        return body

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _read(reply: Any) -> Generation:
    """Return the samples and the usage of one reply; a reply of another shape is a failure."""
    choices = getattr(reply, "choices", None)
    if not choices:
        return Generation.failed("the provider's reply holds no choices", calls=1)
    texts = [choice.message.content for choice in choices]
    if not all(isinstance(text, str) for text in texts):
        return Generation.failed("the provider's reply holds a choice without text", calls=1)
    usage = reply.usage
    details = getattr(usage, "prompt_tokens_details", None)
    return Generation(
        texts=tuple(texts),
        prompt_tokens=getattr(usage, "prompt_tokens", None) or 0,
        cached_tokens=getattr(details, "cached_tokens", None) or 0,
        completion_tokens=getattr(usage, "completion_tokens", None) or 0,
        finish_reasons=tuple(choice.finish_reason or "unknown" for choice in choices),
        estimated=usage is None,  # zeros that nobody counted
        stopped_at=_stops(choices),
    )


def _stops(choices: Any) -> tuple[str | None, ...]:
    """Return the stop text of each choice where the server tells it (vLLM: `stop_reason`), else ()."""
    if not all(hasattr(choice, "stop_reason") for choice in choices):
        return ()
    reasons = [choice.stop_reason for choice in choices]
    return tuple(reason if isinstance(reason, str) else None for reason in reasons)


def _joined(first: Generation, second: Generation) -> Generation:
    return Generation(
        texts=first.texts + second.texts,
        prompt_tokens=first.prompt_tokens + second.prompt_tokens,
        cached_tokens=first.cached_tokens + second.cached_tokens,
        completion_tokens=first.completion_tokens + second.completion_tokens,
        finish_reasons=first.finish_reasons + second.finish_reasons,
        calls=first.calls + second.calls,
        estimated=first.estimated or second.estimated,
        error=second.error,
        stopped_at=first.stopped_at + second.stopped_at,
    )
