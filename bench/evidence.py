"""What several queries a turn find that one does not, at equal passages and without a model.

    python -m bench.evidence [--dense] [--k 3 6 15] [--only TEXT]

Questions of two multi-hop sets with their evidence passages, and of the pool of recorded Search-R1 runs. A
turn of one query shows the policy its best k passages; one of several shows as many, taken in three ways:

shares   the best k / m of each of the m queries; a passage that two of them find is shown once, so fewer are
dealt    from each list in turn, until there are k different passages
fused    the best k of the lists by reciprocal rank fusion, each list 2 k deep

The queries are the question and what rules make of it (`sqe_fast.agent.expanding`), or what was recorded: the
sub-questions of MuSiQue's own decomposition, or the queries that recorded Search-R1 runs wrote (which have an
edge: the pool is made of what those found, and its evidence too). Differences to one query are over the same
questions, with the 95 % interval of a paired bootstrap.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.memories import ROOT, VARIABLE, records
from sqe_fast.agent.expanding import expand_by_rule
from sqe_fast.bm25 import BM25Index
from sqe_fast.experiment.table import Column, Table, cell_text
from sqe_fast.fusion import rrf
from sqe_fast.stats import paired_bootstrap
from sqe_fast.text import tokenize_batch

__all__ = ["main"]

SETS = ("mh_hotpotqa_train100", "mh_musique_train100", "searchr1_wiki_pool")
KS = (3, 6, 15, 30)
WAYS = ("shares", "dealt", "fused")
Search = Callable[[Sequence[str], int], NDArray[np.int32]]  # queries, depth -> ids int32[n, depth]
Queries = list[tuple[str, ...]]
Shown = list[list[int]]  # the rows that each question's turn shows


@dataclass(eq=False)
class QuestionSet:
    """Questions, the rows of a corpus that are evidence, those that hold an answer, and recorded queries."""

    name: str
    texts: list[str]
    questions: list[str]
    evidence: list[set[int]]
    answers: list[list[str]] | None
    recorded: dict[str, Queries] = field(default_factory=dict)


def data() -> Path:
    """Return the folder of real data."""
    wish = os.environ.get(VARIABLE)
    folder = Path(wish) if wish else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        raise SystemExit(f"real data not found: set {VARIABLE} or put it at ../shared/data")
    return folder


def load(folder: Path, name: str) -> QuestionSet:
    """Read a BEIR folder, and what was recorded of its questions."""
    corpus = records(folder / "ir" / name / "corpus.jsonl")
    row_of = {document["_id"]: row for row, document in enumerate(corpus)}
    evidence: dict[str, set[int]] = defaultdict(set)
    for line in (folder / "ir" / name / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, _ = line.split("\t")
        evidence[query].add(row_of[document])
    asked = [query for query in records(folder / "ir" / name / "queries.jsonl") if evidence[query["_id"]]]
    found = QuestionSet(
        name,
        [f"{document['title']} {document['text']}" for document in corpus],
        [query["text"] for query in asked],
        [evidence[query["_id"]] for query in asked],
        [query["golden_answers"] for query in asked] if "dataset" in asked[0] else None,
    )
    if "decomposition" in asked[0]:
        found.recorded["decomposition"] = [steps(query, False) for query in asked]
        found.recorded["decomposition, its answers filled in"] = [steps(query, True) for query in asked]
    if "dataset" in asked[0]:
        found.recorded["recorded queries"] = recorded_queries(folder, asked)
    return found


def steps(query: Mapping[str, list[dict[str, str]]], filled: bool) -> tuple[str, ...]:
    """Return the question and its sub-questions: those that stand alone, or all with answers put in."""
    parts = query["decomposition"]
    alone = [part["question"].replace(" >> ", " ") for part in parts]
    if not filled:
        alone = [text for text in alone if "#" not in text]
    else:
        for number, part in enumerate(parts, 1):
            alone = [re.sub(rf"#{number}\b", part["answer"], text) for text in alone]
    return tuple(dict.fromkeys([str(query["text"]), *alone]))


def recorded_queries(folder: Path, asked: Sequence[Mapping[str, str]]) -> Queries:
    """Return each question and the different queries that recorded runs asked about it."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    with gzip.open(folder / "qa" / "search_r1_traces.jsonl.gz", "rt", encoding="utf-8") as lines:
        for run in map(json.loads, lines):
            for turn in run["turns"]:
                found[f"{run['dataset']}_{run['id']}"][turn["query"]] = None
    return [tuple(dict.fromkeys([query["text"], *found[query["_id"]]])) for query in asked]


# -- what a turn shows ---------------------------------------------------------------------------------


def shares(lists: Sequence[Sequence[int]], k: int) -> list[int]:
    """Return the best k / m of each list, the first lists one more where m does not divide k."""
    each, more = divmod(k, len(lists))
    taken = [ids[: each + (place < more)] for place, ids in enumerate(lists)]
    return list(dict.fromkeys(row for ids in taken for row in ids if row >= 0))


def dealt(lists: Sequence[Sequence[int]], k: int) -> list[int]:
    """Return the first k different rows when each list gives one in turn."""
    in_turn = (ids[rank] for rank in range(max(map(len, lists))) for ids in lists if rank < len(ids))
    return list(dict.fromkeys(row for row in in_turn if row >= 0))[:k]


def fused(lists: Sequence[Sequence[Sequence[int]]], k: int) -> Shown:
    """Return for each question the best k of its lists by reciprocal rank fusion: one call for all."""
    ids = np.full((len(lists), max(map(len, lists)), 2 * k), -1, np.int32)
    for question, found in enumerate(lists):
        for place, rows in enumerate(found):
            ids[question, place, : len(rows[: 2 * k])] = rows[: 2 * k]
    return [[row for row in rows if row >= 0] for rows in rrf(ids, k=k).ids.tolist()]


def turns(search: Search, queries: Queries, ks: Sequence[int]) -> dict[tuple[str, int], Shown]:
    """Return what each question's turn shows, by way and k; every query is looked up once, in one batch."""
    flat = list(dict.fromkeys(query for asked in queries for query in asked))
    ids = dict(zip(flat, search(flat, 2 * max(ks)).tolist(), strict=True))
    lists = [[ids[query] for query in asked] for asked in queries]
    found: dict[tuple[str, int], Shown] = {}
    for k in ks:
        found["shares", k] = [shares(one, k) for one in lists]
        found["dealt", k] = [dealt(one, k) for one in lists]
        found["fused", k] = fused(lists, k)
    return found


def recall(shown: Shown, evidence: Sequence[set[int]]) -> NDArray[np.float64]:
    """Return the share of each question's evidence that its turn shows: float64[n]."""
    return np.array(
        [len(wanted.intersection(rows)) / len(wanted) for rows, wanted in zip(shown, evidence, strict=True)]
    )


# -- the tables ----------------------------------------------------------------------------------------


def study(
    found: QuestionSet, retriever: str, search: Search, index: BM25Index, ks: Sequence[int]
) -> list[Table]:
    """Return the tables of one set and one retriever: of evidence, and where answers are known of these."""
    sources = {"question, rules": expand_by_rule(found.questions, index)} | found.recorded
    one = turns(search, [(question,) for question in found.questions], ks)
    several = {name: turns(search, queries, ks) for name, queries in sources.items()}
    tables = [_table(found, retriever, "evidence", found.evidence, one, several, sources, ks)]
    if found.answers is not None:
        holders = answer_rows(found, [one, *several.values()])
        tables.append(_table(found, retriever, "answer", holders, one, several, sources, ks))
    return tables


def answer_rows(found: QuestionSet, shown: Sequence[dict[tuple[str, int], Shown]]) -> list[set[int]]:
    """Return for each question the rows that hold a golden answer, of those that some turn shows."""
    texts = [f" {' '.join(words)} " for words in tokenize_batch(found.texts, "word")]
    holders = []
    for place, answers in enumerate(found.answers or ()):
        words = [f" {' '.join(tokens)} " for tokens in tokenize_batch(answers, "word", threads=1) if tokens]
        rows = {row for turn in shown for lists in turn.values() for row in lists[place]}
        holders.append({row for row in rows if any(answer in texts[row] for answer in words)})
    return holders


def _table(
    found: QuestionSet,
    retriever: str,
    what: str,
    wanted: Sequence[set[int]],
    one: dict[tuple[str, int], Shown],
    several: dict[str, dict[tuple[str, int], Shown]],
    sources: Mapping[str, Queries],
    ks: Sequence[int],
) -> Table:
    measure = recall if what == "evidence" else any_of
    columns = [Column("queries", "queries"), Column("mean", "a turn", "float"), Column("way", "passages")]
    for k in ks:
        columns += [Column(f"r{k}", f"k {k}", "percent"), Column(f"d{k}", "+", "points")]
        columns += [Column(f"i{k}", "95 %", "interval")]
    base = {k: measure(one["dealt", k], wanted) for k in ks}
    rows: list[tuple[object, ...]] = [_row("question", 1.0, "", base, None)]
    for name, turn in several.items():
        mean = float(np.mean([len(queries) for queries in sources[name]]))
        for way in WAYS:
            rows.append(_row(name, mean, way, {k: measure(turn[way, k], wanted) for k in ks}, base))
    title = {"evidence": "evidence among the passages shown", "answer": "some passage shown holds an answer"}[
        what
    ]
    return Table(
        f"{found.name}_{retriever}_{what}".lower().replace(" ", "_"),
        f"{found.name}, {retriever}: {title} ({len(found.questions):,} questions)",
        tuple(columns),
        tuple(rows),
    )


def _row(
    name: str,
    mean: float,
    way: str,
    values: Mapping[int, NDArray[np.float64]],
    base: Mapping[int, NDArray[np.float64]] | None,
) -> tuple[object, ...]:
    cells: list[object] = [name, mean, way]
    for k, value in values.items():
        if base is None:
            cells += [float(value.mean()), None, None]
        else:
            paired = paired_bootstrap(value - base[k])
            cells += [float(value.mean()), paired.mean, (paired.low, paired.high)]
    return tuple(cells)


def any_of(shown: Shown, wanted: Sequence[set[int]]) -> NDArray[np.float64]:
    """Return 1 where a turn shows one of the rows wanted, else 0: float64[n]."""
    return np.array([float(not rows.isdisjoint(turn)) for turn, rows in zip(shown, wanted, strict=True)])


def markdown(table: Table) -> str:
    """Lay a table out as Markdown."""
    head = "| " + " | ".join(column.title for column in table.columns) + " |"
    rule = "|" + "|".join("---" if column.form == "text" else "---:" for column in table.columns) + "|"
    lines = ["| " + " | ".join(map(cell_text, table.columns, row)) + " |" for row in table.rows]
    return "\n".join([f"**{table.title}**", "", head, rule, *lines])


def dense_search(texts: Sequence[str]) -> Search:
    """Return exact search over MiniLM's vectors of `texts`."""
    from sqe_fast.dense import DenseIndex
    from sqe_fast.encode import Encoder

    encoder = Encoder.load("minilm")
    index = DenseIndex.build(encoder.encode(texts))
    return lambda queries, depth: index.search(encoder.encode(queries, kind="query"), depth).ids


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.evidence", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--dense", action="store_true", help="also with MiniLM's vectors (a few minutes)")
    parser.add_argument("--k", type=int, nargs="+", default=list(KS), help="passages a turn shows")
    parser.add_argument("--only", default="", metavar="TEXT", help="only sets whose name holds TEXT")
    options = parser.parse_args(arguments)
    for name in SETS:
        if options.only not in name:
            continue
        found = load(data(), name)
        index = BM25Index.build(found.texts, tokenizer="code", variant="lucene", k1=1.2, b=0.75)
        searches: dict[str, Search] = {
            "BM25": lambda queries, depth, index=index: index.search(queries, depth).ids
        }
        if options.dense:
            searches["MiniLM"] = dense_search(found.texts)
        for retriever, search in searches.items():
            for table in study(found, retriever, search, index, options.k):
                print(markdown(table), end="\n\n", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
