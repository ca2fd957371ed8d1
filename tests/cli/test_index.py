"""`sqe-fast index`, `stats` and `verify`."""

from __future__ import annotations

import json

import pytest

from sqe_fast.errors import ModelUnavailableError
from sqe_fast.store import MemoryStore


def test_makes_a_store_and_adds_to_it(tmp_path, notes, run):
    path = tmp_path / "memory"
    code, out, err = run("index", path, notes, "--encoder", "none", "--tokenizer", "word", "--k1", "0.9")
    assert (code, err) == (0, "")
    assert "3 added, 0 unchanged, 0 replaced; 3 episodes indexed" in out
    more = tmp_path / "more.jsonl"
    more.write_text('{"id": "n4", "text": "new"}\n{"id": "n2", "text": "changed"}\n')
    code, out, err = run("index", path, more)
    assert (code, out) == (2, "")
    assert "'n2' is in the store with another text" in err
    assert len(err.splitlines()) == 1
    code, out, _ = run("index", path, notes, more, "--replace")
    assert "1 added, 3 unchanged, 1 replaced; 4 episodes indexed" in out
    with MemoryStore.open(path, read_only=True) as store:
        assert store.settings["bm25"] == {"tokenizer": "word", "variant": "lucene", "k1": 0.9, "b": 0.75}
        assert sorted(store.ids(range(4))) == ["n1", "n2", "n3", "n4"]


def test_real_trajectories(tmp_path, shared_data, run):
    raw = shared_data / "agent_memory" / "raw"
    code, out, _ = run("index", tmp_path / "memory", raw, "--encoder", "none")
    assert code == 0
    assert "60 added" in out


def test_broken_records_are_told_and_counted(tmp_path, run):
    path = tmp_path / "bad.jsonl"
    path.write_text('{"id": "a", "text": "one"}\n' + "not json\n" * 8 + '{"id": "b", "text": "two"}\n')
    code, _, err = run("index", tmp_path / "m", path, "--encoder", "none")
    assert code == 3
    assert str(path) in err
    assert len(err.splitlines()) == 1
    code, out, err = run("index", tmp_path / "m", path, "--skip-bad")
    assert code == 0
    assert "2 added" in out
    assert "8 broken skipped" in out
    assert len(err.splitlines()) == 6
    assert "skipped 3 more broken records" in err


def test_only_brings_the_index_up_to_date(memory, run):
    with MemoryStore.open(memory) as store:
        store.add([{"id": "late", "text": "added elsewhere"}])
    code, out, _ = run("index", memory)
    assert code == 0
    assert "0 added, 0 unchanged, 0 replaced; 4 episodes indexed" in out


def test_new_texts_are_encoded_by_the_encoder_of_the_store(worded, tmp_path, run):
    more = tmp_path / "more.jsonl"
    more.write_text('{"id": "x", "text": "cache of tokens"}\n')
    code, out, _ = run("index", worded, more, "--encoder", "words")
    assert code == 0
    assert "1 added, 0 unchanged, 0 replaced; 61 episodes indexed" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["new"], "is not a store yet; name at least one SOURCE"),
        (["new", "nofile"], "there is no file or folder 'nofile'"),
        (["new", "{notes}", "--encoder", "none", "--tokenizer", "x"], "tokenizer must be one of"),
        (["new", "{notes}", "--encoder", "none", "--k1", "-1"], "k1 must be a finite number >= 0"),
        (["{memory}", "{notes}", "--encoder", "minilm"], "was made with 'none', given 'minilm'"),
        (["{memory}", "{notes}", "--variant", "okapi"], "variant: the store has 'lucene', given 'okapi'"),
        (["{notes}", "{notes}"], "is a file"),
        (["{folder}", "{notes}", "--encoder", "none"], "is not empty"),
    ],
)
def test_mistakes_are_told_in_one_line_and_make_nothing(
    tmp_path, notes, memory, run, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.txt").write_text("mine")
    names = {"notes": notes, "memory": memory, "folder": tmp_path / "folder"}
    code, out, err = run("index", *(argument.format(**names) for argument in arguments))
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "new").exists()


def test_a_model_that_cannot_be_had(tmp_path, notes, run, monkeypatch):
    from sqe_fast import encode

    def load(name, device=None):
        raise ModelUnavailableError(f"the model {name!r} cannot be had. Give a local folder")

    monkeypatch.setattr(encode.Encoder, "load", load)
    code, _, err = run("index", tmp_path / "new", notes)
    assert code == 3
    assert err == "sqe-fast: the model 'BAAI/bge-m3' cannot be had. Give a local folder\n"
    assert not (tmp_path / "new").exists()


def test_a_writer_elsewhere(memory, notes, run):
    with MemoryStore.open(memory):
        code, _, err = run("index", memory, notes)
        assert code == 3
        assert "open for writing" in err
        assert run("search", memory, "retry")[0] == 0
        assert run("verify", memory)[0] == 0  # a sound store needs no writer


def test_stats(memory, worded, run):
    code, out, _ = run("stats", memory)
    assert code == 0
    assert "tokenizer code, variant lucene, k1 1.2, b 0.75" in out
    found = json.loads(run("stats", worded, "--json")[1])
    assert found["episodes"] == found["indexed"] == 60
    assert found["settings"]["encoder"]["name"] == "words"
    assert "words, 16 dimensions" in run("stats", worded)[1]
    assert run("stats", memory.parent / "none")[0] == 3


def test_verify_a_sound_store(memory, run):
    assert run("verify", memory) == (0, f"{memory}: sound, 3 episodes, generation 2\n", "")


@pytest.mark.parametrize("torn", [False, True])
def test_verify_finds_and_repairs(memory, run, torn):
    with MemoryStore.open(memory, read_only=True) as store:
        file = store.snapshot.folder / "bm25.bin"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(data[: len(data) // 2] if torn else data)
    code, out, _ = run("verify", memory, "--no-repair", "--json")
    assert code == 1
    assert not json.loads(out)["ok"]
    code, out, err = run("verify", memory)
    assert (code, err) == (1, "")
    assert out.startswith("problem: ")
    assert "repaired: " in out
    assert "sound, 3 episodes" in out
    assert run("verify", memory)[0] == 0
    assert run("search", memory, "retry")[0] == 0


def test_verify_what_is_no_store(tmp_path, run):
    code, _, err = run("verify", tmp_path)
    assert code == 3
    assert "is not a memory store" in err
