"""The batched pass: how often it calls what, failures and odd questions, refusals."""

from __future__ import annotations

import json
import threading
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("faiss")

from oracles.small import WORDS, ScriptedGenerator, TextEncoder, small_store

from sqe_fast.engine import Engine
from sqe_fast.errors import InvalidInputError, InvalidTypeError, MissingExtraError
from sqe_fast.expand import Expander
from sqe_fast.expansion.cache import ExpansionCache
from sqe_fast.methods import METHODS, get_method
from sqe_fast.store import MemoryStore

QUESTIONS = [f"where is the {a} of the {b}" for a in WORDS[:5] for b in WORDS[5:8]]


@pytest.fixture
def encoder():
    return TextEncoder()


@pytest.fixture
def store(tmp_path, encoder):
    with small_store(tmp_path / "memory", encoder) as store:
        encoder.calls.clear()
        yield store


@pytest.fixture
def generator():
    return ScriptedGenerator()


@pytest.fixture
def engine(store, generator):
    return Engine(store, generator=generator)


def rows(batch):
    return [{k: v for k, v in row.items() if k != "question"} for row in batch.rows()]


def test_one_encoding_and_one_generation_a_stage(engine, encoder, generator):
    batch = engine.search(QUESTIONS, "always")
    assert [kind for kind, _ in encoder.calls] == ["query", "query"]
    assert encoder.calls[0][1] == QUESTIONS
    assert len(encoder.calls[1][1]) == 4 * len(QUESTIONS)
    assert len(generator.calls) == 1
    assert len(generator.calls[0]) == 2 * len(QUESTIONS)
    assert batch.usage.calls.tolist() == [2] * len(QUESTIONS)
    assert batch.usage.prompt_tokens.tolist() == [20] * len(QUESTIONS)
    assert batch.usage.completion_tokens.tolist() == [12] * len(QUESTIONS)
    assert set(batch.seconds) == {"encode", "search", "gate", "expand", "fuse", "total"}
    assert all(seconds > 0 for seconds in batch.seconds.values())


def test_only_gated_questions_are_generated(engine, generator):
    scores = engine.search(QUESTIONS, "dense").signals["top1"]
    threshold = float(np.median(scores))
    batch = engine.search(QUESTIONS, "sqe", threshold=threshold)
    assert 0 < batch.gated.sum() < len(QUESTIONS)
    assert batch.gated.tolist() == (scores.astype(float) < threshold).tolist()
    assert {question for _, question, _ in generator.calls[0]} == {
        question for question, yes in zip(QUESTIONS, batch.gated, strict=True) if yes
    }
    assert (batch.usage.calls > 0).tolist() == batch.gated.tolist()


def test_all_methods_share_each_text(store, encoder):
    generator = ScriptedGenerator()
    engine = Engine(store, generator=generator)
    targets = [f"e{n}" for n in range(len(QUESTIONS))]
    found = engine.search_methods(QUESTIONS, METHODS, targets=targets)
    assert list(found) == list(METHODS)
    encoded = [text for _, texts in encoder.calls for text in texts]
    assert len(encoder.calls) == 2
    assert len(encoded) == len(set(encoded)) == 5 * len(QUESTIONS)
    assert len(generator.calls) == 1
    for name, batch in found.items():
        alone = Engine(store, generator=ScriptedGenerator()).search(QUESTIONS, name, targets=targets)
        assert rows(alone) == rows(batch)


def test_methods_that_differ_in_numbers_share_and_equal_themselves(store):
    methods = [
        replace(get_method("traces", K=1, k=3), name="one"),
        replace(get_method("always", P=1, depth=4, k=3), name="shallow"),
        replace(get_method("random", rate=0.5, k=3, constant=0), name="half"),
        replace(get_method("paraphrases", P=2, k=3), name="both"),
    ]
    generator = ScriptedGenerator()
    found = Engine(store, generator=generator).search_methods(QUESTIONS, methods)
    assert len(generator.calls) == 1
    for method in methods:
        alone = Engine(store, generator=ScriptedGenerator()).search(QUESTIONS, method)
        assert alone.ids == found[method.name].ids
        assert np.array_equal(alone.lengths, found[method.name].lengths)


def test_traces_are_made_only_for_the_questions_whose_methods_want_them(store):
    generator = ScriptedGenerator()
    found = Engine(store, generator=generator).search_methods(QUESTIONS, ["paraphrases", "random"])
    gated = found["Random-Gated-Expansion"].gated
    assert 0 < gated.sum() < len(QUESTIONS)
    (requests,) = generator.calls
    assert {question for kind, question, _ in requests if kind == "traces"} == {
        question for question, yes in zip(QUESTIONS, gated, strict=True) if yes
    }
    assert sum(kind == "paraphrases" for kind, _, _ in requests) == len(QUESTIONS)


def test_chunks_change_nothing(store):
    whole = Engine(store, generator=ScriptedGenerator()).search(QUESTIONS, "random")
    for chunk in (1, 4, 15, 16):
        generator = ScriptedGenerator()
        parts = list(Engine(store, generator=generator, chunk=chunk).search_stream(iter(QUESTIONS), "random"))
        assert [len(part) for part in parts[:-1]] == [chunk] * (len(parts) - 1)
        assert [row for part in parts for row in rows(part)] == rows(whole)


def test_the_next_chunk_is_encoded_while_this_one_is_generated(store, encoder):
    class Waiting(ScriptedGenerator):
        def generate(self, requests):
            # Only the next chunk's encoding lets the generation of the first one end.
            if not self.calls:
                assert second_chunk.wait(30)
            return super().generate(requests)

    second_chunk = threading.Event()
    encode = encoder.encode

    def watched(texts, kind="document"):
        if texts[0] == QUESTIONS[8]:
            second_chunk.set()
        return encode(texts, kind)

    encoder.encode = watched
    batch = Engine(store, generator=Waiting(), chunk=8).search(QUESTIONS, "always")
    assert batch.expanded.all()


def test_bm25_of_the_probes_runs_while_they_are_encoded(store, encoder, monkeypatch):
    begun = threading.Event()
    search = type(store.bm25).search

    def watched(self, texts, *rest):
        if "traces" in texts[0]:
            begun.set()
        return search(self, texts, *rest)

    encode = encoder.encode

    def waits(texts, kind="document"):
        assert "traces" not in texts[0] or begun.wait(30)
        return encode(texts, kind)

    monkeypatch.setattr(type(store.bm25), "search", watched)
    encoder.encode = waits
    assert Engine(store, generator=ScriptedGenerator()).search(QUESTIONS, "always").expanded.all()


def test_memory_stays_flat(store, encoder):
    def peak(n):
        generator = ScriptedGenerator()
        generator.calls = encoder.calls = Forgetful()
        stream = Engine(store, generator=generator, chunk=32).search_stream(
            (f"{QUESTIONS[i % 15]} number {i % 90}" for i in range(n)), "random"
        )
        tracemalloc.start()
        seen = sum(len(batch) for batch in stream)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert seen == n
        return most

    peak(192)  # everything is imported and loaded
    assert peak(1920) < 2 * peak(192)  # to keep what was yielded takes 4 times


class Forgetful(list):
    """A log that keeps nothing."""

    def append(self, _):
        pass


# -- failures --------------------------------------------------------------------------------------


def test_a_question_whose_generation_fails_keeps_its_dense_list(store):
    lost = QUESTIONS[3]
    engine = Engine(store, generator=ScriptedGenerator(fail=[lost]))
    batch = engine.search(QUESTIONS, "always")
    dense = engine.search(QUESTIONS, "dense")
    assert batch.gated.all()
    assert batch.expanded.tolist() == [question != lost for question in QUESTIONS]
    assert batch.ids[3] == dense.ids[3]
    assert np.array_equal(batch.hits.scores[3], dense.hits.scores[3])
    assert batch.problems[3] == "traces: time-out; paraphrases: time-out"
    assert batch.lengths[3].tolist() == [10, -1, -1, -1, -1, -1, -1]
    assert batch.usage.calls[3] == 2
    others = [problem for row, problem in enumerate(batch.problems) if row != 3]
    assert others == [None] * 14


def test_what_is_short_is_told_and_the_rest_is_used(store):
    batch = Engine(store, generator=ScriptedGenerator(short=QUESTIONS[:1])).search(QUESTIONS[:2], "always")
    assert batch.problems == ("paraphrases: 1 of 2", None)
    assert batch.took_part(0) == batch.lists[:6]
    assert batch.expanded.all()
    fewer = Engine(store, generator=ScriptedGenerator(short=QUESTIONS[:1])).search(
        QUESTIONS[:2], "always", P=1
    )
    assert fewer.problems == (None, None)


def test_a_generator_that_breaks_down_does_not_stop_the_batch(store):
    engine = Engine(store, generator=ScriptedGenerator(raises=RuntimeError("engine died\nstack")))
    batch = engine.search(QUESTIONS, "always")
    assert batch.ids == engine.search(QUESTIONS, "dense").ids
    assert set(batch.problems) == {
        "traces: RuntimeError: engine died; paraphrases: RuntimeError: engine died"
    }
    assert batch.usage.total_tokens == 0


def test_an_error_that_concerns_all_is_raised(store):
    engine = Engine(store, generator=ScriptedGenerator(raises=MissingExtraError("install vllm")))
    with pytest.raises(MissingExtraError, match="install vllm"):
        engine.search(QUESTIONS, "always")


def test_an_expander_that_loses_an_answer_is_refused(store):
    class Short:
        def expand(self, questions, K, P):
            return []

    with pytest.raises(InvalidInputError, match="one expansion a question, 15; got 0"):
        Engine(store, generator=Short()).search(QUESTIONS, "always")


# -- odd questions ---------------------------------------------------------------------------------


def test_repeated_questions_are_looked_up_once_and_cost_once(engine, encoder, generator):
    asked = [QUESTIONS[0], QUESTIONS[1], QUESTIONS[0]]
    batch = engine.search(asked, "always")
    assert encoder.calls[0][1] == QUESTIONS[:2]
    assert batch.ids[0] == batch.ids[2]
    assert batch.usage.calls.tolist() == [2, 2, 0]
    assert batch.expanded.all()


@pytest.mark.parametrize("method", ["dense", "bm25", "hybrid", "always", "random", "sqe"])
def test_blank_questions_find_nothing_and_cost_nothing(engine, encoder, generator, method):
    batch = engine.search(["", QUESTIONS[0], " \n\t"], method)
    assert batch.ids[0] == batch.ids[2] == ()
    assert batch.ids[1]
    assert batch.problems == ("the question is empty", None, "the question is empty")
    assert not batch.gated[[0, 2]].any()
    assert all(text.strip() for _, texts in encoder.calls for text in texts)
    assert (batch.lengths[[0, 2]] == -1).all()
    only = engine.search([""], method)
    assert only.ids == ((),)


def test_the_random_gate_draws_for_blank_questions_too(engine):
    plain = engine.search(QUESTIONS, "random").gated
    holed = engine.search(["", *QUESTIONS[1:]], "random").gated
    assert holed[1:].tolist() == plain[1:].tolist()


def test_no_questions(engine):
    batch = engine.search([], "sqe", k=3)
    assert len(batch) == 0
    assert batch.hits.ids.shape == (0, 3)
    assert list(batch.rows()) == []
    assert [len(part) for part in engine.search_stream(iter(()), "always")] == [0]


def test_words_that_no_document_holds(engine):
    batch = engine.search(["zzz qqq"], "hybrid")
    assert batch.took_part(0) == ("question dense", "question bm25")
    assert batch.lengths.tolist() == [[10, 0]]
    assert batch.ids == engine.search(["zzz qqq"], "dense").ids
    assert engine.search(["zzz qqq"], "bm25").ids == ((),)


def test_an_empty_store_answers_nothing_and_generates_nothing(tmp_path, encoder, generator):
    with MemoryStore.create(tmp_path / "empty", encoder=encoder) as store:
        found = Engine(store, generator=generator).search_methods(
            QUESTIONS, METHODS, targets=["x"] * len(QUESTIONS)
        )
    for batch in found.values():
        assert batch.ids == ((),) * len(QUESTIONS)
        assert set(batch.problems) == {"the store is empty"}
    assert generator.calls == []


def test_k_beyond_the_store(tmp_path, encoder, generator):
    with small_store(tmp_path / "three", encoder, n=3) as store:
        found = Engine(store, generator=generator).search_methods(QUESTIONS[:2], ["dense", "always"], k=50)
    for batch in found.values():
        assert batch.hits.ids.shape == (2, 50)
        assert [sorted(ids) for ids in batch.ids] == [["e0", "e1", "e2"]] * 2
        assert (batch.hits.ids[:, 3:] == -1).all()
        assert np.isneginf(batch.hits.scores[:, 3:]).all()


def test_rows_are_json(engine):
    for row in engine.search([*QUESTIONS[:2], ""], "sqe", k=2).rows():
        again = json.loads(json.dumps(row, allow_nan=False))
        assert again == row
        assert [hit["rank"] for hit in row["hits"]] == list(range(1, len(row["hits"]) + 1))


def test_several_threads_share_an_engine(store, generator):
    engine = Engine(store, generator=generator, chunk=4)
    expected = engine.search(QUESTIONS, "always").ids
    found = [None] * 4

    def work(n):
        found[n] = engine.search(QUESTIONS, "always").ids

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


# -- encoders, caches, stores ----------------------------------------------------------------------


def test_a_trace_is_encoded_as_a_document_where_that_differs(tmp_path):
    encoder = TextEncoder(query_prefix="query: ", document_prefix="passage: ")
    with small_store(tmp_path / "memory", encoder) as store:
        encoder.calls.clear()
        Engine(store, generator=ScriptedGenerator()).search(QUESTIONS, "always")
    kinds = dict(encoder.calls[1:])
    assert encoder.calls[0] == ("query", QUESTIONS)
    assert len(encoder.calls) == 3
    assert all("traces" in text for text in kinds["document"])
    assert all("paraphrases" in text for text in kinds["query"])


def test_a_cache_answers_without_a_call(store, tmp_path):
    cache = ExpansionCache(tmp_path / "cache.sqlite")
    first = Engine(store, generator=ScriptedGenerator(), cache=cache).search(QUESTIONS, "always")
    generator = ScriptedGenerator()
    second = Engine(store, generator=Expander(generator, cache)).search(QUESTIONS, "always")
    cache.close()
    assert generator.calls == []
    assert second.ids == first.ids
    assert second.usage.total_tokens == 0
    assert first.usage.total_tokens > 0


def test_a_search_sees_what_was_committed_before_it(store, engine):
    assert engine.search(["quokka"], "bm25").ids == ((),)
    store.add([{"id": "new", "text": "quokka quokka"}])
    assert engine.search(["quokka"], "bm25").ids == ((),)
    fixed = Engine(store.snapshot, store.encoder)
    store.commit()
    assert engine.search(["quokka"], "bm25").ids == (("new",),)
    assert engine.search(["quokka quokka"], "dense", k=1).ids == (("new",),)
    assert fixed.search(["quokka"], "bm25").ids == ((),)


def test_the_oracle_expands_where_it_helps(engine):
    always = engine.search(QUESTIONS, "always")
    dense = engine.search(QUESTIONS, "dense")
    targets = [sorted({*yes} - {*no})[:1] or [no[0]] for yes, no in zip(always.ids, dense.ids, strict=True)]
    oracle = engine.search(QUESTIONS, "oracle", targets=targets)
    helped = [bool({*yes} - {*no}) for yes, no in zip(always.ids, dense.ids, strict=True)]
    assert sum(helped) > 0
    assert oracle.gated.tolist() == helped
    for row, yes in enumerate(helped):
        assert oracle.ids[row] == (always if yes else dense).ids[row]
    assert (oracle.usage.calls > 0).tolist() == helped
    unknown = engine.search(QUESTIONS, "oracle", targets=["not there"] * 15)
    assert not unknown.gated.any()


# -- refusals --------------------------------------------------------------------------------------


def test_refuses_what_it_cannot_do(store, tmp_path, engine):
    with pytest.raises(InvalidTypeError, match="store must be a MemoryStore"):
        Engine("memory")
    with pytest.raises(InvalidInputError, match="another encoder: encoder dim: the store has 16, given 8"):
        Engine(store, TextEncoder(dim=8))
    with pytest.raises(InvalidInputError, match="chunk must be from 1"):
        Engine(store, chunk=0)
    with pytest.raises(InvalidInputError, match="Always-Expand expands questions; give what does it"):
        Engine(store).search(QUESTIONS, "always")
    with pytest.raises(InvalidInputError, match="Dense-Only needs the store's encoder, 'words'"):
        Engine(store.snapshot).search(QUESTIONS, "dense")
    with pytest.raises(InvalidInputError, match="cache goes with a generator"):
        Engine(store, cache=ExpansionCache(tmp_path / "c.sqlite"))
    with pytest.raises(InvalidTypeError, match="generator must have name, generate and close"):
        Engine(store, generator=object())
    with small_store(tmp_path / "plain") as plain:
        assert Engine(plain).search(QUESTIONS, "bm25").ids
        with pytest.raises(InvalidInputError, match="Hybrid-RRF needs vectors, and the store has none"):
            Engine(plain).search(QUESTIONS, "hybrid")


@pytest.mark.parametrize(
    ("questions", "error", "message"),
    [
        ("where", InvalidTypeError, r"not one str; for one text pass \[text\]"),
        (7, InvalidTypeError, "questions must be an iterable of str"),
        (["a", 7], InvalidTypeError, r"questions\[1\] must be a str; got int 7"),
    ],
)
def test_refuses_questions(engine, questions, error, message):
    with pytest.raises(error, match=message):
        engine.search(questions, "dense")


def test_refuses_methods_and_targets(engine):
    with pytest.raises(InvalidInputError, match="Selective-QE has no 'rate'; it takes k, depth"):
        engine.search(QUESTIONS, "sqe", rate=0.5)
    with pytest.raises(InvalidTypeError, match="methods must be a list"):
        engine.search_methods(QUESTIONS, "sqe")
    with pytest.raises(InvalidInputError, match="at least one method"):
        engine.search_methods(QUESTIONS, [])
    with pytest.raises(InvalidInputError, match="'Selective-QE' more than once"):
        engine.search_methods(QUESTIONS, ["sqe", get_method("sqe", threshold=0.5)])
    with pytest.raises(InvalidInputError, match="Oracle needs targets"):
        engine.search(QUESTIONS, "oracle")
    with pytest.raises(InvalidInputError, match="k must be at least that; got 3"):
        engine.search(QUESTIONS, "oracle", k=3, targets=["a"] * 15)
    with pytest.raises(InvalidInputError, match="one entry a question; got 1"):
        engine.search(QUESTIONS, "oracle", targets=["a"])
    with pytest.raises(InvalidInputError, match="one entry a question, 15; got more"):
        engine.search(QUESTIONS, "oracle", targets=["a"] * 16)
    with pytest.raises(InvalidTypeError, match=r"targets\[0\] must be an id"):
        engine.search(QUESTIONS, "oracle", targets=[7] * 15)


def test_a_stream_refuses_before_it_is_read(engine):
    with pytest.raises(InvalidInputError, match="method must be one of dense"):
        engine.search_stream(QUESTIONS, "sqe2")
