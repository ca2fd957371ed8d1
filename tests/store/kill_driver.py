"""Kills a writer at random moments and checks after each kill that nothing confirmed is lost.

Run as `python kill_driver.py FOLDER ROUNDS SEED`, or with `points` for ROUNDS: then a commit is killed before
each of its calls that change the disk, one after another. This process imports everything and starts no
thread; a worker and a checker are forked from it for each round, so that a round costs no interpreter start.
The worker tells through a pipe what it is about to do and what was confirmed; what was under way when it died
may have happened whole, or not at all. A third of the kills come at any moment; the others wait for the
worker to announce an addition or a commit, so that the machine's speed does not decide what is hit. Prints
one line of JSON at the end.
"""

# ruff: noqa: E402

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import time
import traceback
import warnings
from functools import partial
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]

from oracles.standins import HashEncoder

warnings.simplefilter("error")  # a kill never leaves a current generation that is torn

from sqe_fast._store.index import Index
from sqe_fast.errors import SqeFastError
from sqe_fast.store import MemoryStore

IDS = [f"id{n}" for n in range(60)]
AIMS = [(), ("add", "replace", "delete"), ("commit", "verify")]


def plan(rng, serial):
    """Return one operation as JSON can hold it."""
    kind = rng.choices(["add", "replace", "delete", "commit", "verify"], [5, 2, 2, 4, 1])[0]
    if kind in ("add", "replace"):
        count = rng.choice([1, 3, 12])
        pool = IDS if kind == "replace" else [f"new{serial}-{n}" for n in range(60)]
        return [
            kind,
            [
                [one, f"text {serial} of {one} " + "x" * rng.choice([1, 50, 9000])]
                for one in rng.sample(pool, count)
            ],
        ]
    return [kind, rng.sample(IDS, 3)] if kind == "delete" else [kind]


def apply(model, operation):
    """Return the model after an operation: a dict in store order."""
    kind, *rest = operation
    after = dict(model)
    for item in rest[0] if rest else ():
        if kind == "delete":
            after.pop(item, None)
        elif after.get(item[0]) != item[1]:
            after.pop(item[0], None)
            after[item[0]] = item[1]
    return after


def work(folder, out, seed):
    """Open the store and change it until killed."""
    rng = random.Random(seed)

    def say(*words):
        os.write(out, (json.dumps(words) + "\n").encode())

    say("opening")
    store = MemoryStore.open(folder, encoder=HashEncoder())
    say("opened")
    for serial in range(10**6):
        operation = plan(rng, f"{seed}.{serial}")
        say("try", operation)
        kind, *rest = operation
        if kind in ("add", "replace"):
            store.add([{"id": one, "text": text} for one, text in rest[0]], replace=True)
        elif kind == "delete":
            store.delete(rest[0])
        elif kind == "commit":
            store.commit()
        else:
            assert store.verify().ok
        say("ok")


def check(folder, models, deep):
    """Return which model the store equals; raise when none, or when anything derived is wrong."""
    # A reader comes first: it must find a whole generation whatever was left behind.
    with MemoryStore.open(folder, read_only=True) as reader:
        assert reader.ids(range(len(reader))) == [episode.id for episode in reader]
        assert len(reader.bm25) == len(reader) == len(reader.vectors)
    encoder = HashEncoder()
    with MemoryStore.open(folder, encoder=encoder) as store:
        found = {episode.id: episode.text for episode in store}
        which = next(
            (n for n, model in enumerate(models) if list(model.items()) == list(found.items())), None
        )
        assert which is not None, f"{len(found)} episodes fit neither of {[len(model) for model in models]}"
        if deep:
            report = store.verify()
            assert report.ok, report
            assert not report.problems, report
            store.commit()
            assert store.texts(range(len(found))) == list(found.values())
            for row, text in enumerate(found.values()):
                assert (store.vectors[row] == encoder.vector(text).astype("float16")).all()
            assert len(Index(Path(folder), {}).numbers()) <= 2
        return which


def forked(call):
    """Run `call` in a child of its own; return its exit code."""
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            code = call()
        except SqeFastError:
            traceback.print_exc()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def hear(pipe, heard, seconds, wanted=()):
    """Add to `heard` what the worker says, for `seconds` or until it announces an operation of a kind."""
    starts = tuple(f'["try", ["{kind}"'.encode() for kind in wanted)
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0 and select.select([pipe], [], [], left)[0]:
        words = os.read(pipe, 1 << 20)
        heard += words
        if not words or (heard.endswith(b"\n") and heard.splitlines()[-1].startswith(starts)):
            return


def main(folder, rounds, seed):
    rng = random.Random(seed)
    model = {}
    tally = {"kills": 0, "confirmed": 0, "in_add": 0, "in_commit": 0, "in_open": 0, "happened": 0, "idle": 0}
    if forked(lambda: MemoryStore.create(folder, encoder=HashEncoder()).close() or 0):
        raise SystemExit("the store could not be made")
    for number in range(rounds):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read)
            try:
                work(folder, write, f"{seed}-{number}")
            except BaseException:
                traceback.print_exc()
            os._exit(98)
        os.close(write)
        heard = bytearray()
        hear(read, heard, rng.choice([0.005, 0.02, 0.06, 0.15]) * (0.3 + rng.random()))
        if wanted := AIMS[number % len(AIMS)]:
            hear(read, heard, 10, wanted)
            time.sleep(rng.choice([0, 0, 0.0005, 0.002, 0.01]))
        os.kill(pid, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        hear(read, heard, 60)  # the rest, to the end of the pipe
        os.close(read)
        said = [json.loads(line) for line in heard.splitlines(keepends=True) if line.endswith(b"\n")]
        if code != -signal.SIGKILL:
            raise SystemExit(f"round {number}: the worker ended by itself with {code} after {said[-1:]}")
        tally["kills"] += 1
        under_way = None
        for word, *rest in said:
            if word == "try":
                under_way = rest[0]
            elif word == "ok":
                model = apply(model, under_way)
                tally["confirmed"] += 1
                under_way = None
        if under_way:
            kind = under_way[0]
            tally["in_commit" if kind in ("commit", "verify") else "in_add"] += 1
        else:
            tally["idle" if said and said[-1] != ["opening"] else "in_open"] += 1
        models = [model, apply(model, under_way)] if under_way else [model]
        which = forked(partial(check, folder, models, number % 4 == 3))
        if which not in (0, 1):
            raise SystemExit(f"round {number}: the check failed after {said[-3:]!r:.300}")
        if which == 1 and models[0] != models[1]:
            tally["happened"] += 1
        model = models[which]
    print(json.dumps({**tally, "episodes": len(model)}))


def commit_until(folder, last):
    """Commit two additions and a deletion; die before call number `last` that changes the disk."""
    calls = 0

    def dying(call):
        def wrapped(*args, **named):
            nonlocal calls
            calls += 1
            if calls == last:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **named)

        return wrapped

    store = MemoryStore.open(folder, encoder=HashEncoder())
    store.add([{"id": f"a{last}", "text": f"first {last}"}, {"id": f"b{last}", "text": f"second {last}"}])
    store.delete([f"a{last - 1}"])
    for name in ("fsync", "rename", "replace", "unlink", "rmdir", "mkdir"):
        setattr(os, name, dying(getattr(os, name)))
    store.commit()
    return 0


def points(folder):
    if forked(lambda: MemoryStore.create(folder, encoder=HashEncoder()).close() or 0):
        raise SystemExit("the store could not be made")
    model, number, code = {}, 0, -signal.SIGKILL
    while code == -signal.SIGKILL:
        number += 1
        code = forked(partial(commit_until, folder, number))
        if code not in (0, -signal.SIGKILL):
            raise SystemExit(f"point {number}: the commit ended with {code}")
        model.pop(f"a{number - 1}", None)
        model |= {f"a{number}": f"first {number}", f"b{number}": f"second {number}"}
        if forked(partial(check, folder, [model], number % 2 == 0)):
            raise SystemExit(f"point {number}: the check failed")
    print(json.dumps({"kills": number - 1}))


if __name__ == "__main__":
    if sys.argv[2] == "points":
        points(sys.argv[1])
    else:
        main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
