"""Adding and deleting equal building from scratch, bit for bit; searches meanwhile see one snapshot."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from sqe_fast.bm25 import BM25Index
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from tests.bm25 import corpora
from tests.oracles import bm25 as oracle

TEXT = st.lists(st.sampled_from("abcdefgh"), max_size=6).map(" ".join)
QUERIES = ["a", "b c", "h g f e d c b a", "a a b", "zzz", "", " ".join("abcdefgh" * 30)]


class ChangedIndex(RuleBasedStateMachine):
    """An index under random changes beside the list of texts that it should hold."""

    @initialize(
        texts=st.lists(TEXT, max_size=30),
        block_docs=st.sampled_from([1, 2, 5, 64, 65536]),
        variant=st.sampled_from(corpora.VARIANTS),
    )
    def start(self, texts, block_docs, variant):
        self.texts, self.variant = list(texts), variant
        self.index = corpora.build_in_blocks(texts, block_docs, variant=variant)

    @rule(texts=st.lists(TEXT, max_size=20), threads=st.sampled_from([1, 3]))
    def add(self, texts, threads):
        self.index.add(iter(texts), threads=threads)
        self.texts += texts

    @rule(data=st.data(), share=st.sampled_from([0.1, 0.5, 1.0]))
    def delete(self, data, share):
        most = int(len(self.texts) * share)
        rows = data.draw(st.permutations(range(len(self.texts))))[:most]
        self.index.delete(rows)
        self.texts = [text for row, text in enumerate(self.texts) if row not in set(rows)]

    @rule()
    def delete_everything(self):
        self.index.delete(np.arange(len(self.texts))[::-1])
        self.texts = []

    @invariant()
    def equals_a_rebuild(self):
        if not hasattr(self, "texts"):
            return
        rebuilt = BM25Index.build(self.texts, variant=self.variant)
        corpora.same_results(self.index, rebuilt, QUERIES, k=7)
        mine, other = self.index.info, rebuilt.info
        for count in ("n_docs", "n_tokens", "n_terms", "n_postings"):
            assert mine[count] == other[count], count
        tokens = [*"abcdefgh", "z"]
        np.testing.assert_array_equal(self.index.idf(tokens), rebuilt.idf(tokens))
        np.testing.assert_array_equal(
            self.index.document_frequencies(tokens), rebuilt.document_frequencies(tokens)
        )


ChangedIndex.TestCase.settings = settings(deadline=None, max_examples=60, stateful_step_count=12)
TestChangedIndex = ChangedIndex.TestCase


@pytest.mark.parametrize("variant", corpora.VARIANTS)
@pytest.mark.parametrize("block_docs", [100, 300, 65536])
def test_a_script_of_changes_equals_a_rebuild(variant, block_docs):
    """Blocks large enough for bitmaps, joined and cut again."""
    rng = np.random.default_rng(block_docs)
    pool = corpora.zipf_texts(2500, seed=11, vocabulary=300)
    texts = pool[:600]
    index = corpora.build_in_blocks(texts, block_docs, variant=variant)
    queries = corpora.queries_of(pool, 8, 12) + corpora.queries_of(pool, 250, 2)
    for start in range(600, 2500, 380):
        added = pool[start : start + 380]
        index.add(added)
        texts = texts + added
        rows = rng.choice(len(texts), int(rng.choice([1, 40, 500])), replace=False)
        index.delete(rows)
        texts = [text for row, text in enumerate(texts) if row not in set(rows.tolist())]
        corpora.same_results(index, corpora.build_in_blocks(texts, 65536, variant=variant), queries, k=20)
    corpora.expect_top(index, queries, [1, 10, len(texts)], corpora.Presence(texts))
    corpora.expect_scores(
        BM25Index.build([t.split() for t in texts], None), [t.split() for t in texts], [["w1", "w2"]], "okapi"
    )


def test_many_small_additions_fill_the_last_block():
    index = BM25Index.build([])
    for number in range(300):
        index.add([f"a w{number}"])
    assert index.info["n_blocks"] == 1
    corpora.same_results(index, BM25Index.build(f"a w{n}" for n in range(300)), ["a", "w7 w9", "w299"])


def test_adding_nothing_and_deleting_nothing():
    index = BM25Index.build(["a", "b"])
    before = index.score_rows(["a b"])
    index.add([])
    index.add(iter(()))
    for nothing in ([], (), np.zeros(0, np.int64), np.zeros(0)):
        index.delete(nothing)
    assert index.score_rows(["a b"]).tobytes() == before.tobytes()


def test_everything_deleted_and_added_again():
    texts = ["a b", "b c", "c"]
    index = BM25Index.build(texts)
    for _ in range(3):
        index.delete([2, 0, 1])
        assert (len(index), index.info["n_terms"], index.info["n_blocks"]) == (0, 0, 0)
        assert index.search(["a"], k=2).counts.tolist() == [0]
        assert index.score_rows(["a"]).shape == (1, 0)
        assert index.idf(["a"]).tolist() == [0]
        index.add(texts)
        corpora.same_results(index, BM25Index.build(texts), ["a", "b c"])


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ([3], InvalidInputError, "rows must be >= 0 and below the 3 documents held; got 3"),
        ([0, -1], InvalidInputError, "rows must be >= 0 .* got -1"),
        ([2**40], InvalidInputError, "rows must be .* got 1099511627776"),
        (np.array([2**63 + 1], np.uint64), InvalidInputError, "rows must be .* got 9223372036854775809"),
        ([2**70], InvalidTypeError, "rows must be integers; got dtype object"),
        ([1, 1], InvalidInputError, "rows must not repeat; got 1 more than once"),
        ([2, 0, 1, 0], InvalidInputError, "rows must not repeat; got 0"),
        ([1.0], InvalidTypeError, "rows must be integers; got dtype float64"),
        ([True, False, True], InvalidTypeError, "rows must be integers; got dtype bool"),
        (["1"], InvalidTypeError, "rows must be integers"),
        ([None], InvalidTypeError, "rows must be integers"),
        ([[0, 1]], InvalidInputError, r"rows must be one-dimensional; got shape \(1, 2\)"),
        ([[0], [1, 2]], InvalidInputError, "rows must be one-dimensional; got rows of different lengths"),
        (1, InvalidInputError, r"rows must be one-dimensional; got shape \(\)"),
        (None, InvalidInputError, "rows must be one-dimensional"),
        ("12", InvalidInputError, "rows must be one-dimensional"),
    ],
)
def test_rows_that_cannot_be_deleted(rows, error, message):
    index = BM25Index.build(["a", "b", "c"])
    with pytest.raises(error, match=message):
        index.delete(rows)
    assert len(index) == 3


def test_rows_of_an_empty_index():
    with pytest.raises(InvalidInputError, match="below the 0 documents held; got 0"):
        BM25Index.build([]).delete([0])


def test_the_core_refuses_rows_that_another_thread_has_deleted_first():
    index = BM25Index.build(["a", "b"])
    with pytest.raises(InvalidInputError, match="rows must be below the number of documents, 2; got 2"):
        index._core.delete(np.array([0, 2], np.uint32), 1)
    assert len(index) == 2


@pytest.mark.parametrize("change", ["add", "delete", "through another"])
@pytest.mark.parametrize("where", ["iterator", "tokenizer"])
def test_a_text_source_that_changes_the_index_it_feeds(change, where):
    """It would wait for itself; it gets an error instead, and the index is as before."""

    def act():
        if change == "add":
            index.add(["x"])
        elif change == "delete":
            index.delete([0])
        else:
            other.add(text for text in ["x"] if index.add(["y"]) is None)

    def texts():
        yield "c"
        if where == "iterator":
            act()
        yield "d"

    def tokenizer(text):
        if text == "d" and where == "tokenizer":
            act()
        return text.split()

    other = BM25Index.build([])
    index = BM25Index.build(["a", "b"], tokenizer)
    with pytest.raises(InvalidInputError, match="the iterator changes the index"):
        index.add(texts())
    assert index.search(["a", "c"], k=1).counts.tolist() == [1, 0]
    index.add(["c"])
    assert (len(index), len(other)) == (3, 0)


def test_a_text_source_may_search_save_and_change_other_indices(tmp_path):
    other = BM25Index.build(["o"])

    def texts():
        for text in ("c", "d"):
            assert index.search(["a"], k=1).ids.tolist() == [[0]]
            assert len(index) == 2
            index.save(tmp_path / "index")
            other.add([text])
            yield text

    index = BM25Index.build(["a", "b"])
    index.add(texts())
    assert (len(index), len(other)) == (4, 3)
    assert len(BM25Index.load(tmp_path / "index")) == 2


def test_searches_during_changes_answer_from_one_snapshot():
    texts = corpora.zipf_texts(400, seed=12, vocabulary=80)
    queries = corpora.queries_of(texts, 6, 4)
    index = corpora.build_in_blocks(texts[:200], 64, threads=1)
    answers = {}  # of each state that the script passes through
    script = [
        ("add", texts[200:260]),
        ("delete", list(range(0, 90, 3))),
        ("add", texts[260:]),
        ("delete", [0]),
    ] * 4
    shadow = corpora.build_in_blocks(texts[:200], 64, threads=1)

    def answer(of):
        hits = of.search(queries, k=9, threads=1)
        return hits.ids.tobytes() + hits.scores.tobytes()

    answers = {answer(shadow)}
    for name, argument in script:
        getattr(shadow, name)(argument)
        answers.add(answer(shadow))

    seen, wrong, done = set(), [], threading.Event()

    def look():
        while not done.is_set():
            found = answer(index)
            (seen.add if found in answers else wrong.append)(found)

    lookers = [threading.Thread(target=look) for _ in range(3)]
    for looker in lookers:
        looker.start()
    try:
        for name, argument in script:
            getattr(index, name)(argument)
    finally:
        done.set()
        for looker in lookers:
            looker.join()
    assert not wrong
    assert seen
    assert answer(index) == answer(shadow)


def test_changes_from_several_threads_wait_for_each_other():
    index = BM25Index.build([])
    errors = []

    def grow(name):
        try:
            for number in range(25):
                index.add([f"{name} w{number}", "gone"])
                found = index.search(["gone"], k=1).ids[0, 0]
                assert found >= 0 or number >= 0
        except Exception as error:  # handed to the test's own thread
            errors.append(error)

    growers = [threading.Thread(target=grow, args=(name,)) for name in "abcd"]
    for grower in growers:
        grower.start()
    for grower in growers:
        grower.join()
    assert not errors
    assert len(index) == 200
    assert index.document_frequencies([*"abcd", "gone", "w24"]).tolist() == [25, 25, 25, 25, 100, 4]


def test_a_larger_vocabulary_after_each_addition():
    """Growing hash tables keep every term."""
    documents = [[f"t{number * 40 + i}" for i in range(40)] for number in range(100)]
    index = BM25Index.build([], None)
    for document in documents:
        index.add([document])
    plain = oracle.Oracle(documents)
    tokens = [token for document in documents for token in document]
    np.testing.assert_allclose(index.idf(tokens), [plain.idf(token) for token in tokens], rtol=1e-6)
    assert index.info["n_terms"] == 4000
