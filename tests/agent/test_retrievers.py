"""Our own indices, the simulated engine and the pool of models, as retrievers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noted import PASSAGES, NotedPolicy
from oracles.lookup import LookupEncoder

from sqe_fast.agent.replay import RecordedPolicy
from sqe_fast.agent.retrievers import EngineRetriever, IndexRetriever, PoolRetriever, SimulatedRetriever
from sqe_fast.agent.retrievers.simulated import noise
from sqe_fast.agent.rollout import Roller
from sqe_fast.agent.values import Asking
from sqe_fast.engine import Engine
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.store import MemoryStore

TEXTS = [f"{p.title} {p.text}" for p in PASSAGES]


def vectors(texts):
    """Counts of letters, length 1: any deterministic vectors do."""
    counts = np.array([[text.lower().count(letter) + 0.01 for letter in "aeimnorstv"] for text in texts])
    return (counts / np.linalg.norm(counts, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def encoder():
    texts = [*TEXTS, "Emma novel", "Hampshire", "xyzzy"]
    return LookupEncoder(dict(zip(texts, vectors(texts), strict=True)), 10)


def test_an_index_finds_and_keeps_what_a_passage_is():
    index = IndexRetriever(PASSAGES)
    emma, hampshire, none = index.search(["Emma novel", "Hampshire", "xyzzy"], 2)
    assert (emma[0].id, emma[0].title, emma[0].text) == ("emma", "Emma", PASSAGES[0].text)
    assert emma[0].score > emma[1].score > 0
    assert [p.id for p in hampshire] == ["steventon"]
    assert none == []
    assert index.search([], 2) == []
    assert len(index.search(["Jane Austen"], 50)[0]) == 3
    assert IndexRetriever([]).search(["q"], 2) == [[]]


def test_dense_and_hybrid(encoder):
    pytest.importorskip("faiss")
    queries = ["Emma novel", "xyzzy"]
    scores = vectors(queries) @ vectors(TEXTS).T
    dense = IndexRetriever(PASSAGES, encoder).search(queries, 4)
    for own, row in zip(dense, scores, strict=True):
        assert [p.id for p in own] == [PASSAGES[i].id for i in np.argsort(-row, kind="stable")]
        assert [p.score for p in own] == pytest.approx(sorted(row.tolist(), reverse=True), abs=1e-5)
    hybrid = IndexRetriever(PASSAGES, encoder, "hybrid").search(queries, 4)
    assert [p.id for p in hybrid[1]] == [p.id for p in dense[1]]  # BM25 found nothing
    assert hybrid[0][0].id == "emma"
    assert hybrid[0][0].score == pytest.approx(2 / 61 if dense[0][0].id == "emma" else hybrid[0][0].score)


def test_the_engine_over_a_store(tmp_path, encoder):
    pytest.importorskip("faiss")
    with MemoryStore.create(tmp_path / "m", encoder=encoder) as store:
        rows = [{"id": p.id, "text": t, "title": p.title} for p, t in zip(PASSAGES, TEXTS, strict=True)]
        store.add(rows)
        store.commit()
        engine = Engine(store)
        for method in ("bm25", "dense", "hybrid"):
            found = EngineRetriever(engine, method).search(["Emma novel", "xyzzy"], 3)
            batch = engine.search(["Emma novel", "xyzzy"], method, 3)
            assert [tuple(p.id for p in own) for own in found] == list(batch.ids)
            assert [p.score for p in found[0]] == batch.hits.scores[0][: len(found[0])].tolist()
        emma = EngineRetriever(engine, "bm25").search(["Emma novel"], 1)[0][0]
        assert (emma.title, emma.text) == ("Emma", PASSAGES[0].text)
        assert EngineRetriever(engine, "bm25").search(["xyzzy"], 1) == [[]]


def test_a_beir_corpus(shared_data):
    index = IndexRetriever.from_beir(shared_data / "ir" / "mh_hotpotqa_train100")
    assert len(index) > 500
    first = index[0]
    found = index.search([f"{first.title} {first.text}"], 1)[0][0]
    assert (found.id, found.title, found.text) == (first.id, first.title, first.text)
    assert first.title
    assert not first.text.startswith(f"{first.title} {first.title}")


def test_wrong_arguments_of_indices(encoder):
    cases = [
        (InvalidInputError, "differ in id", lambda: IndexRetriever([PASSAGES[0], PASSAGES[0]])),
        (InvalidTypeError, r"passages\[0\]", lambda: IndexRetriever(["text"])),
        (InvalidInputError, "needs an encoder", lambda: IndexRetriever(PASSAGES, kind="hybrid")),
        (InvalidInputError, "kind must be one of", lambda: IndexRetriever(PASSAGES, kind="web")),
        (InvalidInputError, "k must be", lambda: IndexRetriever(PASSAGES).search(["q"], 0)),
        (InvalidTypeError, "engine must be", lambda: EngineRetriever(None)),
        (InvalidInputError, "k1", lambda: IndexRetriever(PASSAGES, k1=-1)),
    ]
    for kind, message, call in cases:
        with pytest.raises(kind, match=message):
            call()


# --- ZeroSearch's simulated engine


@settings(deadline=None)
@given(p=st.floats(0, 1), start=st.floats(0, 0.5), end=st.floats(0.5, 1))
def test_the_noise_schedule(p, start, end):
    assert noise(0, start, end) == start
    assert noise(1, start, end) == pytest.approx(end)
    assert start <= noise(p, start, end) <= end + 1e-12
    assert noise(p, start, end) <= noise(min(p + 0.1, 1), start, end) + 1e-12
    assert noise(p) == pytest.approx((4**p - 1) / 6)


WRITTEN = "Here you are:\nDoc 1: Emma came out in 1815.\nDoc 2: Jane Austen wrote it.\n3. A third text."


def test_a_simulated_engine_writes_in_one_call():
    model = NotedPolicy(default=[WRITTEN])
    engine = SimulatedRetriever(model, golden={"the question": "1815"})
    asking = Asking("a", "the question", 0)
    found = engine.search_for(["emma", "austen"], 3, [asking, Asking("b", "another", 0)])
    assert [len(batch) for batch in model.batches] == [2]
    assert [p.text for p in found[0]] == ["Emma came out in 1815.", "Jane Austen wrote it.", "A third text."]
    assert found[0][0].score > found[0][1].score
    assert found[0].problem is None
    assert found[0].usage.totals()["calls"] == 1
    first, second = (request.messages[0].content for request in model.batches[0])
    assert "Write 3 passages of about 30 words" in first
    assert '"1815"' in first
    assert "1815" not in second
    short = engine.search(["emma"], 5)[0]
    assert short.problem == "the simulated engine wrote 3 of 5 passages"
    failed = SimulatedRetriever(RecordedPolicy({})).search(["emma"], 5)[0]
    assert failed == []
    assert "0 of 5 passages: nothing is recorded" in failed.problem
    assert engine.search([], 5) == []


def test_noise_grows_with_progress_and_depends_on_the_query_alone():
    queries = [f"query {i}" for i in range(2000)]
    model = NotedPolicy(default=[WRITTEN])
    engine = SimulatedRetriever(model, seed=1)
    seen = []
    for progress in (0.0, 0.5, 1.0):
        engine.progress = progress
        seen.append({query for query in queries if engine.noisy(query)})
        assert len(seen[-1]) / 2000 == pytest.approx(noise(progress), abs=0.03)
    assert seen[0] == set() < seen[1] < seen[2]
    engine.search(queries[:50], 5)
    kinds = [request.kind == "noisy" for request in model.batches[0]]
    assert kinds == [query in seen[2] for query in queries[:50]]
    noisy = model.batches[0][kinds.index(True)].messages[0].content
    useful = model.batches[0][kinds.index(False)].messages[0].content
    assert "must not hold what is asked for" in noisy
    assert "must help" in useful
    other = SimulatedRetriever(model, seed=2, progress=1.0)
    assert {query for query in queries if other.noisy(query)} != seen[2]


def test_zerosearch_end_to_end():
    policy = RecordedPolicy(
        {}, default=["<think>t</think><search>emma</search>", "<think>t</think><answer>1815</answer>"]
    )
    (rollout,) = Roller(policy, SimulatedRetriever(RecordedPolicy({}, default=[WRITTEN])), "zerosearch").run(
        ["q"]
    )
    assert rollout.answer == "1815"
    assert rollout.turns[0].problem == "the simulated engine wrote 3 of 5 passages"
    assert rollout.usage_search.totals()["calls"] == 1
    assert "[1] Emma came out in 1815." in rollout.response


# --- Router-R1's pool


def pool(**more):
    one = NotedPolicy(default=["<think>hm</think> One says 1815."], name="one")
    two = NotedPolicy({"bad": []}, default=["Two says 1816."], name="two")
    return PoolRetriever({"org/Alpha": one, "org/Beta-7B": two}, **more), one, two


def test_queries_go_to_the_models_they_name():
    retriever, one, two = pool(prices={"org/Alpha": 2.0})
    found = retriever.search(
        [
            "org/alpha: when?",
            "BETA-7B : why: so?",
            "gamma: when?",
            "when?",
            "beta-7b: bad",
            "org/Alpha: where?",
        ],
        1,
    )
    assert [len(batch) for batch in one.batches] == [2]
    assert [[r.question for r in batch] for batch in two.batches] == [["why: so?", "bad"]]
    assert [(p.title, p.text) for p in found[0]] == [("org/Alpha", "One says 1815.")]
    assert found[1][0].text == "Two says 1816."
    for unknown in found[2:4]:
        assert "no model of the pool" in unknown.problem
        assert unknown[0].text == "No such model; name one of: org/Alpha, org/Beta-7B."
    assert found[4].problem.startswith("org/Beta-7B failed (the recording of 'bad' ends")
    assert found[0].cost == pytest.approx(2.0 * 4 / 1e6)
    assert found[1].cost == 0
    assert found[2].usage is None


def test_router_r1_end_to_end():
    retriever, *_ = pool()
    policy = NotedPolicy(
        default=["<think>t</think><search>Alpha: when?</search>", "<think>t</think><answer>1815</answer>"]
    )
    (rollout,) = Roller(policy, retriever, "router-r1").run(["when was it?"])
    assert "The models are: org/Alpha, org/Beta-7B." in rollout.prompt
    assert "org/Alpha: One says 1815." in rollout.response
    assert (rollout.answer, rollout.valid) == ("1815", True)


def test_a_short_name_of_two_models_is_no_guess():
    model = RecordedPolicy({}, default=["x"])
    (found,) = PoolRetriever({"a/small": model, "b/small": model}).search(["small: q"], 1)
    assert "no model of the pool" in found.problem


def test_wrong_arguments_of_pools():
    model = RecordedPolicy({}, default=["x"])
    cases = [
        (InvalidInputError, "at least one", lambda: PoolRetriever({})),
        (InvalidTypeError, r"models\['a'\]", lambda: PoolRetriever({"a": 1})),
        (InvalidInputError, "without a colon", lambda: PoolRetriever({"a:b": model})),
        (
            InvalidInputError,
            "no model of the pool: 'b'",
            lambda: PoolRetriever({"a": model}, prices={"b": 1}),
        ),
        (InvalidTypeError, "generator", lambda: SimulatedRetriever(None)),
        (InvalidInputError, "progress", lambda: SimulatedRetriever(model, progress=2)),
    ]
    for kind, message, call in cases:
        with pytest.raises(kind, match=message):
            call()
