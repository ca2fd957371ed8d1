"""Prepares or runs, and kills itself at a given point: `kill_worker.py STEP ROOT SOURCE LOG POINT`.

POINT is "none", the name of a function of the step (killed before that call, "name:2": the second), or
"generate:N": in the middle of the generator's N-th call. LOG gets a line for each request that was answered.
"""

# ruff: noqa: E402

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]

from oracles.small import ScriptedGenerator, TextEncoder
from oracles.steps import PROTOCOL, SETTINGS, Asker

from sqe_fast.experiment import prepare, run
from sqe_fast.experiment._run import answers
from sqe_fast.experiment.trajectories import Source
from sqe_fast.store import MemoryStore


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def before(holder, name, count):
    """Die before the count-th call of a function."""
    own = getattr(holder, name)
    calls = iter(range(1, 1000))

    def instead(*args, **kwargs):
        if next(calls) == count:
            die()
        return own(*args, **kwargs)

    setattr(holder, name, instead)


class Logged:
    """Answers as another does, logs what was answered, and dies within a call if told to."""

    def __init__(self, generator, log, last):
        self.name = generator.name
        self.generator = generator
        self.log = log
        self.left = last

    def generate(self, requests):
        answers = self.generator.generate(requests)
        self.left -= 1
        if self.left == 0:
            die()
        with self.log.open("a") as file:
            for request in requests:
                file.write(f"{request.kind} {request.question} {request.seed}\n")
        return answers

    def close(self):
        pass


def main(step, root, source, log, point):
    name, _, count = point.partition(":")
    made = Asker(fail={"e1"}) if step == "prepare" else ScriptedGenerator()
    generator = Logged(made, Path(log), int(count) if name == "generate" else 0)
    if name in ("add", "commit"):
        before(MemoryStore, name, int(count or 1))
    elif name not in ("none", "generate"):
        before({"prepare": prepare, "run": answers}[step], name, int(count or 1))
    if step == "prepare":
        prepare.prepare(
            root, [42, 43], Source((source,)), TextEncoder(), generator, protocol=PROTOCOL, chunk=5
        )
    else:
        run.run(root, TextEncoder(), generator, settings=SETTINGS, chunk=5)


if __name__ == "__main__":
    main(*sys.argv[1:])
