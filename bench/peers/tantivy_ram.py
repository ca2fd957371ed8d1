"""tantivy in memory: words between white space, lower-cased, frequencies without positions, nothing stored.

Queries are built ahead (untimed): a union of term queries, one for each word. One writer thread makes one
segment, so that a document's address is its row. k1 is fixed at 1.2 and lengths are rounded to one byte, so
its scores are compared by how much of the best score its documents reach.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from bench.peers.base import Arrays, Engine, EngineUnavailableError, in_threads, pad_rows

try:
    import tantivy
except ImportError as error:
    raise EngineUnavailableError(f"tantivy: {error}") from error

HEAP_BYTES = 1_000_000_000  # large enough that no corpus here is cut into several segments


class Tantivy(Engine):
    name = "tantivy"
    comparable = False
    k1 = 1.2

    def build(self, texts: Iterable[str], threads: int = 1) -> None:
        schema = (
            tantivy.SchemaBuilder()
            .add_text_field("text", stored=False, tokenizer_name="words", index_option="freq")
            .build()
        )
        self.schema, self.index = schema, tantivy.Index(schema)
        analyzer = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
        self.index.register_tokenizer("words", analyzer.filter(tantivy.Filter.lowercase()).build())
        writer = self.index.writer(heap_size=HEAP_BYTES, num_threads=threads)
        for text in texts:
            writer.add_document(tantivy.Document(text=text))
        writer.commit()
        writer.wait_merging_threads()
        self.index.reload()
        self.searcher = self.index.searcher()

    def prepare(self, queries: Sequence[str]) -> list[Any]:
        if self.searcher.num_segments != 1:
            raise RuntimeError("tantivy made several segments: documents have no row numbers")
        return [
            tantivy.Query.boolean_query(
                [
                    (tantivy.Occur.Should, tantivy.Query.term_query(self.schema, "text", word, "freq"))
                    for word in query.lower().split()
                ]
            )
            for query in queries
        ]

    def search(self, prepared: list[Any], k: int, threads: int = 1) -> list[Any]:
        search = self.searcher.search
        return in_threads(lambda query: search(query, k, count=False).hits, prepared, threads)

    def arrays(self, result: list[Any], k: int) -> Arrays:
        return pad_rows(
            [([hit[1].doc for hit in hits], [hit[0] for hit in hits]) for hits in result],
            k,
        )
