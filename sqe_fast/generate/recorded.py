"""Expansions that were written earlier, from a JSONL file: no model runs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sqe_fast._hub import locate
from sqe_fast.errors import InvalidInputError
from sqe_fast.generate._chat import load_tokenizer, prompt_ids
from sqe_fast.generate.base import Generation, Request, check_requests
from sqe_fast.generate.smollm2 import smollm2_folder

__all__ = ["RecordedGenerator"]

_KINDS = ("traces", "paraphrases")
_JOINT = "joint"


class RecordedGenerator:
    """Answer expansion requests from a file.

    Each line is an object {"query": str, "traces": [str, ...], "paraphrases": [str, ...]}; other keys are
    ignored. A question that the file lacks is a failure value. A request's stop texts cut the recorded ones,
    as they would have ended the generation. Token counts are what a tokenizer makes of
    the prompt and of the recorded texts, marked as estimated.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, tokenizer: str | Callable[[str], int] = "whitespace"
    ) -> None:
        """Read the file.

        Parameters
        ----------
        path
            A JSONL file.
        tokenizer
            What counts tokens: "whitespace" (words), "minilm", "smollm2", a folder or hub name of a
            tokenizer, or a function from a text to its number of tokens. A tokenizer with a chat template
            counts prompts as that template makes them.
        """
        self.name = f"recorded:{os.fspath(path)}"
        self._records = _read(Path(path))
        self.count, self._prompt = _counters(tokenizer)

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Look up every request by its `question` and `kind`; see `Generator.generate`."""
        return [self._answer(request) for request in check_requests(requests)]

    def _answer(self, request: Request) -> Generation:
        record = self._records.get(request.question)
        if record is None:
            return Generation.failed(f"no recorded expansion for the question {request.question!r}")
        if request.kind not in (*_KINDS, _JOINT):
            return Generation.failed(f"a recording holds {' and '.join(_KINDS)}; asked for {request.kind!r}")
        # All paraphrases: how many are wanted stands in the prompt, and the expander takes as many.
        wish = {"traces": (request.n, 0), "paraphrases": (0, None), _JOINT: request.want}[request.kind]
        recorded = record["traces"][request.after :][: wish[0]]
        traces = tuple(_stopped(text, request.stop) for text in recorded)
        samples = traces + record["paraphrases"][: wish[1]]
        if not samples:
            what = "nothing" if request.kind == _JOINT else f"no {request.kind}"
            more = f" after the first {request.after}" if request.after else ""
            return Generation.failed(f"the recording holds {what} for {request.question!r}{more}")
        return Generation(
            texts=samples,
            prompt_tokens=self._prompt(request),
            completion_tokens=sum(map(self.count, samples)),
            finish_reasons=("stop",) * len(samples),
            estimated=True,
            verbatim=True,
            traces=len(traces) if request.kind == _JOINT else 0,
        )

    def most_tokens(self, requests: Sequence[Request]) -> list[tuple[int, int]]:
        """Return what each request costs, which a recording knows; see `Bounded`."""
        return [(answer.prompt_tokens, answer.completion_tokens) for answer in self.generate(requests)]

    def close(self) -> None:
        """Do nothing: no model is held."""


def _stopped(text: str, stop: Sequence[str]) -> str:
    """Return the text as an engine would leave it: up to the first of the stop texts."""
    return text[: min([len(text), *(text.find(word) for word in stop if word in text)])]


def _read(path: Path) -> dict[str, dict[str, tuple[str, ...]]]:
    records: dict[str, dict[str, tuple[str, ...]]] = {}
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    question, record = _record(line, f"{path}:{number}")
                    records[question] = record
    except OSError as error:
        raise InvalidInputError(f"cannot read the recorded expansions {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"the recorded expansions {path} are not UTF-8: {error}") from None
    return records


def _record(line: str, where: str) -> tuple[str, dict[str, tuple[str, ...]]]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise InvalidInputError(f"{where}: not JSON ({error})") from None
    if not isinstance(row, dict) or not isinstance(row.get("query"), str):
        raise InvalidInputError(f"{where}: an object with a str 'query' is needed")
    record = {}
    for kind in _KINDS:
        texts = row.get(kind, [])
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise InvalidInputError(f"{where}: {kind!r} must be a list of str")
        record[kind] = tuple(texts)
    return row["query"], record


def _counters(tokenizer: str | Callable[[str], int]) -> tuple[Callable[[str], int], Callable[[Request], int]]:
    """Return what counts the tokens of a text, and of a prompt."""
    loaded: Any = None
    if callable(tokenizer):
        count = tokenizer
    elif tokenizer == "whitespace":
        count = _words
    else:
        loaded = load_tokenizer(str(smollm2_folder()) if tokenizer == "smollm2" else locate(tokenizer))
        count = partial(_tokens, loaded)
    if loaded is not None and loaded.chat_template:
        return count, lambda request: len(prompt_ids(loaded, request))
    return count, lambda request: sum(count(message.content) for message in request.messages)


def _words(text: str) -> int:
    return len(text.split())


def _tokens(tokenizer: Any, text: str) -> int:
    return len(tokenizer(text, add_special_tokens=False)["input_ids"])
