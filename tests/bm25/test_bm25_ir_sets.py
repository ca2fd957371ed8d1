"""Real collections: the oracle's top 10 for every query and variant."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sqe_fast.bm25 import BM25Index
from tests.bm25 import corpora
from tests.oracles import bm25 as oracle


@pytest.mark.parametrize(
    "name",
    [
        "cranfield",
        pytest.param("cosqa", marks=pytest.mark.slow),
        pytest.param("scifact", marks=pytest.mark.slow),
    ],
)
def test_the_top_ten_are_the_oracles(shared_data: Path, name):
    texts, queries = corpora.read_ir_set(shared_data / "ir" / name)
    documents = [text.lower().split() for text in texts]
    postings = oracle.count_postings(documents)
    for variant in corpora.VARIANTS:
        plain = oracle.Oracle(documents, variant, postings=postings)
        index = BM25Index.build(texts, variant=variant)
        hits = index.search(queries, k=10)
        for query, found, scores in zip(queries, hits.ids, hits.scores, strict=True):
            wanted, _, holds = plain.row(query.lower().split())
            ids = found[found >= 0]
            assert len(ids) == min(10, holds.sum())
            assert holds[ids].all()
            assert len(set(ids.tolist())) == len(ids)
            order = np.argsort(-np.where(holds, wanted, -np.inf), kind="stable")[: len(ids)]
            # Documents may stand in for each other only where their scores are the same to float precision.
            np.testing.assert_allclose(wanted[ids], wanted[order], rtol=1e-6)
            np.testing.assert_allclose(scores[: len(ids)], wanted[ids], rtol=1e-6)
