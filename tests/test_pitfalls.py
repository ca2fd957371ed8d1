"""Faults that users of other search libraries have reported in public, one test for each.

The name of a report is that of the project and the number of its issue or pull request. Reports on fusing
ranked lists are tested with the rest of fusion; `ELSEWHERE` says where.
"""

from __future__ import annotations

import ast
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rank_bm25 import BM25Okapi

from sqe_fast.bm25 import VARIANTS, BM25Index
from sqe_fast.text import tokenize
from tests.bm25 import corpora
from tests.oracles import bm25 as oracle

ROOT = Path(__file__).resolve().parents[1]

ELSEWHERE = {
    "qdrant #6814, xerj PR 976: the order of ties changes": "test_equal_scores_have_one_order",
    "langchain #37046, #38627: repeats within a list": (
        "test_repeats_inside_one_list_count_once_at_the_best_rank"
    ),
    "sentence-transformers PR 3883: ranks from 0": "test_ranks_start_at_one_and_absence_adds_nothing",
    "graphiti PR 1847, neural-search #1418: the constant": "test_constant_is_honoured_down_to_zero",
    "neural-search #1703: documents of one list dropped": "test_documents_of_one_list_only_are_kept",
    "ranx #67: an empty list raises": "test_an_empty_list_is_accepted",
    "bm25s PR 189: who wins among equals depends on the backend": (
        "test_result_depends_on_neither_threads_nor_level"
    ),
    "eliza #18983: fewer than k are not sorted": "test_always_sorted_even_if_fewer_than_k",
}


@pytest.mark.parametrize("report", ELSEWHERE)
def test_reports_on_fusion_are_tested_there(report):
    tree = ast.parse((ROOT / "tests" / "test_fusion.py").read_text(encoding="utf-8"))
    assert ELSEWHERE[report] in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_a_term_in_half_of_the_documents():
    """rank_bm25 #39, #29, #43: its idf is 0, so it finds nothing. okapi has the same scores but
    still ranks the matches; lucene's idf is positive.
    """
    texts = ["apple pie", "apple tart", "plum pie", "plum jam"]
    okapi = BM25Index.build(texts)
    assert BM25Okapi([text.split() for text in texts]).get_scores(["apple"]).tolist() == [0, 0, 0, 0]
    assert okapi.score_rows(["apple"]).tolist() == [[0, 0, 0, 0]]
    hits = okapi.search(["apple"], k=4)
    assert hits.ids.tolist() == [[0, 1, -1, -1]]
    assert hits.scores[0, :2].tolist() == [0, 0]
    assert (BM25Index.build(texts, variant="lucene").search(["apple"], k=2).scores > 0).all()


def test_a_negative_mean_idf():
    """rank_bm25 PR 26: with one document every score is negative. okapi gives that number, and the
    document is found all the same.
    """
    hits = BM25Index.build(["hello world"]).search(["hello"], k=2)
    assert hits.scores[0, 0] == pytest.approx(-0.2747, abs=1e-4)
    assert hits.ids.tolist() == [[0, -1]]
    everywhere = BM25Index.build(["a b", "a c", "a", "a a a"]).search(["a"], k=4)
    assert (everywhere.scores < 0).all()
    assert sorted(everywhere.ids[0].tolist()) == [0, 1, 2, 3]
    assert (np.diff(everywhere.scores[0]) <= 0).all()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("texts", [[], [[]], [[], [], []]])
def test_an_empty_corpus(variant, texts):
    """rank_bm25 #36, open-webui #16896: nothing indexed, or nothing but empty documents, divides by zero.
    haystack #11598: such an index builds but fails when it is asked.
    """
    index = BM25Index.build(texts, tokenizer=None, variant=variant)
    hits = index.search([["a"], []], k=3)
    assert hits.counts.tolist() == [0, 0]
    assert hits.ids.tolist() == [[-1] * 3] * 2
    assert np.isneginf(hits.scores).all()
    rows = index.score_rows([["a"], []])
    assert rows.shape == (2, len(texts))
    assert not rows.any()
    assert not np.isnan(rows).any()
    assert index.idf(["a"]).tolist() == [0]


@pytest.mark.parametrize("k", [3, 4, 1000])
def test_k_larger_than_the_corpus(k):
    """bm25s #116, llama_index #19568: asking for more than there is raises. Here the row is padded, and
    says how many are real.
    """
    hits = BM25Index.build(["a b", "a", "b"]).search(["a", "b a", "z"], k=k)
    assert hits.ids.shape == (3, k)
    assert hits.counts.tolist() == [2, 3, 0]
    assert (hits.ids[:, 3:] == -1).all()
    assert np.isneginf(hits.scores[:, 3:]).all()


def test_tokens_that_nobody_has_seen():
    """bm25s #60, #91: a query token outside the vocabulary is an index error. Here it adds nothing."""
    index = BM25Index.build(["a b", "b c"])
    known, mixed, unknown = index.search(["a", "zzz a yyy 🙂", "zzz"], k=2)
    assert known[0].tolist() == mixed[0].tolist()
    assert known[1].tolist() == mixed[1].tolist()
    assert len(unknown[0]) == 0


@pytest.mark.parametrize("position", [0, 2, 39])
def test_one_empty_query_in_a_batch(position):
    """bm25s 0.3.16 with numba: a batch that starts with an empty query raises. Here its row is empty."""
    texts = corpora.zipf_texts(300, vocabulary=50)
    queries = corpora.queries_of(texts, 4, 40)
    queries[position] = ""
    for variant in VARIANTS:
        for block_docs in (64, 65536):
            index = corpora.build_in_blocks(texts, block_docs, variant=variant)
            for threads in (1, 2):
                hits = index.search(queries, threads=threads)
                assert hits.counts[position] == 0
                assert not index.score_rows(queries, threads=threads)[position].any()
                alone = index.search(queries[:position] + queries[position + 1 :], threads=threads)
                np.testing.assert_array_equal(np.delete(hits.ids, position, axis=0), alone.ids)


@pytest.mark.parametrize("variant", VARIANTS)
def test_ids_are_those_of_the_documents(variant):
    """bm25s #127: ids are shifted, so that a document that matches scores 0. Every document is asked for by a
    word that it alone holds, on each path.
    """
    texts = [f"common w{number % 5} own{number}" for number in range(600)]
    for block_docs in (64, 300, 65536):
        index = corpora.build_in_blocks(texts, block_docs, variant=variant)
        hits = index.search([f"common own{number}" for number in range(600)], k=1)
        assert hits.ids.ravel().tolist() == list(range(600))
        rows = index.score_rows([f"own{number}" for number in (0, 63, 64, 299, 300, 599)])
        assert np.argmax(rows, axis=1).tolist() == [0, 63, 64, 299, 300, 599]
        assert np.count_nonzero(rows, axis=1).tolist() == [1] * 6


def test_one_tokenizer_for_many_indices():
    """bm25s #137: a tokenizer remembers the first corpus, and the second one fails. Ours keep nothing."""

    def split(text):
        return text.split()

    for tokenizer in ("whitespace", "code", "word", split):
        first = BM25Index.build(["alpha beta", "beta"], tokenizer, variant="lucene")
        second = BM25Index.build(["gamma", "delta gamma", "beta"], tokenizer, variant="lucene")
        assert first.search(["beta gamma"], k=3).ids.tolist() == [[1, 0, -1]]
        assert second.search(["beta gamma"], k=1).ids.tolist() == [[2]]
        first.add(["gamma"])
        assert second.search(["gamma"], k=3).ids.tolist() == [[0, 1, -1]]


def test_text_beyond_ascii_is_saved_and_loaded(tmp_path):
    """bm25s #79, PR 102: a vocabulary or corpus beyond ASCII fails on the way to the disk or back. Here
    it passes, under an ASCII locale too.
    """
    script = (
        "import sys\nfrom sqe_fast.bm25 import BM25Index\n"
        "texts = ['na\\u00efve caf\\u00e9', '\\u691c\\u7d22', '\\U0001f50e']\n"
        "index = BM25Index.build(texts, variant='lucene')\n"
        "index.save('index')\nloaded = BM25Index.load('index')\n"
        "print(loaded.search(['CAF\\u00c9', '\\u691c\\u7d22', '\\U0001f50e'], k=1).ids.ravel().tolist())\n"
        "print(sys.stdout.encoding)"
    )
    environment = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONPATH": str(ROOT)}
    environment["PATH"] = os.environ["PATH"]
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "[0, 1, 2]"


@pytest.mark.parametrize("variant", VARIANTS)
def test_documents_come_and_go(variant):
    """bm25s #5, #19, #98, #129: an index cannot be changed. Here changing one equals building it anew."""
    index = BM25Index.build(["a b c", "b c", "c"], variant=variant)
    index.add(["a a", "d"])
    index.delete([1, 3])
    rebuilt = BM25Index.build(["a b c", "c", "d"], variant=variant)
    corpora.same_results(index, rebuilt, ["a", "b c", "d c", "a b c d"])


@pytest.mark.parametrize("variant", VARIANTS)
def test_equal_scores_are_in_the_order_of_rows(variant):
    """bm25s PR 189: which of several equal documents wins depends on the backend. Here the first rows."""
    texts = ["x y", "x y", "z"] * 700
    expected = [row for row in range(2100) if row % 3 != 2][:25]
    for block_docs in (64, 300, 65536):
        index = corpora.build_in_blocks(texts, block_docs, variant=variant)
        for threads in (1, 2, 5):
            hits = index.search(["x", "y x", "x x"] * 20, k=25, threads=threads)
            assert (hits.ids == expected).all()


def test_few_matches_are_sorted_too():
    """eliza #18983: with fewer matches than k they come in any order."""
    texts = ["rare " * (1 + number % 7) + "filler " * (number % 11) for number in range(40)] + ["other"] * 500
    for variant in VARIANTS:
        hits = BM25Index.build(texts, variant=variant).search(["rare", "rare filler"], k=100)
        assert hits.counts.tolist() == [40, 40]
        for scores in hits.scores[:, :40]:
            assert (np.diff(scores) <= 0).all()


def test_building_streams():
    """rank_bm25 #24, #27: millions of documents are killed for memory. Texts are taken from the iterator as
    they are needed, and the peak stays far below the size of the texts.
    """
    script = (
        "import random, resource, sys\nfrom sqe_fast.bm25 import BM25Index\n"
        "words = [f'some-quite-long-word-{n:060d}' for n in range(2000)]\n"
        "draw = random.Random(0).choices\n"
        "given = [0, 0]\n"
        "def texts():\n"
        "    for number in range(60_000):\n"
        "        text = ' '.join(draw(words, k=30))\n"
        "        given[0] += 1\n"
        "        given[1] += len(text)\n"
        "        yield text\n"
        "BM25Index.build(['warm'])\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "index = BM25Index.build(texts(), threads=2)\n"
        "after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "print(len(index), given[1], (after - before) * 1024)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    n_docs, size, grown = map(int, done.stdout.split())
    assert (n_docs, size > 140e6) == (60_000, True)
    assert grown < 130e6, f"{grown / 1e6:.0f} MB for {size / 1e6:.0f} MB of text"


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("settings", [{"k1": 0}, {"b": 0}, {"b": 1}, {"k1": 0, "b": 0}, {"k1": 0, "b": 1}])
def test_parameters_at_their_limits(variant, settings):
    """OkapiBM25 PR 10, GeeseDB #20: k1 = 0 or b = 0 is taken for "not given", or makes NaN."""
    documents = [["a"] * 3, ["a", "b"], [], ["b", "c", "c", "c", "c"], ["d"] * 5]
    index = BM25Index.build(documents, None, variant, **settings)
    queries = [["a"], ["b", "c"], ["z"]]
    corpora.expect_scores(index, documents, queries, variant, **settings)
    default = BM25Index.build(documents, None, variant)
    assert not np.array_equal(index.score_rows(queries), default.score_rows(queries))
    assert all(index.info[name] == value for name, value in settings.items())
    assert np.isfinite(index.score_rows(queries)).all()


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("全文検索エンジン", "検索"),
        ("我在学习数据库", "数据"),
        ("Быстрая коричневая лиса", "ЛИСА"),
        ("नमस्ते दुनिया", "दुनिया"),
        ("مرحبا بالعالم", "مرحبا"),
        ("한국어 검색", "검색"),
        ("ภาษาไทย", "ภาษา"),
    ],
)
def test_other_scripts_are_found(text, query):
    """fastmcp 4888, jdocmunch-mcp 91: an ASCII tokenizer finds no token in such text. Marks stay with their
    letters.
    """
    for tokenizer in ("word", "code"):
        assert tokenize(text, tokenizer)
        hits = BM25Index.build(["latin only", text, ""], tokenizer, variant="lucene").search([query], k=3)
        assert hits.ids[0, 0] == 1
        assert hits.counts.tolist() == [1]


def test_the_oracle_itself():
    """Numbers worked out by hand hold the oracle that the other tests lean on."""
    plain = oracle.Oracle([["a", "b"], ["a"]], "lucene", k1=1.0, b=0.0)
    assert plain.row(["b"])[0].tolist() == [pytest.approx(math.log(2) / 2), 0]
    assert plain.row(["a", "a"])[0].tolist() == [pytest.approx(math.log(1.2)), pytest.approx(math.log(1.2))]
    assert oracle.top([1.0, 3.0, 3.0, 0.0], [True, True, True, False], 4) == (
        [1, 2, 0, -1],
        [3.0, 3.0, 1.0, -math.inf],
    )
