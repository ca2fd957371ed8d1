"""PISA's MaxScore over 8-bit quantized impacts (approximate), driven through pyterrier_pisa's native module.

The module is loaded by itself: its package would import PyTerrier, which needs Java and turns every result
into a data frame; neither is part of the race. Words are given as ASCII stand-ins, since PISA's own
tokenizer splits at punctuation: every engine sees the same words. Queries are its own (number, {word: count})
pairs, prepared untimed.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.peers.base import Arrays, Engine, EngineUnavailableError, quiet


def load_native() -> Any:
    """Return the module pyterrier_pisa._pisathon without running the package that holds it."""
    package = importlib.util.find_spec("pyterrier_pisa")
    if package is None or not package.submodule_search_locations:
        raise EngineUnavailableError("PISA: No module named 'pyterrier_pisa'")
    files = list(Path(package.submodule_search_locations[0]).glob("_pisathon*.so"))
    if not files:
        raise EngineUnavailableError("PISA: pyterrier_pisa holds no native module for this machine")
    loader = importlib.machinery.ExtensionFileLoader("_pisathon", str(files[0]))
    spec = importlib.util.spec_from_loader("_pisathon", loader)
    assert spec is not None
    try:
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
    except ImportError as error:
        raise EngineUnavailableError(f"PISA: {error}") from error
    return module


PISA = load_native()


class PisaMaxScore(Engine):
    name = "PISA MaxScore 8-bit"
    formula = "robertson"
    exact = False
    comparable = False
    encoding = "block_simdbp"

    def build(self, texts: Iterable[str], threads: int = 1) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="bench-pisa-")
        self.words: dict[str, str] = {}
        plain = Path(self.folder.name) / "plain"
        with plain.open("w", encoding="ascii") as file:
            for row, text in enumerate(texts):
                stand_ins = (self.words.setdefault(w, f"t{len(self.words)}") for w in text.lower().split())
                file.write(f"{row} {' '.join(stand_ins)}\n")
        index = Path(self.folder.name) / "index"
        index.mkdir()
        self.context = PISA.RetrievalContext()
        options = {"quantize": 1, "bm25_k1": self.k1, "bm25_b": self.b}
        with quiet():
            PISA.index(str(plain), str(index), "", 100_000, threads)
            PISA.prepare_index(self.context, str(index), self.encoding, "bm25", "", **options)

    def prepare(self, queries: Sequence[str]) -> list[tuple[int, dict[str, float]]]:
        prepared = []
        for number, query in enumerate(queries):
            counts = Counter(self.words[w] for w in query.lower().split() if w in self.words)
            prepared.append((number, {word: float(count) for word, count in counts.items()}))
        return prepared

    def search(self, prepared: list[tuple[int, dict[str, float]]], k: int, threads: int = 1) -> Any:
        room = len(prepared) * k
        queries, documents = np.empty(room, np.int32), np.empty(room, object)
        ranks, scores = np.empty(room, np.int32), np.empty(room, np.float32)
        found = PISA.retrieve(
            self.context,
            "maxscore",
            prepared,
            k=k,
            threads=threads,
            pretokenised=True,
            query_weighted=0,
            result_qidxs=queries,
            result_docnos=documents,
            result_ranks=ranks,
            result_scores=scores,
        )
        return len(prepared), found, queries, documents, ranks, scores

    def arrays(self, result: Any, k: int) -> Arrays:
        count, found, queries, documents, ranks, scores = result
        ids = np.full((count, k), -1, np.int32)
        best = np.full((count, k), -np.inf, np.float32)
        ids[queries[:found], ranks[:found]] = documents[:found].astype(np.int32)
        best[queries[:found], ranks[:found]] = scores[:found]
        return ids, best

    def close(self) -> None:
        self.context = None
        self.folder.cleanup()
