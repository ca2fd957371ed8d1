"""MemoryStore: what is added is there, what is committed is found, and it equals a plain dict throughout."""

from __future__ import annotations

import datetime
import json
import os
import shutil
import tempfile
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracles.standins import HashEncoder

from sqe_fast._store import build
from sqe_fast._store.index import Index
from sqe_fast.bm25 import BM25Index
from sqe_fast.episode import Episode
from sqe_fast.errors import InvalidInputError, InvalidTypeError, StoreError
from sqe_fast.store import AddResult, MemoryStore


def same_index(index, texts, store):
    """Assert that a BM25 index equals one built from scratch: same length, same scores, same hits."""
    fresh = BM25Index.build(texts, **store.settings["bm25"])
    assert len(index) == len(fresh) == len(texts)
    queries = [text[:200] for text in texts[:50]]
    assert np.array_equal(index.score_rows(queries), fresh.score_rows(queries))
    assert np.array_equal(index.search(queries, 5).ids, fresh.search(queries, 5).ids)


def check_index(store, episodes, encoder):
    """Assert that every derived part of the store equals what `episodes`, in store order, give."""
    texts = [episode.text for episode in episodes]
    rows = np.arange(len(episodes))
    assert store.ids(rows) == [episode.id for episode in episodes]
    assert store.texts(rows) == texts
    assert store.episodes(rows) == episodes
    assert store.rows([episode.id for episode in episodes]).tolist() == rows.tolist()
    same_index(store.bm25, texts, store)
    if encoder is not None:
        assert store.vectors.shape == (len(texts), encoder.dim)
        assert store.vectors.dtype == np.float16
        for row, text in enumerate(texts):
            assert np.array_equal(store.vectors[row], encoder.vector(text).astype(np.float16))


def test_adds_commits_and_opens_again(tmp_path, store, encoder):
    episodes = [Episode(f"e{n}", f"step {n} of the run", "t", {"n": n, "deep": [1, None]}) for n in range(20)]
    assert store.add(episodes) == AddResult(20, 0, 0)
    assert len(store) == 20
    assert store.get("e3") == episodes[3]
    assert "e3" in store
    assert "x" not in store
    assert len(store.snapshot) == 0  # not committed
    assert store.rows(["e3"]).tolist() == [-1]
    store.commit()
    check_index(store, episodes, encoder)
    store.close()
    with MemoryStore.open(tmp_path / "memory", read_only=True) as reader:
        check_index(reader, episodes, encoder)
        assert list(reader) == episodes
        assert len(reader) == 20
        with pytest.raises(StoreError, match="read-only"):
            reader.add([])
        with pytest.raises(StoreError, match="read-only"):
            reader.commit()
    with MemoryStore.open(tmp_path / "memory") as again:  # a writer needs no encoder for what it has
        assert list(again) == episodes
        assert again.verify().ok


def test_works_without_an_encoder(tmp_path):
    with MemoryStore.create(tmp_path / "m") as store:
        store.add([{"id": "a", "text": "one"}, {"id": "b", "text": ""}])
        store.commit()
        assert store.vectors is None
        assert not list(store.snapshot.folder.glob("vectors*"))
        check_index(store, [Episode("a", "one"), Episode("b", "")], None)
        assert store.verify().ok


def test_same_text_is_left_and_another_text_is_refused_without_replace(store):
    store.add([{"id": "a", "text": "one", "task_id": "t"}])
    assert store.add([{"id": "a", "text": "one", "task_id": "other"}]) == AddResult(0, 1, 0)
    assert store.get("a").task_id == "t"
    with pytest.raises(InvalidInputError, match=r"'a' is in the store with another text; pass replace=True"):
        store.add([{"id": "b", "text": "two"}, {"id": "a", "text": "changed"}])
    assert "b" not in store  # nothing of a call that fails stays
    assert store.get("a").text == "one"


def test_replace_moves_to_the_end_and_keeps_the_place_of_the_same_text(store, encoder):
    store.add([{"id": name, "text": name} for name in "abc"])
    store.commit()
    generation = store.snapshot.generation
    assert store.add([{"id": "a", "text": "a", "task_id": "new"}], replace=True) == AddResult(0, 0, 1)
    assert store.add([{"id": "a", "text": "a", "task_id": "new"}], replace=True) == AddResult(0, 1, 0)
    assert store.commit() == generation  # no text changed
    assert store.add([{"id": "a", "text": "A"}], replace=True) == AddResult(0, 0, 1)
    assert store.texts([0]) == ["a"]  # searches still see the old text, and its row still answers
    assert store.get("a").text == "A"
    assert store.commit() > generation
    check_index(store, [Episode("b", "b"), Episode("c", "c"), Episode("a", "A")], encoder)


def test_duplicates_in_one_call(store):
    same = {"id": "a", "text": "one"}
    assert store.add([same, same]) == AddResult(1, 1, 0)
    with pytest.raises(InvalidInputError, match="another text"):
        store.add([{"id": "b", "text": "one"}, {"id": "b", "text": "two"}])
    assert store.add([{"id": "b", "text": "1"}, {"id": "b", "text": "2"}], replace=True) == AddResult(1, 0, 1)
    assert store.get("b").text == "2"


def test_only_new_texts_are_encoded(store, encoder):
    store.add([{"id": f"{n}", "text": f"text {n % 4}"} for n in range(6)])
    store.commit()
    assert encoder.encoded == ["text 0", "text 1", "text 2", "text 3"]  # a repeated text once
    store.add([{"id": "new", "text": "text new"}])
    store.delete(["1", "5"])
    store.commit()
    assert encoder.encoded[4:] == ["text new"]
    store.add([{"id": "again", "text": "text new"}])
    store.delete(["new"])
    store.commit()  # the text comes back under another id
    assert encoder.encoded[5:] == []
    check_index(store, list(store), encoder)


def test_a_large_commit_crosses_chunks(store, encoder, monkeypatch):
    monkeypatch.setattr(build, "CHUNK", 7)
    store.add([{"id": f"{n}", "text": f"text {n}"} for n in range(50)])
    store.commit()
    store.delete([f"{n}" for n in range(0, 50, 3)])
    store.add([{"id": f"x{n}", "text": f"more {n}"} for n in range(20)])
    store.commit()
    check_index(store, list(store), encoder)
    assert len(encoder.encoded) == 70


def test_delete_counts_what_was_there(store, encoder):
    store.add([{"id": name, "text": name} for name in "abcd"])
    store.commit()
    assert store.delete(["a", "c", "nobody", "a"]) == 2
    assert len(store) == 2
    assert store.ids([0, 1, 2, 3]) == ["a", "b", "c", "d"]
    store.commit()
    check_index(store, [Episode("b", "b"), Episode("d", "d")], encoder)
    assert store.delete(["b", "d"]) == 2
    store.commit()
    check_index(store, [], encoder)
    assert store.delete([]) == 0


def test_deleted_texts_leave_the_file_once_no_generation_shows_them(tmp_path, store):
    store.add([{"id": "a", "text": "a secret to forget"}, {"id": "b", "text": "b"}])
    store.commit()
    store.delete(["a"])
    for n in range(2):
        store.add([{"id": f"n{n}", "text": "n"}])
        store.commit()
    assert store._truth._one("SELECT count(*) FROM episodes WHERE deleted > 0") == 0
    assert len(Index(tmp_path / "memory", {}).numbers()) == 2  # the current and the one before


def test_commit_without_changes_keeps_the_generation(store):
    store.add([{"id": "a", "text": "a"}])
    first = store.commit()
    assert store.commit() == first
    assert store.add([{"id": "a", "text": "a"}]).unchanged == 1
    assert store.commit() == first


def test_settings_that_differ_are_named(tmp_path, store):
    store.close()
    path = tmp_path / "memory"
    with pytest.raises(InvalidInputError, match=r"tokenizer: the store has 'code', given 'whitespace'"):
        MemoryStore.open(path, tokenizer="whitespace")
    with pytest.raises(
        InvalidInputError, match=r"k1: the store has 1.2, given 1.5; b: the store has 0.75, given"
    ):
        MemoryStore.open(path, read_only=True, k1=1.5, b=0.5)
    with pytest.raises(InvalidInputError, match=r"encoder pooling: the store has 'cls', given 'mean'"):
        MemoryStore.open(path, encoder=HashEncoder(pooling="mean"))
    with pytest.raises(
        InvalidInputError, match=r"encoder dim: the store has 8, given 4; encoder query: the store has"
    ):
        MemoryStore.open(path, encoder=HashEncoder(dim=4, query="q"))
    with MemoryStore.open(path, encoder=HashEncoder(), tokenizer="code", k1=1.2):
        pass
    with MemoryStore.create(tmp_path / "bare"):
        pass
    with pytest.raises(InvalidInputError, match="made without one"):
        MemoryStore.open(tmp_path / "bare", encoder=HashEncoder())


def test_new_texts_need_the_encoder(tmp_path, store):
    store.add([{"id": "a", "text": "a"}])
    store.close()
    with MemoryStore.open(tmp_path / "memory") as bare:
        with pytest.raises(StoreError, match=r"1 texts have no vector yet.*encoder="):
            bare.commit()
        assert "a" in bare


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        (None, InvalidTypeError, "episodes must be an iterable"),
        ("text", InvalidTypeError, "episodes must be an iterable"),
        (b"text", InvalidTypeError, "episodes must be an iterable"),
        (7, InvalidTypeError, "episodes must be an iterable"),
        ({"id": "a", "text": "t"}, InvalidTypeError, r"for one pass \[episode\]"),
        ([None], InvalidTypeError, "Episode or a mapping; got NoneType"),
        (["text"], InvalidTypeError, "Episode or a mapping; got str"),
        ([{"id": "a"}], InvalidInputError, "text is missing"),
        ([{"text": "a"}], InvalidInputError, "id is missing"),
        ([{"id": b"a", "text": "t"}], InvalidTypeError, "id must be a str; got bytes"),
        ([{"id": 5, "text": "t"}], InvalidTypeError, "id must be a str; got int"),
        ([{"id": None, "text": "t"}], InvalidTypeError, "id must be a str; got NoneType"),
        ([{"id": "", "text": "t"}], InvalidInputError, "id must not be empty"),
        ([{"id": "a", "text": None}], InvalidTypeError, "text of episode 'a' must be a str; got NoneType"),
        ([{"id": "a", "text": "x\ud800y"}], InvalidInputError, r"lone surrogate \(U\+D800 at character 1\)"),
        ([{"id": "\udfff", "text": "x"}], InvalidInputError, "id holds a lone surrogate"),
        ([{"id": "a", "text": "x", "task_id": 3}], InvalidTypeError, "task_id of episode 'a' must be a str"),
        (
            [{"id": "a", "text": "x", "fields": 3}],
            InvalidTypeError,
            "fields of episode 'a' must be a mapping",
        ),
        ([{"id": "a", "text": "x", 3: 4}], InvalidTypeError, "must have str keys; got int 3"),
        ([{"id": "a", "text": "x", "at": datetime.date(2026, 1, 1)}], InvalidTypeError, "what JSON can hold"),
        ([{"id": "a", "text": "x", "raw": b"1"}], InvalidTypeError, "what JSON can hold"),
        ([{"id": "a", "text": "x", "f": float("nan")}], InvalidInputError, "what JSON can hold"),
        ([{"id": "a", "text": "x", "f": "\ud800"}], InvalidInputError, "what JSON can hold"),
    ],
)
def test_bad_episodes_are_refused_by_name_and_nothing_stays(store, bad, error, message):
    with pytest.raises(error, match=message):
        store.add(bad)
    if isinstance(bad, list):
        with pytest.raises(error, match=message):
            store.add([{"id": "good", "text": "t"}, *bad])
    assert len(store) == 0
    assert store.add([{"id": "good", "text": "t"}]).added == 1


def test_a_circular_field_is_refused(store):
    loop = []
    loop.append(loop)
    with pytest.raises(InvalidInputError, match="what JSON can hold"):
        store.add([{"id": "a", "text": "x", "loop": loop}])


def test_an_error_of_the_iterable_leaves_nothing(store):
    def broken():
        yield {"id": "a", "text": "a"}
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError, match="the source broke"):
        store.add(broken())
    assert len(store) == 0


def test_writing_from_inside_the_iterable_is_refused(store):
    def nested(action):
        yield {"id": "a", "text": "a"}
        action()

    for action in (lambda: store.add([]), lambda: store.delete(["a"]), store.commit):
        with pytest.raises(InvalidInputError, match="from inside an iterable"):
            store.add(nested(action))
    assert len(store) == 0


def test_strange_texts_come_back_as_they_were(store, encoder):
    texts = [
        "",
        "\0",
        "a\0b",
        "\r\n\t ",
        "中文 और हिन्दी",
        "😀" * 300,
        "'; DROP TABLE episodes; --",
        "\ufeffx",
        "x" * 5_000_000,
    ]
    ids = [f"id {n} \0'\"" for n in range(len(texts))]
    huge = {"blob": "y" * 3_000_000, "list": list(range(10_000)), "nul": "\0", "n": {"é": [True, 1.5, None]}}
    store.add(Episode(one, text, None, huge) for one, text in zip(ids, texts, strict=True))
    store.commit()
    check_index(
        store, [Episode(one, text, None, huge) for one, text in zip(ids, texts, strict=True)], encoder
    )


def test_an_episode_beyond_what_sqlite_holds_is_refused(store):
    import sqlite3

    store._truth._db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1000)
    with pytest.raises(InvalidInputError, match="too large for the store"):
        store.add([{"id": "a", "text": "x" * 2000}])
    assert store.add([{"id": "a", "text": "x"}]).added == 1


@pytest.mark.parametrize("bad", [None, "a", b"a", 3])
def test_bad_ids_are_refused(store, bad):
    with pytest.raises(InvalidTypeError, match="ids must be"):
        store.delete(bad)


def test_bad_lookups_are_refused(store):
    store.add([{"id": "a", "text": "a"}])
    store.commit()
    with pytest.raises(InvalidTypeError, match=r"ids\[1\] must be a str; got bytes"):
        store.delete(["a", b"b"])
    assert "a" in store
    with pytest.raises(InvalidTypeError, match=r"ids\[0\] must be a str"):
        store.rows([3])
    with pytest.raises(InvalidTypeError, match="for one id pass"):
        store.rows("a")
    for rows in ([-1], [1], [0, 2**40]):
        with pytest.raises(InvalidInputError, match="rows must be from 0 to 0"):
            store.texts(rows)
    for rows in ([0.0], [[0]], 0, ["a"], [True]):
        with pytest.raises(InvalidTypeError, match="rows must be a one-dimensional list of ints"):
            store.texts(rows)
    assert store.texts([]) == store.ids(np.empty(0, np.int32)) == []
    assert store.ids(np.zeros(3, np.int32)) == ["a", "a", "a"]
    assert None not in store
    with pytest.raises(InvalidInputError, match="id must not be empty"):
        store.get("")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tokenizer": "nope"}, "tokenizer"),
        ({"tokenizer": str.split}, "tokenizer must be a name"),
        ({"k1": -1}, "k1"),
        ({"b": 2}, "b must be"),
        ({"encoder": HashEncoder(dim=0)}, "encoder.dim"),
        ({"encoder": HashEncoder(pooling=None)}, r"encoder.settings\['pooling'\]"),
    ],
)
def test_create_refuses_bad_settings_and_makes_nothing(tmp_path, wrong, message):
    with pytest.raises((InvalidInputError, InvalidTypeError), match=message):
        MemoryStore.create(tmp_path / "m", **wrong)
    assert not (tmp_path / "m").exists()


def test_create_leaves_other_folders_alone(tmp_path, store):
    with pytest.raises(StoreError, match="open for writing in this process"):
        MemoryStore.create(tmp_path / "memory")
    store.close()
    with pytest.raises(InvalidInputError, match="is a memory store already"):
        MemoryStore.create(tmp_path / "memory")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    with pytest.raises(InvalidInputError, match=r"not empty \(it holds 'notes.txt'\)"):
        MemoryStore.create(tmp_path / "full")
    with pytest.raises(StoreError, match="cannot make a store"):
        MemoryStore.create(tmp_path / "full" / "notes.txt" / "m")
    with pytest.raises(InvalidTypeError, match="path"):
        MemoryStore.create(None)


@pytest.mark.parametrize("content", [b"", b"not a database at all, but some text" * 100])
def test_open_refuses_what_is_no_store(tmp_path, content):
    with pytest.raises(StoreError, match="is not a memory store"):
        MemoryStore.open(tmp_path / "nowhere")
    (tmp_path / "episodes.sqlite").write_bytes(content)
    for read_only in (False, True):
        with pytest.raises(StoreError, match=r"is not a memory store|file is not a database"):
            MemoryStore.open(tmp_path, read_only=read_only)
    if content:
        with pytest.raises(StoreError, match="file is not a database"):
            MemoryStore.create(tmp_path)
        assert (tmp_path / "episodes.sqlite").read_bytes() == content
    else:  # what a creation that was killed leaves
        MemoryStore.create(tmp_path).close()


def test_create_leaves_another_programs_database_alone(tmp_path):
    import sqlite3

    db = sqlite3.connect(tmp_path / "episodes.sqlite")
    db.execute("CREATE TABLE mine (x)")
    db.close()
    before = (tmp_path / "episodes.sqlite").read_bytes()
    with pytest.raises(StoreError, match="another program's database"):
        MemoryStore.create(tmp_path)
    assert (tmp_path / "episodes.sqlite").read_bytes() == before


def test_a_closed_store_says_so(store):
    store.close()
    store.close()
    for call in (lambda: store.add([]), store.commit, store.stats, lambda: store.ids([]), lambda: len(store)):
        with pytest.raises(StoreError, match="is closed"):
            call()


def test_stats_count_what_the_next_commit_brings(store):
    store.add([{"id": name, "text": name} for name in "abc"])
    store.commit()
    store.add([{"id": "a", "text": "A"}, {"id": "d", "text": "d"}], replace=True)
    store.delete(["b"])
    stats = store.stats()
    assert (stats.episodes, stats.indexed, stats.to_add, stats.to_remove) == (3, 3, 2, 2)
    assert stats.settings["encoder"]["dim"] == 8
    assert stats.size["episodes.sqlite"] > 0
    folder = store.snapshot.folder
    assert stats.size[f"index/{folder.name}/vectors.f16"] == 3 * 8 * 2
    store.commit()
    stats = store.stats()
    assert (stats.episodes, stats.indexed, stats.to_add, stats.to_remove) == (3, 3, 0, 0)
    json.dumps(stats.settings)


class Broken(HashEncoder):
    """An encoder that returns what it is told to."""

    def __init__(self, result):
        super().__init__()
        self.result = result

    def encode(self, texts, kind="document"):
        return self.result(super().encode(texts, kind))


def fail(_):
    raise RuntimeError("out of memory")


@pytest.mark.parametrize(
    ("result", "error", "message"),
    [
        (lambda v: v[:-1], InvalidInputError, r"must return float32\[3, 8\]; got float32\[2, 8\]"),
        (lambda v: v * np.nan, InvalidInputError, "not finite"),
        (lambda v: v * np.float32(1e6), InvalidInputError, "not finite"),
        (fail, RuntimeError, "out of memory"),
    ],
)
def test_an_encoder_that_fails_changes_nothing(tmp_path, result, error, message):
    with MemoryStore.create(tmp_path / "m", encoder=Broken(result)) as store:
        store.add([{"id": name, "text": name} for name in "abc"])
        with pytest.raises(error, match=message):
            store.commit()
        assert len(store.snapshot) == 0
        assert sorted(entry.name for entry in (tmp_path / "m" / "index").iterdir()) == ["00000001"]
        store._encoder.result = lambda vectors: vectors
        store.commit()
        check_index(store, list(store), HashEncoder())


def test_a_child_made_by_fork_is_told_to_open_anew(store):
    pid = os.fork()
    if pid == 0:
        try:
            store.add([])
        except StoreError as error:
            os._exit(0 if "before a fork" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert store.add([{"id": "a", "text": "a"}]).added == 1


def test_threads_may_share_a_store(store):
    store.add([{"id": f"{n}", "text": f"text {n}"} for n in range(500)])
    store.commit()
    errors = []

    def look():
        try:
            for _ in range(30):
                snapshot = store.snapshot
                rows = np.arange(len(snapshot))
                assert snapshot.rows(snapshot.ids(rows)).tolist() == rows.tolist()
        except Exception as error:
            errors.append(error)

    def write(name):
        try:
            for n in range(5):
                store.add([{"id": f"{name}-{n}", "text": f"{name} {n}"}])
                store.commit()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=look) for _ in range(3)]
    threads += [threading.Thread(target=write, args=(name,)) for name in "xy"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(store) == len(store.snapshot) == 510


IDS = st.sampled_from([f"id{n}" for n in range(8)])
TEXTS = st.sampled_from(["alpha", "beta beta", "gamma delta", "", "alpha\0"])
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(st.tuples(IDS, TEXTS), max_size=4), st.booleans()),
        st.tuples(st.just("delete"), st.lists(IDS, max_size=3)),
        st.tuples(st.just("commit")),
        st.tuples(st.just("reopen")),
    ),
    max_size=14,
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(OPERATIONS)
def test_any_sequence_equals_a_dict(operations):
    folder = tempfile.mkdtemp()
    encoder = HashEncoder()
    store = MemoryStore.create(f"{folder}/m", encoder=encoder)
    model: dict[str, str] = {}  # a dict keeps insertion order, which is the store's
    committed: dict[str, str] = {}
    try:
        for name, *given_ in operations:
            if name == "add":
                pairs, replace = given_
                after, result = dict(model), [0, 0, 0]
                try:
                    for one, text in pairs:
                        kind = 0 if one not in after else 1 if after[one] == text else 2
                        if kind == 2:
                            if not replace:
                                raise InvalidInputError
                            del after[one]
                        result[kind] += 1
                        after[one] = text
                except InvalidInputError:
                    with pytest.raises(InvalidInputError):
                        store.add([Episode(*pair) for pair in pairs])
                else:
                    assert store.add([Episode(*pair) for pair in pairs], replace=replace) == AddResult(
                        *result
                    )
                    model = after
            elif name == "delete":
                assert store.delete(given_[0]) == len(set(given_[0]) & set(model))
                model = {one: text for one, text in model.items() if one not in given_[0]}
            elif name == "commit":
                store.commit()
                committed = dict(model)
            else:
                store.close()
                store = MemoryStore.open(f"{folder}/m", encoder=encoder)
            assert {episode.id: episode.text for episode in store} == model
            assert [episode.id for episode in store] == list(model)
            assert len(store) == len(model)
            check_index(store, [Episode(*pair) for pair in committed.items()], encoder)
        store.commit()
        check_index(store, [Episode(*pair) for pair in model.items()], encoder)
        assert store.verify().ok
    finally:
        store.close()
        shutil.rmtree(folder)


def test_real_episodes_go_through(tmp_path, shared_data):
    from sqe_fast.readers import read

    source = shared_data / "agent_memory" / "traces.jsonl.gz"
    with MemoryStore.create(tmp_path / "m") as store:
        assert store.add(read(source)).added == 11_180
        assert store.add(read(source)).unchanged == 11_180
        store.commit()
        episodes = list(read(source))
        assert list(store) == episodes
        assert store.ids(range(11_180)) == [episode.id for episode in episodes]
        assert store.verify().ok
