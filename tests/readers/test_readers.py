"""Readers on the files that agents wrote, and on broken ones."""

from __future__ import annotations

import datetime
import decimal
import gzip
import json
import sys

import pytest

from sqe_fast.episode import Episode
from sqe_fast.errors import InvalidInputError, InvalidTypeError, MissingExtraError, RecordError
from sqe_fast.readers import read
from sqe_fast.readers.names import Names


def own(n):
    return {"id": f"e{n}", "text": f"text {n}", "task_id": "t", "step": n}


def write(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def raw(shared_data):
    return shared_data / "agent_memory" / "raw"


@pytest.fixture(scope="module")
def steps(shared_data):
    with gzip.open(shared_data / "agent_memory" / "steps.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.fixture(scope="module")
def trace_texts(shared_data):
    return {episode.text for episode in read(shared_data / "agent_memory" / "traces.jsonl.gz")}


# -- real files ------------------------------------------------------------------------------------


def test_traces_are_read_whole(shared_data):
    episodes = list(read(shared_data / "agent_memory" / "traces.jsonl.gz"))
    assert len(episodes) == len({episode.id for episode in episodes}) == 11_180
    first = episodes[0]
    assert first.id == "ep_000000"
    assert first.task_id == "6e44b9__sweagenttestrepo-1c2844"
    assert (first.fields["step"], first.fields["source"]) == (0, "sweagent-repo")


@pytest.mark.parametrize("dialect", ["function_calling", "thought_action"])
def test_a_swe_agent_trajectory_gives_the_texts_of_the_trace_set(raw, trace_texts, dialect):
    episodes = list(read(raw / f"sweagent_marshmallow_{dialect}.traj"))
    assert len(episodes) == 11
    assert {episode.text for episode in episodes} <= trace_texts
    assert [episode.id for episode in episodes] == [f"sweagent_marshmallow_{dialect}/{n}" for n in range(11)]
    assert {episode.task_id for episode in episodes} == {"marshmallow-code__marshmallow-1867"}


def test_a_swe_agent_history_without_a_trajectory_is_read(raw):
    episodes = list(read(raw / "sweagent_function_calling_simple.traj"))
    assert [episode.fields["step"] for episode in episodes] == [0, 1, 2, 3, 4]
    actions = [
        line for episode in episodes for line in episode.text.split("\n") if line.startswith("[ACTION]")
    ]
    assert actions[0] == "[ACTION] find_file: missing_colon.py"
    assert actions[1] == '[ACTION] open: "tests/missing_colon.py"'
    assert actions[3].startswith("[ACTION] bash: python tests/missing")
    assert actions[4] == "[ACTION] submit: "
    assert "Found 1 matches" in episodes[0].text


def test_mini_swe_agent_trajectories_are_read(raw):
    episodes = list(read(raw / "minisweagent_github_issue.traj.json"))
    assert [episode.id for episode in episodes] == [f"minisweagent_github_issue/{n}" for n in range(10)]
    assert episodes[1].text.startswith(
        "[THOUGHT] I need to find the correct path to the file. Let me check the current "
        "directory structure:\n"
        "[ACTION] bash: ls -la\n[OBSERVATION] <returncode>0</returncode>\n<output>\ntotal 44\n"
    )
    (only,) = read(raw / "minisweagent_local.traj.json")  # the other step has 100 characters or fewer
    assert only.text.endswith(
        "[ACTION] bash: echo 'hello world'\n[OBSERVATION] <returncode>0</returncode>\n<output>\nhello "
        "world\n</output>"
    )


def test_a_swe_smith_row_follows_the_protocol(raw, steps):
    episodes = list(read(raw / "swesmith_rows.jsonl.gz"))
    known = {
        one["step"]: one for one in steps if one["traj_id"].endswith("pydantic__pydantic.acb0f10f.pr_8316")
    }
    assert len(episodes) == len(known) == 22
    for episode in episodes:
        one = known[episode.fields["step"]]
        head, _, observation = episode.text.partition("\n[OBSERVATION] ")
        # The protocol takes the first call's `command`, or all arguments; the steps took the whole action.
        thought, _, action = head.rpartition("[ACTION] ")
        tool, _, command = action.partition(": ")
        assert thought == (f"[THOUGHT] {one['thought']}\n" if one["thought"] else "")
        assert tool == one["tool"]
        assert one["command"].startswith(command.rstrip()) or (tool, command) == ("submit", "{}")
        if one["observation"]:  # the steps leave out what the tool says of an empty output
            shown = observation.removeprefix("OBSERVATION:\n").replace("\r\n", "\n")
            assert one["observation"].startswith(shown.partition("\n... [truncated]")[0].strip())
        else:
            assert observation == "Your command ran successfully and did not produce any output."
    assert episodes[0].id == "pydantic__pydantic.acb0f10f.pr_8316/0"
    assert episodes[0].task_id == "pydantic__pydantic.acb0f10f.pr_8316"


def test_a_folder_is_read_in_sorted_order(raw):
    episodes = list(read(raw))
    assert [episode.id for episode in episodes] == [
        episode.id for file in sorted(raw.iterdir()) for episode in read(file)
    ]
    assert len({episode.id for episode in episodes}) == len(episodes) == 60


@pytest.mark.parametrize(("name", "count"), [("scifact", 5183), ("cosqa", 6267)])
def test_a_beir_folder_gives_its_corpus_and_not_its_questions(shared_data, name, count):
    folder = shared_data / "ir" / name
    with (folder / "corpus.jsonl").open(encoding="utf-8") as file:
        first = json.loads(file.readline())
    episodes = list(read(folder))
    assert len(episodes) == count
    assert episodes[0].id == first["_id"]
    assert episodes[0].text == f"{first.get('title') or ''} {first['text']}".strip()


# -- forms and containers --------------------------------------------------------------------------


def test_own_records(tmp_path):
    path = write(
        tmp_path / "a.jsonl", own(1), {"id": 7, "text": "", "task_id": 3}, {"episode_id": "x", "text": "y"}
    )
    assert list(read(path)) == [
        Episode("e1", "text 1", "t", {"step": 1}),
        Episode("7", "", "3"),
        Episode("x", "y"),
    ]
    assert list(read(str(path))) == list(read(path))


def test_a_title_and_other_keys_of_a_beir_document(tmp_path):
    path = write(
        tmp_path / "corpus.jsonl",
        {"_id": 4, "title": "T", "text": "body", "metadata": {"url": "u"}},
        {"_id": "5", "title": "", "text": "body", "metadata": {}},
        {"_id": "6", "text": ""},
    )
    assert list(read(path)) == [
        Episode("4", "T body", None, {"title": "T", "metadata": {"url": "u"}}),
        Episode("5", "body"),
        Episode("6", ""),
    ]


LONG = "x" * 100


@pytest.mark.parametrize("wrap", ["list", "object"])
@pytest.mark.parametrize("later", [False, True])
def test_mini_swe_agent_in_all_its_versions(tmp_path, wrap, later):
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    block = {"role": "assistant", "content": f"THOUGHT: look {LONG}\n\n```bash\nls\n```"}
    calls = {"role": "assistant", "content": f"look {LONG}", "tool_calls": [call]}
    beside = {
        "role": "assistant",
        "content": None,
        "extra": {"actions": [{"command": "ls"}, {"command": "pwd"}]},
    }
    turns = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "task"},
        *(
            [calls, {"role": "tool", "content": f"{LONG}\r\nout"}]
            if later
            else [block, {"role": "user", "content": LONG}]
        ),
        beside,
        {"role": "tool", "content": [{"type": "text", "text": "one " + LONG}]},
        {"role": "tool", "content": "two"},
        {"role": "assistant", "content": "no command, so no step " + LONG},
        {"role": "exit", "content": "done"},
    ]
    whole = {
        "trajectory_format": "mini-swe-agent-1.1",
        "info": {},
        "messages": turns,
        "instance_id": "django-1",
    }
    path = tmp_path / "django-1.traj.json"
    path.write_text(json.dumps(turns if wrap == "list" else whole, indent=2))
    first, second = read(path)
    assert (first.id, first.task_id) == ("django-1/0", "django-1")
    assert first.text == (
        f"[THOUGHT] look {LONG}\n[ACTION] bash: ls\n[OBSERVATION] {LONG}\nout"
        if later
        else f"[THOUGHT] THOUGHT: look {LONG}\n[ACTION] bash: ls\n[OBSERVATION] {LONG}"
    )
    assert second.text == f"[ACTION] bash: ls\npwd\n[OBSERVATION] one {LONG}\ntwo"


def test_swe_agent_settings_as_json_text_and_runs_of_one_task(tmp_path):
    entry = {"action": "str_replace_editor view /a", "observation": LONG, "thought": "look"}
    settings = json.dumps({"problem_statement": {"id": "repo-1"}})
    for run in ("run1", "run2"):
        folder = tmp_path / run / "repo-1"
        folder.mkdir(parents=True)
        (folder / "repo-1.traj").write_text(json.dumps({"trajectory": [entry], "replay_config": settings}))
    first, second = read(tmp_path)
    assert (first.id, second.id) == ("run1/repo-1/repo-1/0", "run2/repo-1/repo-1/0")
    assert first.task_id == second.task_id == "repo-1"
    assert first.text == f"[THOUGHT] look\n[ACTION] str_replace_editor: view /a\n[OBSERVATION] {LONG}"


def smith(instance, traj=None, **call):
    turns = [
        {"role": "user", "content": "task"},
        {
            "role": "assistant",
            "content": "c",
            "thought": "t" * 400,
            "tool_calls": [
                {"function": {"name": call.get("tool", "bash"), "arguments": call.get("arguments", "{}")}}
            ],
        },
        {"role": "tool", "content": [{"type": "text", "text": "a\r\n"}, {"type": "text", "text": "b"}]},
    ]
    row = {"instance_id": instance, "messages": json.dumps(turns) if call.get("as_text") else turns}
    return row | ({"traj_id": traj, "resolved": True, "model": "m"} if traj else {})


@pytest.mark.parametrize("as_text", [False, True])
def test_swe_smith_commands(tmp_path, as_text):
    cases = [
        ('{"command": "view", "path": "/a"}', "view"),
        ('{"path": "/a", "x": 1}', "/a"),
        ({"path": "/a"}, "/a"),
        ('{"x": 1}', '{"x": 1}'),
        ({"x": "é"}, '{"x": "é"}'),
        ("not json", "not json"),
        ('{"command": ["a", 1]}', '["a", 1]'),
        (None, ""),
    ]
    path = write(
        tmp_path / "rows.jsonl", *(smith("i", arguments=given, as_text=as_text) for given, _ in cases)
    )
    episodes = list(read(path))
    assert [episode.text for episode in episodes] == [
        f"[THOUGHT] {'t' * 300}\n[ACTION] bash: {command}\n[OBSERVATION] a\r\n b" for _, command in cases
    ]
    assert [episode.id for episode in episodes] == ["i/0", *(f"i#{n}/0" for n in range(2, 9))]


def test_swe_smith_names_trajectories_by_their_own_id(tmp_path):
    first, second = read(write(tmp_path / "rows.jsonl", smith("i", "i.run1"), smith("i", "i.run2")))
    assert (first.id, second.id, first.task_id) == ("i.run1/0", "i.run2/0", "i")
    assert first.fields == {
        "traj_id": "i.run1",
        "step": 0,
        "source": "swe-smith",
        "resolved": True,
        "model": "m",
    }


def test_names_stay_unique_beside_names_that_look_numbered():
    names = Names()
    given = [names.unique(name) for name in ("a", "a#2", "a", "a", "a#2", "a#2", "a")]
    assert given[:3] == ["a", "a#2", "a#3"]
    assert len(set(given)) == len(given)


@pytest.mark.parametrize("text", ["\ufeff{}\n", "\n\n  {}\n\n", "{}", "{}\r\n"])
@pytest.mark.parametrize("packed", [False, True])
def test_json_lines_with_marks_blank_lines_and_line_ends(tmp_path, text, packed):
    data = text.replace("{}", json.dumps(own(1), ensure_ascii=False)).encode()
    path = tmp_path / "odd name.bin"  # the content counts, not the name
    path.write_bytes(gzip.compress(data) if packed else data)
    assert [episode.id for episode in read(path)] == ["e1"]


@pytest.mark.parametrize("indent", [None, 1])
def test_a_json_list_of_records(tmp_path, indent):
    (tmp_path / "a.json").write_text(json.dumps([own(1), own(2), {"id": "x"}], indent=indent))
    reading = read(tmp_path / "a.json", skip_bad=True)
    assert [episode.id for episode in reading] == ["e1", "e2"]
    assert reading.skipped == 1
    (tmp_path / "b.json").write_text("[\n" + ",\n".join(json.dumps(own(n)) for n in range(3)) + "\n]")
    assert [episode.id for episode in read(tmp_path / "b.json")] == ["e0", "e1", "e2"]


def test_a_trajectory_on_one_line_and_many_in_one_file(tmp_path):
    trajectory = {"trajectory": [{"action": "ls", "observation": LONG, "thought": "t"}]}
    write(tmp_path / "one.traj", trajectory)
    write(tmp_path / "two.jsonl", trajectory, trajectory)
    assert [episode.id for episode in read(tmp_path)] == ["one/0", "two/0", "two#2/0"]


def test_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    import pyarrow.parquet

    rows = [
        {**own(n), "at": datetime.datetime(2026, 1, n + 1), "cost": decimal.Decimal("1.50")}
        for n in range(3000 % 27)
    ]
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "own.parquet")
    pyarrow.parquet.write_table(
        pa.Table.from_pylist([smith("i", as_text=True)] * 2), tmp_path / "smith.parquet"
    )
    episodes = list(read(tmp_path / "own.parquet"))
    assert len(episodes) == 3000 % 27
    assert episodes[0] == Episode(
        "e0", "text 0", "t", {"step": 0, "at": "2026-01-01T00:00:00", "cost": "1.50"}
    )
    assert [episode.id for episode in read(tmp_path / "smith.parquet")] == ["i/0", "i#2/0"]
    bad = pa.Table.from_pylist([own(1), {"id": None, "text": "x"}, own(2)])
    pyarrow.parquet.write_table(bad, tmp_path / "bad.parquet")
    with pytest.raises(RecordError, match=r"bad.parquet, row 2: id must be a str; got NoneType"):
        list(read(tmp_path / "bad.parquet"))
    data = (tmp_path / "own.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(data[:-20])
    with pytest.raises(RecordError, match=r"cut.parquet, row 1: not Parquet that can be read"):
        list(read(tmp_path / "cut.parquet"))


def test_a_data_set_streamed_through_datasets(tmp_path, monkeypatch):
    pytest.importorskip("datasets", reason="the extra datasets is not installed")
    pa = pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    import pyarrow.parquet

    from sqe_fast.readers import hub

    # The library reads a folder as it reads a repository of the hub: files named by their split.
    folder = tmp_path / "owner" / "rows"
    (folder / "data").mkdir(parents=True)
    pyarrow.parquet.write_table(
        pa.Table.from_pylist([smith("i", "r1", as_text=True), smith("i", "r2", as_text=True)]),
        folder / "data" / "tool-00000-of-00001.parquet",
    )
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    found = list(hub.records(str(folder), "tool"))
    assert [(number, row["traj_id"]) for number, row in found] == [(1, "r1"), (2, "r2")]
    with pytest.raises(InvalidInputError, match="cannot be had from the hub"):
        list(hub.records(str(folder), "no-such-split"))


def test_hub_rows_become_episodes(monkeypatch):
    from sqe_fast.readers import hub

    monkeypatch.setattr(
        hub, "records", lambda name, split: iter([(1, smith(f"{name}:{split}")), (2, {"no": 1})])
    )
    reading = read("owner/rows", skip_bad=True)
    assert [episode.id for episode in reading] == ["owner/rows:tool/0"]
    assert reading.skipped == 1
    with pytest.raises(
        RecordError, match="owner/rows, row 2: a row of SWE-smith-trajectories needs messages"
    ):
        list(read("owner/rows", split="xml"))


# -- broken input ----------------------------------------------------------------------------------


@pytest.mark.parametrize("position", [0, 1, 25])
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"not json", r"not JSON: Expecting value \(column 1\)"),
        (b'{"id": "cut', "not JSON: Unterminated string"),
        (b"\xff\xfe", r"not UTF-8 text \(byte 0\)"),
        (b"[1, 2]", "not a record of a known form|an episode must be"),
        (b"null", "not a record of a known form|an episode must be"),
        (b'{"id": "x"}', ".*text is missing|not a record of a known form"),
        (b'{"id": "x", "text": 5}', "text of episode 'x' must be a str; got int 5"),
        (b'{"id": "", "text": "t"}', "id must not be empty"),
        (b'{"id": "x", "text": "\\ud800"}', ".*lone surrogate"),
        (b"[" * 100_000, "not JSON that can be read|not JSON"),
        (b'{"history": [1]}', "history must be a list of objects"),
        (b'{"instance_id": "i", "messages": "nope"}', "messages must be a list of objects"),
        (b'{"instance_id": "i", "messages": [{"role": "assistant", "content": 5}]}', "content of a message"),
    ],
    ids=range(13),
)
def test_a_broken_line_is_named_or_skipped(tmp_path, position, line, message):
    good = [json.dumps(own(n)).encode() for n in range(30)]
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\n".join([*good[:position], line, *good[position:]]) + b"\n")
    if position == 0 and line.startswith(b"["):
        return  # what opens with a bracket is a JSON list, see below
    with pytest.raises(RecordError, match=rf"a\.jsonl, line {position + 1}: ({message})"):
        list(read(path))
    seen = []
    reading = read(path, skip_bad=True, on_bad=seen.append)
    assert [episode.id for episode in reading] == [f"e{n}" for n in range(30)]
    assert reading.skipped == len(seen) == 1
    assert f"line {position + 1}" in str(seen[0])


def test_a_broken_document_is_named(tmp_path, raw):
    data = (raw / "sweagent_marshmallow_thought_action.traj").read_bytes()
    (tmp_path / "cut.traj").write_bytes(data[:-5000])
    with pytest.raises(RecordError, match=r"cut\.traj: not JSON: .*\(line \d+, column \d+\)"):
        list(read(tmp_path / "cut.traj"))
    (tmp_path / "other.json").write_text(json.dumps({"some": {"other": "thing"}}, indent=1))
    with pytest.raises(RecordError, match=r"other\.json: not a record of a known form.*keys 'some'"):
        list(read(tmp_path / "other.json"))
    (tmp_path / "good.traj").write_bytes(data)
    reading = read(tmp_path, skip_bad=True)
    assert len(list(reading)) == 11
    assert reading.skipped == 2


def test_a_packed_file_that_ends_early_is_named(tmp_path):
    data = gzip.compress("".join(json.dumps(own(n)) + "\n" for n in range(5000)).encode())
    (tmp_path / "a.jsonl.gz").write_bytes(data[: len(data) // 2])
    with pytest.raises(RecordError, match=r"a\.jsonl\.gz, line \d+: cannot be read further"):
        list(read(tmp_path / "a.jsonl.gz"))
    reading = read(tmp_path / "a.jsonl.gz", skip_bad=True)
    assert 1000 < len(list(reading)) < 5000  # what came before the end is kept
    assert reading.skipped == 1
    (tmp_path / "b.gz").write_bytes(b"\x1f\x8bnot gzip")
    with pytest.raises(RecordError, match=r"b\.gz, line 1: cannot be read further"):
        list(read(tmp_path / "b.gz"))


@pytest.mark.parametrize("content", [b"", b"\n \n", gzip.compress(b"", mtime=0)])
def test_an_empty_file_is_named(tmp_path, content):
    (tmp_path / "a.jsonl").write_bytes(content)
    with pytest.raises(RecordError, match=r"a\.jsonl: the file is empty"):
        list(read(tmp_path / "a.jsonl"))


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(InvalidInputError, match="there is no file or folder 'nowhere'"):
        read("nowhere")
    with pytest.raises(InvalidInputError, match=r"there is no file or folder 'data/steps\.jsonl\.gz'"):
        read("data/steps.jsonl.gz")
    with pytest.raises(InvalidInputError, match="holds no file with a suffix of"):
        list(read(tmp_path))
    for bad in (None, 3, b"x"):
        with pytest.raises(InvalidTypeError, match="path_or_name must be"):
            read(bad)


def test_files_of_other_kinds_and_hidden_ones_are_passed_over(tmp_path):
    write(tmp_path / "a.jsonl", own(1))
    (tmp_path / "README.md").write_text("notes")
    (tmp_path / "a.jsonl.bak").write_text("notes")
    (tmp_path / ".hidden").mkdir()
    write(tmp_path / ".hidden" / "b.jsonl", own(2))
    assert [episode.id for episode in read(tmp_path)] == ["e1"]


def test_a_missing_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "datasets", None)
    (tmp_path / "a.parquet").write_bytes(b"PAR1....PAR1")
    with pytest.raises(MissingExtraError, match=r"sqe_fast\[parquet\]"):
        list(read(tmp_path / "a.parquet"))
    with pytest.raises(MissingExtraError, match=r"no file or folder 'owner/rows'.*sqe_fast\[datasets\]"):
        list(read("owner/rows"))


def test_reading_is_streamed(tmp_path):
    # A pipe has no end while it is open for writing: a reader that gathers lines first would hang.
    path = write(tmp_path / "a.jsonl", *(own(n) for n in range(50)))
    with path.open("ab") as file:
        file.write(b"broken\n")
    reading = read(path)
    assert [next(reading).id for _ in range(50)][-1] == "e49"
    with pytest.raises(RecordError, match="line 51"):
        next(reading)


def test_errors_of_code_are_not_taken_for_broken_records(tmp_path):
    def stop(error):
        raise KeyError("the callback's own")

    write(tmp_path / "a.jsonl", {"id": "x"}, own(1))
    with pytest.raises(KeyError, match="the callback's own"):
        list(read(tmp_path / "a.jsonl", skip_bad=True, on_bad=stop))
