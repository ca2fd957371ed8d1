"""The seven question sets of the papers, from files, BEIR folders or the Hugging Face hub.

The hub's copy is RUC-NLPIR/FlashRAG_datasets: one config a set, records of ``id``, ``question``,
``golden_answers``, ``metadata``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from sqe_fast._checks import check_int, describe
from sqe_fast.errors import InvalidInputError, RecordError, SqeFastError
from sqe_fast.readers import hub
from sqe_fast.readers.containers import file_rows

__all__ = ["HUB", "SETS", "Question", "QuestionSet", "load_questions", "set_order"]

HUB = "RUC-NLPIR/FlashRAG_datasets"

_TEXT, _ANSWERS, _IDS, _SETS = (
    ("question", "text", "query"),
    ("golden_answers", "answers", "answer"),
    ("id", "_id", "query_id"),
    ("dataset", "data_source"),
)


@dataclass(frozen=True)
class QuestionSet:
    """One of the seven sets.

    Attributes
    ----------
    name, title : str
        As it is asked for, and as tables head it.
    config, split : str
        Where it lies in the hub's data set; the split is the one that the papers evaluate on.
    kind : "general" or "multi-hop"
        The papers group their tables so.
    size : int
        Questions of that split.
    """

    name: str
    title: str
    config: str
    split: str
    kind: Literal["general", "multi-hop"]
    size: int


SETS: Mapping[str, QuestionSet] = MappingProxyType(
    {
        one.name: one
        for one in (
            QuestionSet("nq", "NQ", "nq", "test", "general", 3610),
            QuestionSet("triviaqa", "TriviaQA", "triviaqa", "test", "general", 11313),
            QuestionSet("popqa", "PopQA", "popqa", "test", "general", 14267),
            QuestionSet("hotpotqa", "HotpotQA", "hotpotqa", "dev", "multi-hop", 7405),
            QuestionSet("2wiki", "2Wiki", "2wikimultihopqa", "dev", "multi-hop", 12576),
            QuestionSet("musique", "MuSiQue", "musique", "dev", "multi-hop", 2417),
            QuestionSet("bamboogle", "Bamboogle", "bamboogle", "test", "multi-hop", 125),
        )
    }
)
"""The sets of the papers' tables, in the tables' order."""


@dataclass(frozen=True)
class Question:
    """One question.

    Attributes
    ----------
    set, id : str
        Together they name it.
    question : str
    golden_answers : tuple of str
        Any of them counts; at least one.
    evidence : frozenset of str, or None
        Ids of the passages that hold what is needed, where that is known (a BEIR folder's qrels).
    """

    set: str
    id: str
    question: str
    golden_answers: tuple[str, ...]
    evidence: frozenset[str] | None = None

    @property
    def key(self) -> tuple[str, str]:
        """(set, id)."""
        return self.set, self.id


def load_questions(source: str, limit: int | None = None) -> list[Question]:
    r"""Return the questions of a source, in its order.

    Parameters
    ----------
    source : str
        A name of `SETS` (from the hub, with the extra `datasets`), a path, or ``name=path``. A path is a file
        (JSON Lines, JSON or Parquet, gzip accepted for the first two) with one question a record, or a BEIR
        folder: its ``queries`` file with the golden answers, and its qrels as evidence. A record's own
        ``dataset`` names its set; else the file's name, where it begins with a name of `SETS`.
    limit : int, optional
        The first so many of each set.

    Raises
    ------
    InvalidInputError
        Nothing is there, or it holds no question.
    RecordError
        A record is no question with golden answers, or its id is taken; with the file and the line or row.
    MissingExtraError
        A set of the hub without the extra `datasets`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "nq_open.jsonl"
    >>> _ = file.write_text('{"id": "1", "question": "who wrote it", "golden_answers": ["Ann", "Ann Lee"]}')
    >>> load_questions(str(file))
    [Question(set='nq', id='1', question='who wrote it', golden_answers=('Ann', 'Ann Lee'), evidence=None)]
    """
    if limit is not None:
        limit = check_int("limit", limit, 1)
    name, separator, path = source.partition("=")
    if not separator:
        name, path = "", source
    if not separator and source in SETS and not Path(source).exists():
        known = SETS[source]
        stream = hub.records(HUB, known.split, known.config)
        rows = ((f"{HUB}, {known.config}, row {number}", record) for number, record in stream)
        return _questions(rows, known.name, {}, limit, one_set=True)
    place = Path(path)
    if not place.exists():
        raise InvalidInputError(
            f"there is no question file or folder {path!r}; a set of the hub is one of {', '.join(SETS)}"
        )
    evidence: Mapping[str, frozenset[str]] = {}
    file = place
    if place.is_dir():
        file = _one_of(place, "queries.jsonl", "queries.jsonl.gz", "queries.parquet")
        evidence = _qrels(place)
    records = ((row.where, row.record) for row in file_rows(file))
    return _questions(records, name or _guess(place), evidence, limit, one_set=bool(name))


def set_order(names: Iterable[str]) -> list[str]:
    """Return different set names in the tables' order; names that are not of `SETS` follow, sorted."""
    order = {name: place for place, name in enumerate(SETS)}
    return sorted(set(names), key=lambda name: (order.get(name, len(order)), name))


def _guess(path: Path) -> str:
    stem = path.name.split(".")[0]
    word = stem.lower().replace("-", "_").split("_")[0]
    return {known.config: known.name for known in SETS.values()}.get(word, word if word in SETS else stem)


def _questions(
    rows: Iterable[tuple[str, Any]],
    default: str,
    evidence: Mapping[str, frozenset[str]],
    limit: int | None,
    one_set: bool,
) -> list[Question]:
    found: dict[tuple[str, str], Question] = {}
    counts: dict[str, int] = {}
    for where, record in rows:
        question = _question(where, record, default, not one_set, evidence)
        if question.key in found:
            raise RecordError(f"{where}: the id {question.id!r} was on an earlier line")
        if limit is not None and counts.get(question.set, 0) == limit:
            if one_set:
                break  # a stream from the hub is read no further
            continue
        counts[question.set] = counts.get(question.set, 0) + 1
        found[question.key] = question
    if not found:
        raise InvalidInputError(f"{default}: no questions")
    return list(found.values())


def _question(
    where: str, record: Any, default: str, tells: bool, evidence: Mapping[str, frozenset[str]]
) -> Question:
    """Read one record; with `tells` its own word for its set counts before the `default`."""
    if isinstance(record, SqeFastError):
        raise RecordError(f"{where}: {record}") from record
    if not isinstance(record, dict):
        raise RecordError(f"{where}: must be an object; got {describe(record)}")
    text, answers, name = (_first(record, keys) for keys in (_TEXT, _ANSWERS, _IDS))
    if not isinstance(text, str) or not text.strip():
        raise RecordError(f"{where}: needs the question as a str under one of {', '.join(_TEXT)}")
    if isinstance(answers, str):
        answers = [answers]
    if not isinstance(answers, list) or not answers or not all(isinstance(one, str) for one in answers):
        raise RecordError(f"{where}: needs the right answers, a list of str under {_ANSWERS[0]}")
    if name is None or isinstance(name, (bool, float, list, dict)):
        raise RecordError(f"{where}: needs an id under one of {', '.join(_IDS)}")
    said = _first(record, _SETS) if tells else None
    kept = evidence.get(str(name)) if evidence else None
    return Question(said if isinstance(said, str) else default, str(name), text, tuple(answers), kept)


def _first(record: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    return next((record[key] for key in keys if record.get(key) is not None), None)


def _one_of(folder: Path, *names: str) -> Path:
    for name in names:
        if (folder / name).exists():
            return folder / name
    raise InvalidInputError(f"the folder {str(folder)!r} holds none of {', '.join(names)}")


def _qrels(folder: Path) -> dict[str, frozenset[str]]:
    """Return the passages judged above 0, by question; empty where the folder has no qrels."""
    file = next((folder / name for name in ("qrels.tsv", "qrels/test.tsv") if (folder / name).exists()), None)
    if file is None:
        return {}
    found: dict[str, set[str]] = {}
    for number, line in enumerate(_lines(file), 1):
        parts = line.split("\t")
        if number == 1 and parts[-1] == "score":
            continue
        try:
            query, passage, score = parts
            judged = float(score) > 0
        except ValueError:
            raise RecordError(f"{file}:{number}: needs query-id, corpus-id and score between tabs") from None
        if judged:
            found.setdefault(query, set()).add(passage)
    return {query: frozenset(passages) for query, passages in found.items()}


def _lines(file: Path) -> Iterator[str]:
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield line.rstrip("\r\n")
