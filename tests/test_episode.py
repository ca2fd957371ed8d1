"""Episodes and the text of a step, against all real steps of the shared data."""

from __future__ import annotations

import dataclasses
import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqe_fast.episode import Episode, Step
from sqe_fast.errors import InvalidInputError


def lines(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def test_every_real_step_comes_out_as_its_trace(shared_data):
    traces = {
        one["episode_id"]: one["text"] for one in lines(shared_data / "agent_memory" / "traces.jsonl.gz")
    }
    texts, seen = {}, set()
    for one in lines(shared_data / "agent_memory" / "steps.jsonl.gz"):
        step = Step(one["thought"], one["tool"], one["command"], one["observation"])
        text = step.text()
        assert step.worth_keeping() == (len(text) > 100)
        if step.worth_keeping() and text not in seen:  # the set holds each text once
            seen.add(text)
            texts[one["episode_id"]] = text
    assert len(traces) == 11_180
    assert texts == traces


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (Step(), ""),
        (Step("t"), "[THOUGHT] t"),
        (Step(tool="bash", command="ls"), "[ACTION] bash: ls"),
        (Step(tool="submit"), "[ACTION] submit: "),
        (Step(command="ls"), "[ACTION] ls"),
        (Step(observation="o"), "[OBSERVATION] o"),
        (Step("a\nb", "c", "d", "e"), "[THOUGHT] a\nb\n[ACTION] c: d\n[OBSERVATION] e"),
    ],
)
def test_a_missing_part_is_left_out(step, text):
    assert step.text() == text


@given(st.text(max_size=320), st.integers(690, 1500))
def test_the_cuts_are_where_the_protocol_has_them(thought, length):
    observation = "".join(chr(0x4E00 + n % 5000) for n in range(length))
    text = Step(thought * 2, "t", "c", observation).text()
    assert text.startswith("[THOUGHT] " + (thought * 2)[:300]) == bool(thought)
    shown = text.split("[OBSERVATION] ")[1]
    if length <= 700:
        assert shown == observation
    else:
        assert shown == observation[:300] + "\n... [truncated] ...\n" + observation[-300:]


def test_a_text_of_a_hundred_characters_is_dropped_and_one_more_is_kept():
    room = 100 - len("[THOUGHT] ")
    assert not Step("x" * room).worth_keeping()
    assert Step("x" * (room + 1)).worth_keeping()


def test_a_record_and_its_episode_are_the_same_thing():
    episode = Episode("a", "text", "task", {"step": 3, "tags": ["x"]})
    assert Episode.from_record(dataclasses.asdict(episode)) == episode
    assert (
        Episode.from_record({"episode_id": "a", "text": "text", "task_id": "task", "step": 3, "tags": ["x"]})
        == episode
    )
    assert Episode.from_record({"id": "a", "episode_id": "b", "text": ""}).fields == {"episode_id": "b"}
    assert len({episode, Episode("a", "text", "task")}) == 2  # hashable, though fields may not be


def test_the_advice_for_lone_surrogates_works():
    with pytest.raises(InvalidInputError, match="utf-16") as caught:
        Episode("a", "x\ud800y")
    assert "U+D800 at character 1" in str(caught.value)
    mended = "x\ud800y".encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert Episode("a", mended).text == "x\ufffdy"


def test_a_long_id_is_shortened_in_errors():
    with pytest.raises(InvalidInputError) as caught:
        Episode("i" * 10_000, "\ud800")
    assert len(str(caught.value)) < 500
