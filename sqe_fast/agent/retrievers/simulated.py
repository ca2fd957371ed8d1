"""ZeroSearch's search engine: a language model writes the passages, more and more of them useless.

Sun et al. 2025 (arXiv 2505.04588): of all searches at training progress p, from 0 to 1, a share

    P(noisy) = s + (4^p - 1) / 3 * (e - s)

is answered with passages that look right and do not help, from s = 0 at the start to e = 0.5 at the end.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

from sqe_fast._checks import check_int, check_number, describe
from sqe_fast.agent.squeeze import usage_of
from sqe_fast.agent.values import Asking, Found, Passage
from sqe_fast.errors import InvalidTypeError
from sqe_fast.expansion.parsing import parse_list
from sqe_fast.generate.base import Generation, Generator, Request

__all__ = ["SimulatedRetriever", "noise"]

WORDS = 30  # a passage

_USEFUL = "Each passage must help to answer the query, with facts that are correct as far as you know."
_NOISY = (
    "Each passage must look like a result for the query, about things of the same kind, and must not hold "
    "what is asked for."
)


def noise(progress: float, start: float = 0.0, end: float = 0.5) -> float:
    """Return the share of searches that are answered with noise at a progress from 0 to 1.

    Examples
    --------
    >>> noise(0.0), noise(0.5), noise(1.0)
    (0.0, 0.16666666666666666, 0.5)
    """
    progress = check_number("progress", progress, 0, 1)
    return start + (4**progress - 1) / 3 * (end - start)


class SimulatedRetriever:
    """Writes passages with any generator; all queries in one call.

    Parameters
    ----------
    generator : Generator
    progress : float
        Of the training, from 0 to 1; set the attribute as it goes on.
    start, end : float
        The share of noise at its start and end.
    seed : int
        Whether a query gets noise depends on the seed, the query and the progress alone, not on what else is
        asked; a query that is noisy stays so as the progress grows.
    golden : mapping of str to str, optional
        By question, its answer, which useful passages then agree with; without it the model has to know.
    temperature, max_new_tokens
        How passages are sampled.
    """

    def __init__(
        self,
        generator: Generator,
        *,
        progress: float = 0.0,
        start: float = 0.0,
        end: float = 0.5,
        seed: int = 0,
        golden: Mapping[str, str] | None = None,
        temperature: float = 0.8,
        max_new_tokens: int = 400,
    ) -> None:
        if not isinstance(generator, Generator):
            raise InvalidTypeError(f"generator must have name, generate and close; got {describe(generator)}")
        self.generator = generator
        self.progress = check_number("progress", progress, 0, 1)
        self._start = check_number("start", start, 0, 1)
        self._end = check_number("end", end, 0, 1)
        self._seed = check_int("seed", seed, 0)
        self._golden = dict(golden or {})
        self._temperature = check_number("temperature", temperature, 0, 10)
        self._max_new_tokens = check_int("max_new_tokens", max_new_tokens, 1)

    def search(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        """Return k written passages for each query, or fewer with the problem told."""
        return self.search_for(queries, k, [Asking("", "", 0)] * len(queries))

    def search_for(self, queries: Sequence[str], k: int, askings: Sequence[Asking]) -> list[list[Passage]]:
        """Do as `search`; of the askings only the question is used."""
        k = check_int("k", k, 1, 99)
        requests = [
            self._request(query, asking.question, k) for query, asking in zip(queries, askings, strict=True)
        ]
        answers = self.generator.generate(requests) if requests else []
        return [self._found(query, answer, k) for query, answer in zip(queries, answers, strict=True)]

    def noisy(self, query: str) -> bool:
        """Return whether this query gets noise at the present progress."""
        return _uniform(f"{self._seed}:{query}") < noise(self.progress, self._start, self._end)

    def _request(self, query: str, question: str, k: int) -> Request:
        noisy = self.noisy(query)
        golden = self._golden.get(question)
        context = ""
        if golden is not None:
            context = f'\nBehind the query is the question "{question}", whose answer is "{golden}".'
        text = (
            f"You stand in for a search engine. Write {k} passages of about {WORDS} words each, as a "
            f"numbered list with nothing else. {_NOISY if noisy else _USEFUL}{context}\n\nQuery: {query}"
        )
        return Request.of(
            text,
            temperature=self._temperature,
            max_new_tokens=self._max_new_tokens,
            seed=None if self._temperature == 0 else self._seed,
            question=query,
            kind="noisy" if noisy else "useful",
        )

    def _found(self, query: str, answer: Generation, k: int) -> Found:
        texts = parse_list(_DOCUMENT.sub("", answer.texts[0]), k) if answer.texts else []
        problem = None
        if len(texts) < k:
            problem = f"the simulated engine wrote {len(texts)} of {k} passages"
            problem += f": {answer.error}" if answer.error else ""
        passages = [Passage(_name(text), "", text, float(k - rank)) for rank, text in enumerate(texts)]
        return Found(passages, problem=problem, usage=usage_of([answer]))


# "Doc 1:", "Passage 2 (Title)." as models write them in place of a bare number.
_DOCUMENT = re.compile(
    r"^[ \t]*[*_]*(?:doc|document|passage|result)\s*#?(?=\d)", re.IGNORECASE | re.MULTILINE
)


def _name(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _uniform(text: str) -> float:
    """Return a number in [0, 1) that depends on `text` alone."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:7], "big") / 2**56
