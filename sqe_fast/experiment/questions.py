"""Questions of an experiment: written by a model from the targets, or read from a file."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from sqe_fast._checks import check_int, check_number
from sqe_fast._store.files import replace_file
from sqe_fast.episode import Episode, shown
from sqe_fast.errors import InvalidInputError, RecordError
from sqe_fast.expansion.cache import ExpansionCache, cache_key
from sqe_fast.expansion.parsing import parse_list
from sqe_fast.generate.base import Generation, Generator, Message, Request
from sqe_fast.readers.queries import read_queries
from sqe_fast.usage import Usage

__all__ = [
    "PROMPT_VERSION",
    "Question",
    "Writer",
    "load_questions",
    "parse_question",
    "question_request",
    "save_questions",
]

PROMPT_VERSION = "question-1"  # of the prompt below; any change of wording must change it

_PROMPT = """\
Below is one step that a coding agent took earlier: what it thought, what it ran and what came back. Later \
the agent half remembers the step and asks its memory for it.

Write the one question that it would ask then, in plain everyday English. Describe what happened in your own \
words: names of files, functions, classes, variables, commands, flags and error messages must not stand in \
the question, nor any phrase taken over from the step. Say enough about the situation that the question fits \
this step and hardly any other. One sentence, ending in a question mark, and nothing else.

The step:
{text}

The question:"""

# "Question:", also numbered or in bold, and a preamble such as "Here is one that fits:".
_LABEL = re.compile(
    r"^[\s*_#>-]*(?:(?:the\s+)?(?:question|query|q)\s*\d{0,2}|the\s+question\b[^:?\n]{0,40}\bis"
    r"|(?:here|sure|okay|certainly)\b[^:?\n]{0,80})[\s*_]*:[\s*_]*",
    re.IGNORECASE,
)
_END = re.compile(r"[?？؟](?=[\s\"'”’*_)]|$)")
_LINES = 20  # of an answer that are looked at


@dataclass(frozen=True)
class Question:
    """A question about one episode.

    Attributes
    ----------
    id, text, target : str
        Its own id, the question (empty where there is none), and the id of the episode that answers it.
    problem : str or None
        Why there is no question.
    """

    id: str
    text: str
    target: str
    problem: str | None = None


def question_request(
    episode: Episode, seed: int, attempt: int = 0, temperature: float = 0.7, max_new_tokens: int = 128
) -> Request:
    """Ask for the question of one target.

    Every target and attempt has a sampling seed of its own, drawn from `seed`: with one for all, an engine
    that seeds each request by itself would sample all questions with the same random numbers.
    """
    drawn = hashlib.sha256(f"{seed} {attempt} {episode.id}".encode()).digest()
    return Request(
        (Message("user", _PROMPT.format(text=episode.text)),),
        temperature=temperature,
        max_new_tokens=max_new_tokens,
        seed=int.from_bytes(drawn[:4], "big"),
        question=episode.id,
        kind="question",
    )


def parse_question(answer: str) -> str:
    r"""Return the one question of an answer: no preamble, label, quotes or second sentence; "" for none.

    A question ends in a question mark: small models tend to explain the step, or to answer it.

    Examples
    --------
    >>> parse_question("Sure, here it is:\n\n**Question:** \"Why did the build stop? It was late.\"")
    'Why did the build stop?'
    """
    for line in parse_list(answer, _LINES):
        text = _LABEL.sub("", line)
        if end := _END.search(text):
            # Once more for quotes that the label or the second sentence hid.
            bare = parse_list(text[: end.end()].strip().lstrip("*\"'“‘"), 1)
            return next(iter(bare), "")
    return ""


class Writer:
    """Has a generator write questions, in calls of `chunk` targets; what came is kept in a cache.

    Attributes
    ----------
    usage : dict of str to int
        What was paid so far, calls and tokens.
    """

    def __init__(
        self,
        generator: Generator,
        cache: ExpansionCache | None = None,
        *,
        seed: int = 42,
        temperature: float = 0.7,
        max_new_tokens: int = 128,
        attempts: int = 3,
        chunk: int = 64,
    ) -> None:
        """Set how they are written.

        Parameters
        ----------
        generator
            See `sqe_fast.generate.make_generator`.
        cache
            Where answers are kept after each call, so that an interrupted writing repeats none.
        seed
            What the sampling seeds are drawn from.
        temperature, max_new_tokens
            Of the protocol: 0.7 and 128.
        attempts
            How often a target is asked for, with other seeds, before its question counts as failed.
        chunk
            Targets of one call of the generator.
        """
        self._generator = generator
        self._cache = cache
        self._seed = seed
        self._temperature = check_number("temperature", temperature, 0, 10)
        self._max_new_tokens = check_int("max_new_tokens", max_new_tokens, 1)
        self._attempts = check_int("attempts", attempts, 1, 100)
        self._chunk = check_int("chunk", chunk, 1)
        self.usage = Usage.zeros(1).totals()

    def write(
        self, targets: Sequence[Episode], done: Callable[[int], None] = lambda _: None
    ) -> list[Question]:
        """Return one question a target, in order, named ``q0000`` and on; `done` is told how many there are.

        A target whose every attempt failed has a question without text, which says why.
        """
        questions: list[Question] = []
        for start in range(0, len(targets), self._chunk):
            part = targets[start : start + self._chunk]
            texts, problems = self._ask(part)
            questions += [
                Question(f"q{number:04d}", text, target.id, problem)
                for number, (target, text, problem) in enumerate(
                    zip(part, texts, problems, strict=True), start
                )
            ]
            done(len(questions))
        return questions

    def _ask(self, targets: Sequence[Episode]) -> tuple[list[str], list[str | None]]:
        texts = [""] * len(targets)
        problems: list[str | None] = [None] * len(targets)
        missing = list(range(len(targets)))
        for attempt in range(self._attempts):
            requests = [
                question_request(targets[i], self._seed, attempt, self._temperature, self._max_new_tokens)
                for i in missing
            ]
            for i, answer in zip(missing, self._answers(requests), strict=True):
                texts[i], problems[i] = _read(answer, self._max_new_tokens)
            missing = [i for i in missing if not texts[i]]
            if not missing:
                break
        return texts, problems

    def _answers(self, requests: Sequence[Request]) -> list[Generation]:
        keys = [cache_key(self._generator.name, PROMPT_VERSION, request) for request in requests]
        kept = {} if self._cache is None else self._cache.get(keys)
        missing = {key: one for key, one in zip(keys, requests, strict=True) if key not in kept}
        answers = self._generator.generate(list(missing.values())) if missing else []
        made = dict(zip(missing, answers, strict=True))
        if self._cache is not None:
            self._cache.put(made)
        for answer in made.values():
            self.usage["calls"] += answer.calls
            self.usage["prompt_tokens"] += answer.prompt_tokens
            self.usage["cached_tokens"] += answer.cached_tokens
            self.usage["completion_tokens"] += answer.completion_tokens
        return [made.get(key) or kept[key] for key in keys]


def _read(answer: Generation, limit: int) -> tuple[str, str | None]:
    """Return the question of an answer, or "" and why there is none."""
    if not answer.texts:
        return "", answer.error or "the model gave no answer"
    text = parse_question(answer.texts[0])
    if not text and "length" in answer.finish_reasons:
        return "", f"the answer was cut after {limit} tokens, before a question ended"
    if not text:
        return "", "the answer holds no question"
    return text, None


def save_questions(path: Path, questions: Sequence[Question]) -> None:
    """Write one line a question, in one step."""
    lines = []
    for one in questions:
        row = {"query_id": one.id, "query": one.text, "target_id": one.target}
        if one.problem is not None:
            row["problem"] = one.problem
        lines.append(json.dumps(row) + "\n")
    replace_file(path, "".join(lines).encode("ascii"))


def load_questions(path: str | PathLike[str], store: Container[str] | None = None) -> list[Question]:
    """Read questions; `store` holds the ids where every target must be.

    The keys are those of `sqe-fast search --queries`: query, query_id and target_id, or their other names.

    Raises
    ------
    InvalidInputError
        The file cannot be read, holds no question, or an id stands there twice.
    RecordError
        A line is broken, or its question has not exactly one target, or one that the store lacks.
    """
    questions: list[Question] = []
    seen: set[str] = set()
    for query in read_queries(path):
        where = f"{path}: question {query.id!r}"
        if query.id in seen:
            raise RecordError(f"{where} stands there twice")
        seen.add(query.id)
        if query.targets is None or len(query.targets) != 1:
            raise RecordError(f"{where} must have one target; got {len(query.targets or ())}")
        target = query.targets[0]
        if store is not None and target not in store:
            raise RecordError(f"{where}: its target {shown(target)} is not in the store")
        problem = None if query.text.strip() else "no question was written"
        questions.append(Question(query.id, query.text, target, problem))
    if not questions:
        raise InvalidInputError(f"{str(path)!r} holds no question")
    return questions
