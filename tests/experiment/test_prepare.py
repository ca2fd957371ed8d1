"""Preparing: the protocol's draw, equal bytes, interruptions, given questions, and what is refused."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.small import TextEncoder
from oracles.steps import PROTOCOL, Asker, write_steps

from sqe_fast.errors import InvalidInputError, RecordError
from sqe_fast.experiment import prepare as module
from sqe_fast.experiment.layout import SeedFolder, seed_folders
from sqe_fast.experiment.manifest import changes, read_manifest
from sqe_fast.experiment.prepare import prepare
from sqe_fast.experiment.protocol import Given, Protocol
from sqe_fast.experiment.trajectories import Pool, Source, draw
from sqe_fast.generate.base import Generation
from sqe_fast.store import MemoryStore

WORKER = Path(__file__).parent / "kill_worker.py"


@given(st.integers(1, 300), st.data())
def test_the_draw_is_the_protocols(pool, data):
    n_memory = data.draw(st.integers(1, pool))
    n_targets = data.draw(st.integers(1, n_memory))
    seed = data.draw(st.integers(0, 100))
    episodes = [f"ep_{i:06d}" for i in range(pool)]
    random.seed(seed)
    random.shuffle(episodes)
    store = episodes[:n_memory]
    targets = random.sample(store, n_targets)
    drawn = draw(pool, n_memory, n_targets, seed)
    assert [f"ep_{i:06d}" for i in drawn.memory] == store
    assert [store[i] for i in drawn.targets] == targets


@pytest.mark.parametrize("seed", [42, 49])
def test_the_draw_at_full_size(seed):
    episodes = list(range(16_500))
    random.seed(seed)
    random.shuffle(episodes)
    store = episodes[:5000]
    targets = random.sample(store, 500)
    drawn = draw(16_500, 5000, 500, seed)
    assert list(drawn.memory) == store
    assert [store[i] for i in drawn.targets] == targets


def test_a_prepared_seed_is_what_was_drawn(tiny_prepared, steps):
    records = [json.loads(line) for line in steps.read_text().splitlines()]
    pool = records[: 3 * (60 + 24)]
    for folder in seed_folders(tiny_prepared):
        drawn = draw(len(pool), 60, 24, folder.seed)
        with MemoryStore.open(folder.memory, read_only=True) as store:
            kept = [(one.id, one.text) for one in store]
            pinned = store.settings
        assert kept == [(pool[i]["id"], pool[i]["text"]) for i in drawn.memory]
        assert pinned["bm25"] == {"tokenizer": "whitespace", "variant": "okapi", "k1": 1.5, "b": 0.75}
        lines = [json.loads(line) for line in folder.questions.read_text().splitlines()]
        assert [line["query_id"] for line in lines] == [f"q{i:04d}" for i in range(24)]
        assert [line["target_id"] for line in lines] == [kept[i][0] for i in drawn.targets]
        manifest = read_manifest(folder.manifest)
        assert manifest["counts"] == {
            "pool": 252, "skipped": 0, "memory": 60, "targets": 24, "questions": 24, "failed": 0,
        }  # fmt: skip
        assert manifest["complete"]
        assert manifest["notes"] == []


def files_of(root):
    """Return the bytes of all files below `root` that are to be the same whenever they are made."""
    kept = (path for path in sorted(root.rglob("*")) if path.is_file())
    told_apart = ("LOCK", "prepare.log.jsonl")
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in kept
        if path.name not in told_apart and ".sqlite" not in path.name
    }


def test_the_same_choices_give_the_same_bytes(tiny_prepared, steps, tmp_path):
    moved = tmp_path / "elsewhere" / steps.name
    moved.parent.mkdir()
    moved.write_bytes(steps.read_bytes())
    encoder = TextEncoder()
    prepare(tmp_path / "b", [43], Source((str(moved),)), encoder, Asker(), protocol=PROTOCOL, chunk=7)
    prepare(tmp_path / "b", [42], Source((str(moved),)), encoder, Asker(), protocol=PROTOCOL)
    first, second = files_of(tiny_prepared), files_of(tmp_path / "b")
    assert sorted(first) == sorted(second)
    assert {"seed42/manifest.json", "seed42/questions.jsonl"} <= set(first)
    assert sum(name.endswith(("bm25.bin", "vectors.f16")) for name in first) >= 4
    assert {name for name in first if first[name] != second[name]} == set()
    folders = [SeedFolder.of(root, 42) for root in (tiny_prepared, tmp_path / "b")]
    stores = [MemoryStore.open(folder.memory, read_only=True) for folder in folders]
    assert list(stores[0]) == list(stores[1])
    for store in stores:
        store.close()
    assert (
        read_manifest(folders[0].manifest)["checksums"]
        != read_manifest(SeedFolder.of(tmp_path / "b", 43).manifest)["checksums"]
    )


def test_what_is_there_is_left_alone(tiny_prepared, steps):
    before = files_of(tiny_prepared)
    asker, encoder = Asker(), TextEncoder()
    done = prepare(tiny_prepared, [42, 43], Source((str(steps),)), encoder, asker, protocol=PROTOCOL)
    assert [(one.new, one.memory, one.questions, one.failed) for one in done] == [(False, 60, 24, 0)] * 2
    assert (asker.asked, encoder.calls) == ([], [])
    assert files_of(tiny_prepared) == before


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"protocol": replace(PROTOCOL, n_targets=20)}, "draw.n_targets: there it is 24, given 20; draw"),
        ({"protocol": replace(PROTOCOL, k1=1.2)}, "choices: bm25.k1: there it is 1.5, given 1.2"),
        (
            {"protocol": replace(PROTOCOL, temperature=0.1)},
            r"questions.temperature: there it is 0.7, given 0.1",
        ),
        ({"encoder": TextEncoder(dim=8)}, r"encoder.dim: there it is 16, given 8"),
        ({"ids": "counted"}, r'source.ids: there it is "own", given "counted"'),
        ({"n": 299}, r"source.from: there it is .*steps.jsonl.*, given"),
    ],
)
def test_another_choice_is_refused_by_name(tiny_prepared, steps, tmp_path, change, told):
    path = write_steps(tmp_path / "steps.jsonl", change["n"]) if "n" in change else steps
    source = Source((str(path),), ids=change.get("ids", "own"))
    encoder = change.get("encoder", TextEncoder())
    with pytest.raises(InvalidInputError, match=told):
        prepare(tiny_prepared, [42], source, encoder, Asker(), protocol=change.get("protocol", PROTOCOL))


def kill(step, root, source, log, point):
    command = [sys.executable, str(WORKER), step, str(root), str(source), str(log), point]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode != 0


@pytest.mark.parametrize(
    "points",
    [
        ("write_manifest", "add", "write_manifest:2", "commit", "generate:3"),
        ("generate:1", "generate:2", "save_questions", "write_manifest:3", "write_manifest:3"),
    ],
)
def test_a_killed_preparation_goes_on(steps, tmp_path, points):
    """Killed again and again, each time further on: the bytes are those of a preparation left in peace."""
    log = tmp_path / "log"
    for point in points:
        assert kill("prepare", tmp_path / "exp", steps, log, point)
    assert not kill("prepare", tmp_path / "exp", steps, log, "none")
    asker = Asker(fail={"e1"})
    source = Source((str(steps),))
    prepare(tmp_path / "whole", [42, 43], source, TextEncoder(), asker, protocol=PROTOCOL)
    assert files_of(tmp_path / "exp").keys() - files_of(tmp_path / "whole").keys() == set()
    whole = files_of(tmp_path / "whole")
    killed = files_of(tmp_path / "exp")
    for seed in (42, 43):
        for name in ("manifest.json", "questions.jsonl"):
            assert killed[f"seed{seed}/{name}"] == whole[f"seed{seed}/{name}"]
    asked = log.read_text().splitlines()
    paid = [line for line in asked if " e1 " not in line]
    assert len(set(paid)) == len(paid)  # no request that was answered was made again
    assert sorted(line.split()[1] for line in paid) == sorted(name for name in asker.asked if name != "e1")


def test_an_interrupted_writing_of_questions_does_not_read_the_source(steps, tmp_path, monkeypatch):
    source = Source((str(steps),))

    class Interrupted(Asker):
        def generate(self, requests):
            if self.asked:
                raise KeyboardInterrupt
            return super().generate(requests)

    with pytest.raises(KeyboardInterrupt):
        prepare(tmp_path, [42], source, TextEncoder(), Interrupted(), protocol=PROTOCOL, chunk=10)
    monkeypatch.setattr(Pool, "episodes", lambda self: pytest.fail("the source was read"))
    asker, encoder = Asker(), TextEncoder()
    (done,) = prepare(tmp_path, [42], source, encoder, asker, protocol=PROTOCOL, chunk=10)
    assert (done.new, done.questions, len(asker.asked), encoder.calls) == (True, 24, 14, [])


def test_failed_questions_keep_their_line_and_are_counted(steps, tmp_path):
    drawn = draw(252, 60, 24, 42)
    first = f"e{drawn.memory[drawn.targets[0]]}"
    source = Source((str(steps),))
    (done,) = prepare(tmp_path, [42], source, TextEncoder(), Asker(fail={first}), protocol=PROTOCOL)
    assert (done.questions, done.failed) == (23, 1)
    line = json.loads(done.folder.questions.read_text().split("\n")[0])
    assert line == {"query_id": "q0000", "query": "", "target_id": first, "problem": "time-out"}
    counts = read_manifest(done.folder.manifest)["counts"]
    assert (counts["targets"], counts["questions"], counts["failed"]) == (24, 23, 1)
    log = json.loads(done.folder.log.read_text())
    assert log["usage"]["calls"] == 23 + 3
    assert {"started", "seconds", "machine"} <= set(log)


def test_a_source_too_small_is_told(tmp_path):
    path = write_steps(tmp_path / "few.jsonl", 100)
    source = Source((str(path),))
    (done,) = prepare(tmp_path / "a", [42], source, None, Asker(), protocol=PROTOCOL)
    assert done.notes == (
        "the source holds 100 of the 252 episodes that the protocol collects; the store was drawn from those",
    )
    assert read_manifest(done.folder.manifest)["counts"]["pool"] == 100
    with MemoryStore.open(done.folder.memory, read_only=True) as store:
        assert [one.id for one in store] == [f"e{i}" for i in draw(100, 60, 24, 42).memory]
    with pytest.raises(InvalidInputError, match="5,000 episodes was asked for, and the source holds 100"):
        prepare(tmp_path / "b", [42], source, None, Asker())


def test_given_questions_and_store(tmp_path, steps):
    ids = [f"e{i}" for i in (7, 3, 250, 299, 8)]
    (tmp_path / "ids.txt").write_text("\n".join(ids) + "\n")
    lines = [{"query_id": "a", "query": "one?", "target_episode_id": "e3"}, {"query": "two?", "target": "e8"}]
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    files = Given(tmp_path / "q.jsonl", tmp_path / "ids.txt")
    source = Source((str(steps),))
    (done,) = prepare(tmp_path / "exp", [42], source, TextEncoder(), given=files)
    with MemoryStore.open(done.folder.memory, read_only=True) as store:
        assert [one.id for one in store] == ids
    rows = [json.loads(line) for line in done.folder.questions.read_text().splitlines()]
    assert rows == [
        {"query_id": "a", "query": "one?", "target_id": "e3"},
        {"query_id": "2", "query": "two?", "target_id": "e8"},
    ]
    assert done.notes == ()
    (tmp_path / "q.jsonl").write_text(json.dumps(lines[0]))
    with pytest.raises(InvalidInputError, match="other choices: given"):
        prepare(tmp_path / "exp", [42], source, TextEncoder(), given=files)
    (tmp_path / "ids.txt").write_text("e1\ne0\ne1\n")
    with pytest.raises(InvalidInputError, match="must hold ids, one a line, each once"):
        prepare(tmp_path / "x", [42], source, None, given=files)
    (tmp_path / "ids.txt").write_text("e1\nnone\n")
    with pytest.raises(InvalidInputError, match="the source holds no episode 'none'"):
        prepare(tmp_path / "y", [42], source, None, given=files)
    (tmp_path / "ids.txt").write_text("e1\ne2\n")
    with pytest.raises(RecordError, match="question 'a': its target 'e3' is not in the store"):
        prepare(tmp_path / "z", [42], source, None, given=files)


def test_given_questions_for_a_drawn_store(tmp_path, steps, tiny_prepared):
    """What was written once can be given again: the store is the same, and so are the questions."""
    own = SeedFolder.of(tiny_prepared, 42)
    files = Given(own.questions)
    (done,) = prepare(tmp_path, [42], Source((str(steps),)), TextEncoder(), given=files, protocol=PROTOCOL)
    assert done.folder.questions.read_bytes() == own.questions.read_bytes()
    sums = [read_manifest(one.manifest)["checksums"] for one in (own, done.folder)]
    assert sums[0] == sums[1]


def test_ids_can_be_counted(tmp_path, steps):
    source = Source((str(steps), str(steps)), ids="counted")
    pool = Pool(source, 400).episodes()
    assert [one.id for one in pool] == [f"ep_{i:06d}" for i in range(400)]
    assert (pool[0].fields["source_id"], pool[300].fields["source_id"]) == ("e0", "e0")
    with pytest.raises(
        InvalidInputError, match=r"two episodes of the source have the id 'e0'; with ids='counted'"
    ):
        Pool(replace(source, ids="own"), 400).episodes()
    with pytest.raises(InvalidInputError, match="ids must be one of own, counted"):
        Source((str(steps),), ids="x")
    with pytest.raises(InvalidInputError, match="at least one file"):
        Source(())


def test_trajectories_of_the_hub(tmp_path, monkeypatch):
    """Rows as SWE-smith-trajectories streams them: steps counted in their order, read once for all seeds."""
    long = "x" * 120
    streamed = []

    def records(name, split):
        for number in range(1, 60):
            streamed.append((name, split, number))
            turns = [{"role": "user", "content": "mend it"}]
            for step in range(5):
                command = json.dumps({"command": f"step {number} {step} a b"})
                call = {"function": {"name": "bash", "arguments": command}}
                thought = {"content": "", "thought": f"think {step}"}
                turns.append({"role": "assistant", "tool_calls": [call], **thought})
                turns.append({"role": "tool", "content": long})
            names = {"instance_id": f"task{number}", "traj_id": f"t{number}"}
            yield number, {"messages": json.dumps(turns), **names}

    monkeypatch.setattr("sqe_fast.readers.hub.records", records)
    sizes = Protocol(n_memory=40, n_targets=5)
    source = Source(("SWE-bench/SWE-smith-trajectories",), ids="counted")

    class Plain(Asker):
        def answer(self, request):
            return Generation((f"What was {request.question}?",))

    done = prepare(tmp_path, [42, 43], source, None, Plain(), protocol=sizes)
    assert len(streamed) == 27  # 3 x (40 + 5) steps of five a row; nothing more is asked of the network
    with MemoryStore.open(done[0].folder.memory, read_only=True) as store:
        kept = list(store)
    drawn = draw(135, 40, 5, 42).memory
    assert [one.id for one in kept] == [f"ep_{i:06d}" for i in drawn]
    first = kept[0]
    row, step = divmod(drawn[0], 5)
    assert (
        first.text
        == f"[THOUGHT] think {step}\n[ACTION] bash: step {row + 1} {step} a b\n[OBSERVATION] {long}"
    )
    assert (first.task_id, first.fields["source_id"]) == (f"task{row + 1}", f"t{row + 1}/{step}")
    told = read_manifest(done[0].folder.manifest)["choices"]["source"]
    assert told["from"] == [{"name": "SWE-bench/SWE-smith-trajectories", "split": "tool"}]


def test_broken_records_are_told_or_counted(tmp_path, steps):
    lines = steps.read_text().splitlines()
    path = tmp_path / "broken.jsonl"
    path.write_text("\n".join([*lines[:10], "{", *lines[10:]]))
    with pytest.raises(RecordError, match=r"broken.jsonl.*11"):
        prepare(tmp_path / "a", [42], Source((str(path),)), None, Asker(), protocol=PROTOCOL)
    source = Source((str(path),), skip_bad=True)
    done = prepare(tmp_path / "b", [42, 43], source, None, Asker(), protocol=PROTOCOL)
    for one in done:
        assert read_manifest(one.folder.manifest)["counts"]["skipped"] == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seeds": []}, "seeds must be at least one, each once"),
        ({"seeds": [42, 42]}, "seeds must be at least one, each once"),
        ({"seeds": [-1]}, "seeds must be from 0"),
        ({"generator": None}, "give either what writes the questions"),
        ({"given": Given(Path("q"))}, "give either what writes the questions"),
    ],
)
def test_arguments_that_do_not_fit(tmp_path, steps, change, message):
    arguments = {"seeds": [42], "generator": Asker(), **change}
    with pytest.raises(InvalidInputError, match=message):
        prepare(tmp_path, source=Source((str(steps),)), encoder=None, protocol=PROTOCOL, **arguments)
    assert not list(tmp_path.iterdir())


def test_sizes_that_do_not_fit():
    for sizes, message in (
        ({"n_memory": 0}, "n_memory must be from 1"),
        ({"n_targets": 0}, "n_targets must be from 1"),
        ({"n_memory": 10, "n_targets": 11}, "n_targets must be from 1 to n_memory, 10; got 11"),
        ({"pool": 10}, "pool must be at least n_memory, 5000; got 10"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            Protocol(**sizes)
    with pytest.raises(InvalidInputError, match="n_targets must be from 1 to n_memory, 3; got 4"):
        draw(5, 3, 4, 42)


def test_folders_of_others_are_left_alone(tmp_path, steps):
    (tmp_path / "seed42").mkdir()
    (tmp_path / "seed42" / "notes.txt").write_text("mine")
    with pytest.raises(InvalidInputError, match="is not empty, and holds no manifest of an experiment"):
        prepare(tmp_path, [42], Source((str(steps),)), None, Asker(), protocol=PROTOCOL)
    (tmp_path / "seed42" / "manifest.json").write_text("{}")
    with pytest.raises(RecordError, match="not a manifest of an experiment"):
        prepare(tmp_path, [42], Source((str(steps),)), None, Asker(), protocol=PROTOCOL)
    (tmp_path / "seed42" / "manifest.json").write_text('{"format": 99}')
    with pytest.raises(InvalidInputError, match="is of another format"):
        prepare(tmp_path, [42], Source((str(steps),)), None, Asker(), protocol=PROTOCOL)
    (tmp_path / "seed42" / "manifest.json").write_text("{")
    with pytest.raises(RecordError, match="not JSON"):
        prepare(tmp_path, [42], Source((str(steps),)), None, Asker(), protocol=PROTOCOL)


def test_a_store_that_was_changed_meanwhile_is_told(tmp_path, steps, monkeypatch):
    source = Source((str(steps),))
    with monkeypatch.context() as patch:
        patch.setattr(module, "save_questions", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            prepare(tmp_path, [42], source, TextEncoder(), Asker(), protocol=PROTOCOL)
    with MemoryStore.open(tmp_path / "seed42" / "memory", encoder=TextEncoder()) as store:
        store.delete([next(iter(store)).id])
    with pytest.raises(InvalidInputError, match="holds 59 episodes where 60 were drawn; it was changed"):
        prepare(tmp_path, [42], source, TextEncoder(), Asker(), protocol=PROTOCOL)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


@settings(max_examples=50)
@given(json_values, json_values)
def test_changes_are_none_between_equals_only(one, other):
    assert changes(one, one) == []
    both = {"x": one, "y": 1}
    assert changes(both, {"x": one, "y": 2}) == ["y: there it is 1, given 2"]
    if one is not None and not isinstance(one, dict) and isinstance(other, dict):
        assert changes({"x": one}, {"x": other})
