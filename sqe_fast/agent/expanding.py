"""Several queries from one question by rules alone: what expansion is worth without a model.

A search agent asks for more than its question: sub-questions, and keywords. The rules here make both from
the words of an English question, cost nothing, and are the baseline that a model's queries have to beat.
They read capitals and a few function words, no grammar: where they see nothing to ask, they ask nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqe_fast._checks import check_int, check_texts, describe
from sqe_fast.agent.dialect import TAGS, Block, Dialect
from sqe_fast.bm25 import BM25Index
from sqe_fast.errors import InvalidTypeError
from sqe_fast.generate.base import Generation, Request, check_requests
from sqe_fast.text import STOP_WORDS, tokenize, tokenize_batch

__all__ = ["RulePolicy", "expand_by_rule", "keywords", "names", "sub_questions"]

# Words of questions that name nothing to look for, beyond the function words that `code` leaves out.
# fmt: off
_ASKING = frozenset((
    "who", "whom", "whose", "what", "which", "when", "where", "why", "how", "many", "much", "long",
    "old", "tall", "far", "name", "named", "called", "known", "did", "does", "do", "was", "were", "is",
    "are", "has", "have", "had", "been", "being", "be", "give", "tell", "same", "both", "either",
    "first", "other",
))
# fmt: on
# What begins a clause inside a question; the clause says of what the question asks.
_CLAUSE = re.compile(r"\b(?:that|which|who|whose|whom|where|when|in which|of which)\b", re.IGNORECASE)
_LINK = r"(?:of the|of|de|du|la|von|van|&)"
_WORD = r"[A-ZÀ-ÖØ-ÞĀ-Ž][\w'’.\-]*|\d{4}"
_NAME = re.compile(rf"(?:{_WORD})(?:[ ](?:{_LINK}[ ])?(?:{_WORD}))*")
_QUOTED = re.compile(r"[\"“](.+?)[\"”]")
_MARKUP = re.compile(r"[<>]|##+")
_SHORTEST = 3  # words of a clause that is worth a query of its own, and of what stands before it


def keywords(question: str, index: BM25Index | None = None, most: int = 8) -> str:
    """Return the words of `question` that tell something, joined by spaces, in their order.

    Parameters
    ----------
    question : str
        Any text.
    index : BM25Index, optional
        Where given, words that none of its documents holds are left out, and the rarest are kept: those of
        the highest idf, equal ones in order of appearance. It must have a tokenizer.
    most : int
        Words kept, at least 1.

    Examples
    --------
    >>> keywords("Who directed the film that was shot in Leland, North Carolina in 1986?")
    'directed film shot leland north carolina 1986'
    >>> index = BM25Index.build(["film shot in Leland", "shot", "film"], tokenizer="word")
    >>> keywords("Who directed the film that was shot in Leland?", index, most=1)
    'leland'
    """
    most = check_int("most", most, 1)
    kept = [
        word
        for word in dict.fromkeys(tokenize(question, "word"))
        if word.removesuffix("'s") not in STOP_WORDS and word.removesuffix("'s") not in _ASKING
    ]
    if index is None:
        return " ".join(kept[:most])
    if index.tokenizer is None:
        raise InvalidTypeError("index must have a tokenizer to look words up; it was built from ready tokens")
    pieces = tokenize_batch(kept, index.tokenizer, threads=1)
    rarity = {
        word: float(index.idf(piece).max())
        for word, piece in zip(kept, pieces, strict=True)
        if piece and index.document_frequencies(piece).any()
    }
    rarest = sorted(rarity, key=lambda word: -rarity[word])[:most]  # stable: equal ones in order
    return " ".join(word for word in rarity if word in rarest)


def names(question: str) -> tuple[str, ...]:
    """Return what `question` calls by name: quoted titles, and runs of capitalised words, in order.

    The first word counts only where more of a name follows it, since every question begins with a capital.

    Examples
    --------
    >>> names("Are Christopher Nolan and Sathish Kalathil both film directors?")
    ('Christopher Nolan', 'Sathish Kalathil')
    >>> names('Who sang "Let It Be" in the Royal Albert Hall?')
    ('Let It Be', 'Royal Albert Hall')
    """
    found = [(match.start(), match[1].strip()) for match in _QUOTED.finditer(question)]
    rest = _QUOTED.sub(lambda match: " " * len(match[0]), question)
    for match in _NAME.finditer(rest):
        name, start = match[0], match.start()
        first, _, others = name.partition(" ")
        if first.lower() in STOP_WORDS or first.lower() in _ASKING:
            name, start = others, start + len(first) + 1
        elif not rest[:start].strip() and not others:
            continue
        name = re.sub(rf"^(?:{_LINK} )+", "", re.sub(r"['’]s$", "", name.rstrip(".'’-")))
        if name and not re.fullmatch(r"\d+", name):
            found.append((start, name))
    return tuple(dict.fromkeys(name for _, name in sorted(found)))


def sub_questions(question: str, most: int = 2) -> tuple[str, ...]:
    """Return up to `most` simpler things to look for first, none where the rules see none.

    Two names or more: each by itself (what is compared, or what is joined), those of several words first.
    Else the innermost clause (what follows the last "that", "which", "whose" and so on), then the one name.

    Examples
    --------
    >>> sub_questions("Are Christopher Nolan and Sathish Kalathil both film directors?")
    ('Christopher Nolan', 'Sathish Kalathil')
    >>> sub_questions("who sings the song that was played when the ship sank", most=1)
    ('the ship sank',)
    """
    most = check_int("most", most, 1)
    if not isinstance(question, str):
        raise InvalidTypeError(f"question must be a str; got {describe(question)}")
    called = sorted(names(question), key=lambda name: " " not in name)
    found: list[str] = list(called) if len(called) > 1 else []
    clauses = [
        match for match in _CLAUSE.finditer(question) if len(question[: match.start()].split()) >= _SHORTEST
    ]
    if not found and clauses:
        clause = question[clauses[-1].end() :].strip(" ?.,!")
        if len(clause.split()) >= _SHORTEST:
            found.append(clause)
    found.extend(called)
    return tuple(name for name in dict.fromkeys(found) if name != question)[:most]


def expand_by_rule(
    questions: Sequence[str], index: BM25Index | None = None, queries: int = 3
) -> list[tuple[str, ...]]:
    """Return for each question what to search: itself, its sub-questions, its keywords.

    Parameters
    ----------
    questions : sequence of n str
        In English.
    index : BM25Index, optional
        Gives `keywords` its idf.
    queries : int
        Most queries of a question, at least 1. Sub-questions come first, since both sides of a comparison
        have to be found; keywords where there is room. A question in which the rules see little gets fewer.

    Returns
    -------
    list of n tuples of str
        Distinct queries, the question first.

    Examples
    --------
    >>> expand_by_rule(["Who directed the film that was shot in Leland?"])
    [('Who directed the film that was shot in Leland?', 'was shot in Leland', 'Leland')]
    """
    queries = check_int("queries", queries, 1)
    return [_queries(question, index, queries) for question in check_texts("questions", questions)]


def _queries(question: str, index: BM25Index | None, most: int) -> tuple[str, ...]:
    wanted = [question, *sub_questions(question, most), keywords(question, index)]
    return tuple(query for query in dict.fromkeys(wanted) if query)[:most]


class RulePolicy:
    """A policy without a model: it searches once, by rule, and does not answer.

    What its rollouts find is what retrieval alone finds of a question set: a floor for agents, at no cost. A
    token is a word.

    Parameters
    ----------
    queries : int
        Of its one search, at least 1.
    dialect : Dialect
        How it writes them.
    index : BM25Index, optional
        Gives `keywords` its idf.

    Examples
    --------
    >>> from sqe_fast.agent.retrievers import IndexRetriever
    >>> from sqe_fast.agent.rollout import Passage, Roller
    >>> index = IndexRetriever([Passage("a", "Emma", "A novel by Jane Austen.", 0.0)])
    >>> rollout = Roller(RulePolicy(), index, "parallelsearch").run(["Who wrote Emma?"])[0]
    >>> rollout.queries, rollout.answer
    ((('Who wrote Emma?', 'Emma', 'wrote emma'),), None)
    """

    def __init__(self, queries: int = 3, dialect: Dialect = TAGS, index: BM25Index | None = None) -> None:
        self.name = "rules"
        self._queries = check_int("queries", queries, 1)
        self._dialect = dialect
        self._index = index

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Return a search for the first turn of each request's `question`, and nothing for later ones."""
        return [self._answer(request) for request in check_requests(requests)]

    def _answer(self, request: Request) -> Generation:
        text = ""
        if request.kind == "turn 0":
            # What would be read as a tag or as the mark between queries is no word to search for.
            (queries,) = expand_by_rule([_MARKUP.sub(" ", request.question)], self._index, self._queries)
            queries = tuple(dict.fromkeys(" ".join(query.split()) for query in queries if query.strip()))
            text = self._dialect.render([Block("search", queries=queries)]) if queries else ""
        prompt = sum(len(message.content.split()) for message in request.messages)
        return Generation(
            texts=(text,),
            prompt_tokens=prompt + len(request.prefill.split()),
            completion_tokens=len(text.split()),
            finish_reasons=("stop",),
            calls=0,
            estimated=True,
            stopped_at=(None,),
        )

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the words of each text."""
        return [len(text.split()) for text in texts]

    def close(self) -> None:
        """Do nothing: no model is held."""
