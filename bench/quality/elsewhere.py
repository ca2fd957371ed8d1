"""Settings without a model on public retrieval sets, which are no agent memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from sqe_fast.encode import Encoder
from sqe_fast.engine import Engine
from sqe_fast.experiment.table import Column, Table
from sqe_fast.store import MemoryStore

SETS = ("cosqa", "cranfield", "mh_hotpotqa_train100", "mh_musique_train100")
ALIASES = ("dense", "bm25", "hybrid", "hybrid+")


def elsewhere_table(data: Path, sets: Sequence[str] = SETS) -> Table:
    """Return the share of relevant documents in the first 5, of at most 5; encodes every corpus (minutes)."""
    encoder = Encoder.load("minilm")
    rows = []
    for name in sets:
        folder = data / "ir" / name
        documents, queries = (_records(folder / f"{part}.jsonl") for part in ("corpus", "queries"))
        relevant: dict[str, set[str]] = {}
        for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
            query, document, grade = line.split("\t")[:3]
            if grade.lstrip("-").isdigit() and int(grade) > 0:
                relevant.setdefault(query, set()).add(document)
        asked = [query for query in queries if relevant.get(query["_id"])]
        with (
            TemporaryDirectory() as scratch,
            MemoryStore.create(Path(scratch) / "s", encoder=encoder) as store,
        ):
            store.add(
                {"id": one["_id"], "text": f"{one.get('title') or ''} {one['text']}".strip() or "-"}
                for one in documents
            )
            store.commit()
            found = Engine(store).search_methods([query["text"] for query in asked], list(ALIASES))
        cells = []
        for batch in found.values():
            shares = [
                len(relevant[query["_id"]].intersection(ids[:5])) / min(5, len(relevant[query["_id"]]))
                for query, ids in zip(asked, batch.ids, strict=True)
            ]
            cells.append(sum(shares) / len(shares))
        rows.append((name, len(asked), len(documents), *cells))
    return Table(
        "elsewhere",
        "Without a model, on public sets",
        (
            Column("set", "Set"),
            Column("queries", "queries", "int"),
            Column("documents", "documents", "int"),
            *(Column(alias, alias, "percent") for alias in ALIASES),
        ),
        tuple(rows),
        ("Share of the relevant documents among the first 5, of at most 5. MiniLM, 256 tokens.",),
    )


def _records(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
