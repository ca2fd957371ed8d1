"""What goes into a generator and what comes out; failures are values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from sqe_fast._checks import check_int, check_number, describe
from sqe_fast.errors import InvalidInputError, InvalidTypeError

__all__ = ["Bounded", "Generation", "Generator", "Message", "Request", "TokenCounter", "check_requests"]

ROLES = ("system", "user", "assistant")


@dataclass(frozen=True)
class Message:
    """One turn of a conversation; `role` is "system", "user" or "assistant"."""

    role: str
    content: str

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise InvalidInputError(f"Message: role must be one of {', '.join(ROLES)}; got {self.role!r}")
        if not isinstance(self.content, str):
            raise InvalidTypeError(f"Message: content must be a str; got {describe(self.content)}")


@dataclass(frozen=True)
class Request:
    """One prompt and how to sample from it.

    Attributes
    ----------
    messages : tuple of Message
        The conversation so far, at least one message.
    n : int
        Samples wanted of this one prompt.
    temperature : float
        0 is greedy.
    max_new_tokens : int
        Limit of each sample.
    seed : int or None
        Fixes the samples where the engine can.
    stop : tuple of str
        Texts that end a sample; not part of it.
    question, kind : str
        What the prompt was made from and what for ("traces", "paraphrases", or "joint" for both): not sent
        to a model, but what a recording is looked up by.
    prefill : str
        What the answer already begins with: the model goes on from there, and the samples are what follows.
    key : str
        Which of several prompts of one question this is; as `question`, for recordings only.
    after : int
        Samples that the same prompt has given before and that are not wanted again: a recording answers with
        those behind them, and a cache keeps the answers apart.
    want : (int, int)
        Of a joint request: the traces and paraphrases that its one sample is to hold.
    """

    messages: tuple[Message, ...]
    n: int = 1
    temperature: float = 0.0
    max_new_tokens: int = 256
    seed: int | None = None
    stop: tuple[str, ...] = ()
    question: str = ""
    kind: str = ""
    prefill: str = ""
    key: str = ""
    after: int = 0
    want: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        if not self.messages or not all(isinstance(m, Message) for m in self.messages):
            raise InvalidInputError("Request: messages must be a tuple of at least one Message")
        check_int("n", self.n, 1)
        check_number("temperature", self.temperature, 0, 10)
        check_int("max_new_tokens", self.max_new_tokens, 1)
        check_int("after", self.after, 0)
        if self.seed is not None:
            check_int("seed", self.seed, 0, 2**63 - 1)
        if not isinstance(self.prefill, str):
            raise InvalidTypeError(f"Request: prefill must be a str; got {describe(self.prefill)}")

    @classmethod
    def of(cls, prompt: str, **settings: Any) -> Request:
        """Build a request of one user message."""
        return cls((Message("user", prompt),), **settings)

    def chat(self) -> list[dict[str, str]]:
        """Return the messages as the dictionaries that chat templates and endpoints take."""
        return [{"role": message.role, "content": message.content} for message in self.messages]


@dataclass(frozen=True)
class Generation:
    """The answer to one request, or why there is none.

    Attributes
    ----------
    texts : tuple of str
        The samples; may be fewer than asked.
    prompt_tokens, cached_tokens, completion_tokens : int
        Tokens of the prompt (once, however many samples), the part of it found in the engine's prefix cache,
        and new tokens of all samples.
    finish_reasons : tuple of str
        For each sample "stop" (it ended) or "length" (it was cut), or the provider's own word.
    calls : int
        Requests sent to the model.
    estimated : bool
        The counts are not the engine's own.
    verbatim : bool
        The texts are probes as they stand (a recording), not a model's words to be parsed.
    error : str or None
        Why the request failed, or lacks samples.
    seconds : float or None
        Its equal share of the wall time of the call that it was made in; None: not measured.
    stopped_at : tuple of (str or None)
        For each sample the text of `Request.stop` that ended it, None where none did; empty where the engine
        does not tell.
    traces : int
        Of a verbatim answer to a joint request: how many of the texts, the first ones, are traces.
    """

    texts: tuple[str, ...] = ()
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    finish_reasons: tuple[str, ...] = ()
    calls: int = 1
    estimated: bool = False
    verbatim: bool = False
    error: str | None = None
    seconds: float | None = None
    stopped_at: tuple[str | None, ...] = ()
    traces: int = 0

    @classmethod
    def failed(cls, error: str | BaseException, calls: int = 0) -> Generation:
        """Return the value of a request that gave nothing; `calls` counts what was sent all the same."""
        if isinstance(error, BaseException):
            error = f"{type(error).__name__}: {error}".strip().splitlines()[0]
        return cls(error=error, calls=calls)


@runtime_checkable
class Generator(Protocol):
    """Anything that answers requests.

    `name` tells the engine and the model, as in "vllm:Qwen/Qwen3-8B": it is part of a cache's key. One that
    knows its tokenizer is a `TokenCounter` too, and one that knows its longest prompt and answer together has
    it as `window`.
    """

    name: str

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Return one generation a request, in order; a request that fails is a value, not an exception."""
        ...

    def close(self) -> None:
        """Free what the generator holds; it cannot be used afterwards."""
        ...


@runtime_checkable
class Bounded(Protocol):
    """A generator that can tell beforehand what requests can cost, and sends each of them once.

    A local model counts by its own tokenizer and chat template. An endpoint cannot, and may have to be asked
    again for samples that it left out.
    """

    def most_tokens(self, requests: Sequence[Request]) -> list[tuple[int, int]]:
        """Return for each request the tokens of its prompt, and the most that all its samples can have."""
        ...


@runtime_checkable
class TokenCounter(Protocol):
    """A generator that can count its own tokens."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text, without any that a prompt adds around it."""
        ...


def check_requests(requests: Sequence[Request]) -> list[Request]:
    """Return `requests` as a list, or say which of them is none."""
    if isinstance(requests, Request):
        raise InvalidTypeError("requests must be a list of Request; for one pass [request]")
    found = list(requests)
    for position, request in enumerate(found):
        if not isinstance(request, Request):
            raise InvalidTypeError(f"requests[{position}] must be a Request; got {describe(request)}")
    return found
