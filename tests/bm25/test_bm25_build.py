"""Building: texts are read once, in order; errors pass through; nothing depends on the number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from sqe_fast.bm25 import BM25Index
from sqe_fast.errors import InvalidTypeError
from sqe_fast.text import stemmed
from tests.bm25 import corpora


class Once:
    """An iterable that refuses to be read a second time."""

    def __init__(self, texts):
        self.texts, self.read = texts, 0

    def __iter__(self):
        self.read += 1
        assert self.read == 1
        return iter(self.texts)


def test_texts_are_read_once_from_any_iterable():
    texts = corpora.zipf_texts(500)
    once = Once(texts)
    index = BM25Index.build(once)
    assert (once.read, len(index)) == (1, 500)
    queries = corpora.queries_of(texts, 5, 10)
    for form in ((text for text in texts), tuple(texts), dict.fromkeys(map(str, range(3))), np.array(texts)):
        other = BM25Index.build(form)
        if len(other) == 500:
            corpora.same_results(index, other, queries)


def test_queries_come_from_any_iterable():
    index = BM25Index.build(["a b", "b c"])
    for queries in (["a", "c"], ("a", "c"), iter(["a", "c"]), (q for q in "ac"), {"a": 1, "c": 2}):
        assert index.search(queries, k=1).ids.tolist() == [[0], [1]]
    assert index.score_rows(iter("abc")).shape == (3, 2)


@pytest.mark.parametrize("n_docs", [0, 1, 5000])
@pytest.mark.parametrize("block_docs", [64, 1000, 65536])
def test_the_file_does_not_depend_on_threads(n_docs, block_docs, tmp_path):
    texts = corpora.zipf_texts(n_docs, seed=2, mean_length=10)
    files = []
    for threads in (1, 2, 5, None):
        corpora.build_in_blocks(texts, block_docs, threads=threads or 3).save(tmp_path / "index")
        files.append((tmp_path / "index").read_bytes())
    assert files[1:] == files[:1] * 3


def test_more_texts_than_a_chunk_holds(tmp_path):
    """Chunks end after 32,768 texts; the next one's terms go on where the last one's ended."""
    texts = [f"w{number} w{number % 97} all" for number in range(70_000)]
    index = BM25Index.build(iter(texts), variant="lucene", threads=2)
    assert len(index) == 70_000
    assert index.document_frequencies(["w69999", "w96", "w5", "all", "w32768"]).tolist() == [
        1,
        721,
        722,
        70_000,
        1,
    ]
    hits = index.search([f"w{row}" for row in (96, 32_767, 32_768, 65_535, 65_536, 69_999)], k=1)
    assert hits.ids[1:].ravel().tolist() == [32_767, 32_768, 65_535, 65_536, 69_999]
    many = index.search(["all"], k=70_001)
    assert many.counts.tolist() == [70_000]
    assert many.ids[0, :70_000].tolist() == list(range(70_000))


class Broken(Exception):
    pass


def breaking(texts, after):
    yield from texts[:after]
    raise Broken(after)


@pytest.mark.parametrize("after", [0, 1, 40_000])
def test_an_error_of_the_iterator_passes_through(after):
    texts = ["a b c"] * 40_001
    with pytest.raises(Broken, match=str(after)):
        BM25Index.build(breaking(texts, after))
    index = BM25Index.build(["a", "d"])
    with pytest.raises(Broken):
        index.add(breaking(texts, after))
    assert len(index) == 2
    assert index.document_frequencies(["b"]).tolist() == [0]
    index.add(["b"])
    assert index.search(["b"], k=1).ids.tolist() == [[2]]


def test_an_error_of_the_tokenizer_passes_through():
    def tokenizer(text):
        if text == "bad":
            raise Broken
        return text.split()

    with pytest.raises(Broken):
        BM25Index.build(["a", "bad"], tokenizer)
    index = BM25Index.build(["a", "b"], tokenizer)
    for call in (index.add, index.search, index.score_rows):
        with pytest.raises(Broken):
            call(["a", "bad"])
    assert index.search(["b"], k=1).ids.tolist() == [[1]]
    assert len(index) == 2


def test_keyboard_interrupt_of_an_iterator_leaves_the_index_usable():
    def texts():
        yield "c"
        raise KeyboardInterrupt

    index = BM25Index.build(["a", "b"])
    with pytest.raises(KeyboardInterrupt):
        index.add(texts())
    index.add(["c"])
    assert len(index) == 3


@pytest.mark.parametrize("name", ["build", "add", "search", "score_rows"])
@pytest.mark.parametrize(
    ("wrong", "kind"), [(3, "int"), (None, "NoneType"), (b"a", "bytes"), (["a"], "list")]
)
def test_an_element_that_is_no_str_is_named_with_its_position(name, wrong, kind):
    index = BM25Index.build(["a"])
    argument = "texts" if name in ("build", "add") else "queries"
    message = rf"^{argument}\[5\] must be a str; got {kind}$"
    with pytest.raises(InvalidTypeError, match=message):
        getattr(index, name)(["a"] * 5 + [wrong])
    late = 40_000 if argument == "texts" else 5000
    with pytest.raises(InvalidTypeError, match=rf"^{argument}\[{late}\] must be"):
        getattr(index, name)(["a"] * late + [wrong])
    assert len(index) == 1


@pytest.mark.parametrize("name", ["build", "add", "search", "score_rows"])
def test_ready_tokens_that_are_none_are_named_with_their_position(name):
    index = BM25Index.build([["a"]], tokenizer=None)
    argument = "texts" if name in ("build", "add") else "queries"

    def call(elements):
        if name == "build":
            return BM25Index.build(elements, tokenizer=None)
        return getattr(index, name)(elements)

    for wrong in ("abc", b"abc", 3, None):
        with pytest.raises(
            InvalidTypeError, match=rf"^{argument}\[2\] \(with tokenizer=None\) must be an iter"
        ):
            call([["a"], [], wrong])
    with pytest.raises(InvalidTypeError, match=rf"^{argument}\[1\] .* got int 7 at 2"):
        call([["a"], ["a", "b", 7]])


def test_a_callable_that_returns_something_else_is_named_with_the_position():
    for result in (None, "ab", 3, [1], [b"a"]):

        def tokenizer(text, result=result):
            return result if text == "bad" else [text]

        with pytest.raises(InvalidTypeError, match=r"^tokenizer: its result for texts\[1\] must "):
            BM25Index.build(["a", "bad"], tokenizer)
        index = BM25Index.build(["a", "b"], tokenizer)
        with pytest.raises(InvalidTypeError, match=r"^tokenizer: its result for queries\[0\] must "):
            index.search(["bad"])


def test_callables_and_ready_tokens_equal_the_native_tokenizer():
    texts = corpora.zipf_texts(300)
    queries = corpora.queries_of(texts, 6, 20)
    native = BM25Index.build(texts)
    called = BM25Index.build(texts, lambda text: iter(text.lower().split()))
    corpora.same_results(native, called, queries)
    ready = BM25Index.build((text.split() for text in texts), None)
    np.testing.assert_array_equal(ready.score_rows([q.split() for q in queries]), native.score_rows(queries))
    assert (
        ready.search([("w1", "w2"), ["w1", "w2"]], k=3).ids.tolist()
        == native.search(["w1 w2"] * 2, 3).ids.tolist()
    )


def test_stemmed_tokens():
    pytest.importorskip("Stemmer", reason="PyStemmer (extra `stem`) is not installed")
    index = BM25Index.build(["running parsers", "a walk"], stemmed("word"), variant="lucene")
    assert index.search(["parser runs"], k=1).ids.tolist() == [[0]]


TEXTS = {
    "ascii": "The Cat",
    "latin-1": "Café Ÿ'été ÀÉ",
    "UCS2": "Быстрая лиса ΣΑΣ 中文 字",
    "UCS4": "𝔘nicode 🙂 x",
}


@pytest.mark.parametrize("tokenizer", ["whitespace", "code", "word", str.split, None])
def test_how_a_text_is_stored_does_not_matter(tokenizer):
    """Each text also beside a character that Python stores in 1, 2 or 4 bytes."""
    split = str.split if tokenizer is None else (lambda text: text)
    for text in TEXTS.values():
        stored = [f"{text} {end}" for end in ("e", "é", "ж", "🙂")]
        index = BM25Index.build(map(split, stored), tokenizer, variant="lucene", b=0)
        rows = index.score_rows([split(text), split(text + " 𐓀"), split(text + " ю")])[:, :3]
        assert (rows > 0).all()
        assert (rows == rows[0, 0]).all()


@pytest.mark.parametrize("tokenizer", ["whitespace", "code", "word", str.split])
def test_strings_python_allows_but_utf8_does_not(tokenizer):
    texts = ["a\ud800b x", "\udcff", "nul\0nul x", "", "\0", "𐀀 x"]
    index = BM25Index.build(texts, tokenizer, variant="lucene")
    rows = index.score_rows(texts)
    assert np.isfinite(rows).all()
    assert [bool(rows[i, i]) for i in range(6)] == [bool(set(rows[i]) - {0.0}) for i in range(6)]
    assert index.search(["x"], k=6).counts.tolist() == [3]
    if tokenizer in ("whitespace", str.split):
        assert index.search(["a\ud800b"], k=1).ids.tolist() == [[0]]
        assert index.search(["\udcff"], k=1).ids.tolist() == [[1]]
        assert index.search(["nul\0nul"], k=1).ids.tolist() == [[2]]
        assert index.search(["a\ud801b", "nul"], k=1).counts.tolist() == [0, 0]
        assert index.document_frequencies(["a\ud800b", "\udcff", "nul\0nul", "nul"]).tolist() == [1, 1, 1, 0]


def test_one_document_with_many_different_term_frequencies():
    """The limit on (tf, length) pairs of a piece and of a block."""
    long = " ".join(f"w{n} " * n for n in range(1, 1200))
    texts = [long, "w5", *(f"x{n} " * n for n in range(1, 400)), long + " w1 w2"]
    index = BM25Index.build(texts, variant="lucene")
    corpora.expect_top(index, ["w5 w1199", "w3 w4 w1 x7", "w2"], [1, 5, 500], corpora.Presence(texts))
    corpora.expect_scores(
        BM25Index.build([t.split() for t in texts], None), [t.split() for t in texts], [["w5", "x7"]], "okapi"
    )
    whole = index.score_rows(["w5 x3"])
    assert np.array_equal(corpora.build_in_blocks(texts, 3, variant="lucene").score_rows(["w5 x3"]), whole)


def test_more_length_and_frequency_pairs_than_a_block_may_hold():
    """70,000 different (tf, length) pairs: blocks are closed early and still give the right answer."""
    lengths = np.random.default_rng(1).permutation(np.arange(1000, 2250))
    texts, documents = [], []
    for number, length in enumerate(lengths.tolist()):
        counts = range(1, int((2 * length) ** 0.5))
        tokens = [f"t{tf}" for tf in counts for _ in range(tf)][:length]
        tokens += [f"own{number}"] * (length - len(tokens))
        documents.append(tokens)
        texts.append(" ".join(tokens))
    index = BM25Index.build(texts, threads=2)
    assert index.info["n_blocks"] == 2
    corpora.expect_scores(
        BM25Index.build(documents, None), documents, [["t1", "t30"], ["own5", "t52"]], "okapi"
    )
    corpora.expect_top(index, ["t1 t30", "own5 t52"], [1, 10, len(texts)], corpora.Presence(texts))
