"""Answers as people or programs read them: a table, JSON lines, a TREC run, Parquet."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import click

from sqe_fast.batch import SearchBatch
from sqe_fast.errors import InvalidInputError
from sqe_fast.readers.queries import Query
from sqe_fast.store import Snapshot

__all__ = ["JsonLines", "Output", "Parquet", "Table", "Trec"]


EXCERPT = 240  # characters of a text in a table


class Output(AbstractContextManager[Any], Protocol):
    """Takes the answers batch by batch."""

    def write(self, queries: Sequence[Query], batch: SearchBatch) -> None:
        """Write the answers to `queries`."""


class _Plain:
    """An output that has nothing to close."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class Table(_Plain):
    """For people: one table a question, with the beginning of each text."""

    def __init__(self, snapshot: Snapshot, name_questions: bool) -> None:
        from rich.console import Console

        self._console = Console(highlight=False)
        self._snapshot = snapshot
        self._name_questions = name_questions

    def write(self, queries: Sequence[Query], batch: SearchBatch) -> None:
        """See `Output.write`."""
        from rich.table import Table as RichTable
        from rich.text import Text

        for number, query in enumerate(queries):
            if self._name_questions:
                self._console.print(Text(f"{query.id}: {_one_line(query.text)}", "bold"), soft_wrap=True)
            if batch.problems[number]:
                self._console.print(Text(f"note: {batch.problems[number]}", "yellow"), soft_wrap=True)
            for probe, reason in batch.refused[number].items():
                self._console.print(Text(f"note: {probe} refused: {reason}", "yellow"), soft_wrap=True)
            ids = batch.ids[number]
            if not ids:
                self._console.print("nothing found\n")
                continue
            table = RichTable(box=None, pad_edge=False)
            table.add_column("rank", justify="right", no_wrap=True)
            table.add_column("score", justify="right", no_wrap=True)
            table.add_column("id and text", overflow="fold")
            texts = self._snapshot.texts(batch.hits.ids[number, : len(ids)])
            for rank, (name, text) in enumerate(zip(ids, texts, strict=True), 1):
                score = f"{batch.hits.scores[number, rank - 1]:.4f}"
                cell = Text.assemble((_one_line(name), "bold"), "\n", _cut(_one_line(text), EXCERPT))
                table.add_row(str(rank), score, cell)
            self._console.print(table)
            self._console.print()


class JsonLines(_Plain):
    """One object a question."""

    def __init__(self, snapshot: Snapshot, texts: bool) -> None:
        self._snapshot = snapshot
        self._texts = texts

    def write(self, queries: Sequence[Query], batch: SearchBatch) -> None:
        """See `Output.write`."""
        for number, (query, row) in enumerate(zip(queries, batch.rows(), strict=True)):
            if self._texts:
                texts = self._snapshot.texts(batch.hits.ids[number, : len(row["hits"])])
                for hit, text in zip(row["hits"], texts, strict=True):
                    hit["text"] = text
            click.echo(json.dumps({"query_id": query.id, **row}, allow_nan=False))


class Trec(_Plain):
    """A run as trec_eval reads it: query id, Q0, document id, rank, score, name of the method."""

    def write(self, queries: Sequence[Query], batch: SearchBatch) -> None:
        """See `Output.write`."""
        for number, query in enumerate(queries):
            for rank, name in enumerate(batch.ids[number], 1):
                for word in (query.id, name):
                    if len(word.split()) != 1 or word.strip() != word:
                        raise InvalidInputError(
                            f"--trec: the id {word!r} holds white space, which a TREC run cannot; use --json"
                        )
                score = batch.hits.scores[number, rank - 1]
                click.echo(f"{query.id} Q0 {name} {rank} {score:.9g} {batch.method.name}")


class Parquet:
    """One row a question; the file appears whole or not at all."""

    def __init__(self, path: Path) -> None:
        from sqe_fast._extras import require

        self._arrow = require("pyarrow", "parquet", "--parquet")
        require("pyarrow.parquet", "parquet", "--parquet")
        self._path = path
        self._fresh = path.with_name(f".{path.name}.new")
        self._writer: Any = None

    def __enter__(self) -> Self:
        return self

    def write(self, queries: Sequence[Query], batch: SearchBatch) -> None:
        """See `Output.write`."""
        rows = []
        for query, row in zip(queries, batch.rows(), strict=True):
            hits, signals = row.pop("hits"), row.pop("signals")
            told = {name: json.dumps(row.pop(name)) for name in ("refused", "evidence")}
            rows.append(
                {
                    "query_id": query.id,
                    "ids": [hit["id"] for hit in hits],
                    "scores": [hit["score"] for hit in hits],
                    **row,
                    **told,
                    **signals,
                }
            )
        if not rows:
            return
        arrow = self._arrow
        if self._writer is None:
            schema = arrow.schema([(name, self._type(name, rows[0])) for name in rows[0]])
            self._writer = arrow.parquet.ParquetWriter(str(self._fresh), schema)
        self._writer.write_table(arrow.Table.from_pylist(rows, schema=self._writer.schema))

    def _type(self, name: str, row: dict[str, Any]) -> Any:
        """Return the column type; a first row says nothing of a column whose values are empty or None."""
        arrow = self._arrow
        lists = {"ids": arrow.string(), "scores": arrow.float32(), "lists": arrow.string()}
        lists["weights"] = arrow.float32()
        if name in lists:
            return arrow.list_(lists[name])
        if name in ("query_id", "question", "method", "problem", "refused", "evidence"):
            return arrow.string()
        if isinstance(row[name], bool):
            return arrow.bool_()
        return arrow.int64() if isinstance(row[name], int) else arrow.float32()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._writer is None:
            return
        self._writer.close()
        if kind is None:
            self._fresh.replace(self._path)
        else:
            self._fresh.unlink(missing_ok=True)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}…"


def _one_line(text: str) -> str:
    """Return `text` on one line, without what would steer a terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in " ".join(text.split()))
