"""Settings that cost no token: tokenizers, fusion, weights."""

from __future__ import annotations

from dataclasses import replace

from bench.quality.dev import Dev
from bench.quality.expanding import recalls
from sqe_fast.experiment.table import Column, Table
from sqe_fast.methods import get_method

WEIGHTS = (0.25, 0.5, 0.6, 0.7, 0.8, 1.0, 1.5)


def basis_table(dev: Dev) -> Table:
    hybrid = get_method("hybrid", k=10)
    rows = []
    for store in ("whitespace", "code"):
        methods = [get_method("bm25", k=10), hybrid]
        if store == "whitespace":
            methods.insert(0, get_method("dense", k=10))
        else:
            methods += [
                replace(
                    hybrid,
                    name=f"z-scores, BM25 weighs {weight:g}",
                    fusion="zscore",
                    weights={"* bm25": weight},
                )
                for weight in WEIGHTS
            ]
            methods += [
                replace(hybrid, name="min-max, BM25 weighs 0.7", fusion="minmax", weights={"* bm25": 0.7})
            ]
            methods += [
                replace(
                    hybrid,
                    name="z-scores, weighed by the spread of each list",
                    fusion="zscore",
                    weigh_by="spread",
                )
            ]
        found = dev.engine(store).search_methods(dev.questions, methods)
        rows += [(store, name, *recalls(batch, dev.targets)) for name, batch in found.items()]
    return Table(
        "basis",
        "Without a model",
        (
            Column("store", "Tokenizer of BM25"),
            Column("method", "Method"),
            *(Column(f"r{k}", f"R@{k}", "percent") for k in (1, 5, 10)),
        ),
        tuple(rows),
    )
