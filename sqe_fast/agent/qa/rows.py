"""One question's row: what was asked, answered, found and spent, and the whole transcript."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sqe_fast._checks import describe
from sqe_fast.agent.answers import exact_match, f1, normalise
from sqe_fast.agent.qa.sets import Question
from sqe_fast.agent.values import ROOMS, Passage, Rollout, SearchTurn
from sqe_fast.errors import RecordError
from sqe_fast.usage import Usage

__all__ = ["answer_recall", "author", "evidence_recall", "make_row", "parse_rows"]

_FOUND = re.compile(r"<(?:information|tool_response)>")

_NEEDED: Mapping[str, type | tuple[type, ...]] = {
    "set": str,
    "id": str,
    "question": str,
    "golden_answers": list,
    "answer": (str, type(None)),
    "em": bool,
    "f1": (int, float),
    "valid": bool,
    "finish": str,
    "searches": list,
    "segments": list,
    "policy": dict,
    "compressor": dict,
    "search": dict,
    "seconds": dict,
}


def make_row(question: Question, rollout: Rollout, *, searches: bool = True) -> dict[str, Any]:
    """Return the row of a question as an object of JSON.

    Parameters
    ----------
    question : Question
    rollout : Rollout
        Of that question.
    searches : bool
        The system can search: recall is of what it found, 0 where it did not search. Else there is none.

    Returns
    -------
    dict
        ``set``, ``id``, ``question``, ``golden_answers``, ``answer``; ``em`` and ``f1`` against the best
        golden answer; ``valid``, ``finish``, ``problem``; ``answer_recall`` and ``evidence_recall`` (null
        where not known); ``searches``, one a turn: ``queries``, ``hits`` (id, title and score of each query's
        passages), ``squeezed``, ``fallback`` (what was shown where the compressor failed), ``problem``,
        ``cost``; tokens and calls of ``policy``, ``compressor`` and
        ``search``; ``seconds`` of each room; ``estimated``; ``segments``: role, text, tokens.
    """
    passages = list({passage.id: passage for turn in rollout.turns for passage in turn.passages}.values())
    return {
        "set": question.set,
        "id": question.id,
        "question": question.question,
        "golden_answers": list(question.golden_answers),
        "answer": rollout.answer,
        "em": bool(exact_match(rollout.answer, question.golden_answers)),
        "f1": float(f1(rollout.answer, question.golden_answers)),
        "valid": rollout.valid,
        "finish": rollout.finish,
        "problem": rollout.problem,
        "answer_recall": answer_recall(passages, question.golden_answers) if searches else None,
        "evidence_recall": evidence_recall(passages, question.evidence) if searches else None,
        "searches": [_search(turn) for turn in rollout.turns],
        "policy": _usage(rollout.usage_policy),
        "compressor": _usage(rollout.usage_compressor),
        "search": _usage(rollout.usage_search),
        "seconds": {room: round(rollout.seconds.get(room, 0.0), 6) for room in ROOMS},
        "estimated": rollout.estimated,
        "segments": [[segment.role, segment.text, segment.tokens] for segment in rollout.segments],
    }


def author(role: str, text: str) -> str:
    """Return whose words a segment is: its role, or "loop" for an observation that shows nothing found.

    Such are the tags that the loop opened or closed for the policy.
    """
    return "loop" if role == "observation" and not _FOUND.search(text) else role


def answer_recall(passages: Sequence[Passage], golden_answers: Sequence[str]) -> bool:
    """Return whether a golden answer stands in some passage, words compared as EM compares them.

    An answer of no word (only punctuation or articles) is found nowhere.
    """
    answers = [f" {normalise(answer)} " for answer in golden_answers]
    texts = [f" {normalise(f'{passage.title} {passage.text}')} " for passage in passages]
    return any(answer.strip() and answer in text for answer in answers for text in texts)


def evidence_recall(passages: Sequence[Passage], evidence: frozenset[str] | None) -> float | None:
    """Return the share of the evidence among the passages, by id; None where none is known."""
    if not evidence:
        return None
    return len(evidence & {passage.id for passage in passages}) / len(evidence)


def parse_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file; of two with one set and id the later stands in the earlier's place.

    Raises
    ------
    RecordError
        A line is no row; what follows the last end of line is a torn row, and passed over.
    """
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
        if line.strip():
            row = _parse(line, f"{path}:{number}")
            found[row["set"], row["id"]] = row
    return list(found.values())


def _parse(line: bytes, where: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise RecordError(f"{where}: not JSON: {error}") from None
    if not isinstance(row, dict):
        raise RecordError(f"{where}: a row must be an object; got {describe(row)}")
    for name, kind in _NEEDED.items():
        if not isinstance(row.get(name), kind):
            raise RecordError(f"{where}: {name} is missing or wrong; got {describe(row.get(name))}")
    return row


def _search(turn: SearchTurn) -> dict[str, Any]:
    return {
        "queries": list(turn.queries),
        "hits": [[_hit(passage) for passage in found] for found in turn.hits],
        "squeezed": turn.squeezed,
        "fallback": turn.fallback,
        "problem": turn.problem,
        "cost": turn.cost,
    }


def _hit(passage: Passage) -> dict[str, Any]:
    score = round(passage.score, 6) if math.isfinite(passage.score) else None
    return {"id": passage.id, "title": passage.title, "score": score}


def _usage(usage: Usage) -> dict[str, Any]:
    return {**usage.totals(), "estimated": usage.estimated}
