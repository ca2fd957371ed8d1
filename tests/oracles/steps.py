"""A tiny experiment's parts: its numbers, a file of steps, and a generator that writes their questions."""

from __future__ import annotations

import json

from oracles.small import WORDS
from sqe_fast.experiment.protocol import Protocol
from sqe_fast.experiment.rows import METHOD_FILES
from sqe_fast.experiment.settings import RunSettings
from sqe_fast.generate.base import Generation

PROTOCOL = Protocol(n_memory=60, n_targets=24)
SETTINGS = RunSettings(methods=(*METHOD_FILES, "oracle"), threshold=0.55)


class Asker:
    """Writes questions from the words of the step in the prompt; `fail` names targets."""

    name = "asker"

    def __init__(self, fail=()):
        self.fail = set(fail)
        self.asked = []

    def generate(self, requests):
        self.asked += [request.question for request in requests]
        return [self.answer(request) for request in requests]

    def answer(self, request):
        if request.question in self.fail:
            return Generation.failed("time-out", calls=1)
        step = next(line for line in request.messages[0].content.split("\n") if line.startswith("step "))
        words = step.split()[2:]
        number = request.seed % len(WORDS)
        text = (
            f"Question: where did the {words[0]} meet the {words[1]} and {WORDS[number]} {step.split()[1]}?"
        )
        return Generation((text,), prompt_tokens=50, completion_tokens=12, finish_reasons=("stop",))

    def close(self):
        pass


def write_steps(path, n=300):
    """Write n episodes of few words, some of which differ in their number alone."""
    steps = (f"step {i} {WORDS[i % 14]} {WORDS[(i * 5 + 3) % 14]} {WORDS[(i // 14) % 14]}" for i in range(n))
    path.write_text("".join(json.dumps({"id": f"e{i}", "text": text}) + "\n" for i, text in enumerate(steps)))
    return path
