"""The sample memory that ships in `examples/`: whole, consistent, and free of what does not belong in it."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from sqe_fast.readers import read
from sqe_fast.text import tokenize

SAMPLE = Path(__file__).resolve().parents[1] / "examples" / "sample"
IDENTIFIER = re.compile(r"\w*(?:_\w|[0-9]|[a-z][A-Z])\w*")
PRIVATE = re.compile(
    r"/(?:root|home|work|Users|tmp/sample-)\b"
    r"|https?://(?!shop\.example/)"
    r"|\b(?:pypi|pythonhosted|npmjs)\b"
    r"|\bin \d+\.\d+s\b"
)


def records(name):
    return [json.loads(line) for line in (SAMPLE / name).read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def episodes():
    return list(read(SAMPLE / "episodes.jsonl"))


@pytest.fixture(scope="module")
def questions():
    return records("questions.jsonl")


def test_episodes_are_steps_of_many_tasks(episodes):
    assert len(episodes) >= 300
    assert len({episode.id for episode in episodes}) == len(episodes)
    assert len({episode.task_id for episode in episodes}) >= 30
    for episode in episodes:
        assert episode.id.rpartition("/")[0] == episode.task_id
        assert len(episode.text) > 100
        assert re.match(r"\[THOUGHT\] .*\n\[ACTION\] (bash|python): ", episode.text)


def test_every_question_has_a_target_of_its_own(episodes, questions):
    targets = [question["target_id"] for question in questions]
    assert len(questions) >= 60
    assert len({question["query_id"] for question in questions}) == len(questions)
    assert len(set(targets)) == len(targets)
    assert set(targets) <= {episode.id for episode in episodes}


def test_every_question_has_two_traces_and_two_paraphrases(questions):
    expansions = records("expansions.jsonl")
    assert [one["query"] for one in expansions] == [question["query"] for question in questions]
    for one in expansions:
        assert sorted(one) == ["paraphrases", "query", "traces"]
        assert [len(set(one[key])) for key in ("traces", "paraphrases")] == [2, 2]
        assert all(
            re.match(r"\[THOUGHT\] .+\n\[ACTION\] .+\n\[OBSERVATION\] .", text) for text in one["traces"]
        )
        assert all(text.strip() for text in one["paraphrases"])


def test_no_question_copies_a_term_of_its_target(episodes, questions):
    tokens = {episode.id: set(tokenize(episode.text, "code")) for episode in episodes}
    texts = {episode.id: episode.text for episode in episodes}
    spread = Counter(token for one in tokens.values() for token in one)
    for question in questions:
        target = question["target_id"]
        assert not {name for name in IDENTIFIER.findall(question["query"]) if name in texts[target]}
        shared = set(tokenize(question["query"], "code")) & tokens[target]
        assert not {token for token in shared if spread[token] <= 2}, question["query_id"]


@pytest.mark.parametrize("name", ["episodes.jsonl", "questions.jsonl", "expansions.jsonl"])
def test_nothing_of_the_recording_machine_is_left(name):
    for line in (SAMPLE / name).read_text(encoding="utf-8").splitlines():
        assert not PRIVATE.search(line), line[:200]


def test_the_sample_is_small():
    assert sum(file.stat().st_size for file in SAMPLE.iterdir()) < 1_000_000
