"""`sqe-fast search`: forms of questions and answers."""

from __future__ import annotations

import io
import json
import sys

import pytest
from oracles.small import WORDS

from sqe_fast.store import MemoryStore

METHODS = ["dense", "bm25", "hybrid", "paraphrases", "traces", "always", "random", "sqe", "oracle"]
QUESTIONS = [f"{a} and {b}" for a in WORDS[:4] for b in WORDS[4:7]]


def write_lines(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def lines_of(out):
    return [json.loads(line) for line in out.splitlines()]


@pytest.fixture
def questions(tmp_path):
    records = [
        {"query_id": f"q{n}", "query": text, "target_episode_id": f"e{n}"} for n, text in enumerate(QUESTIONS)
    ]
    return write_lines(tmp_path / "questions.jsonl", records)


@pytest.fixture
def generator(tmp_path):
    """The option of a recording that lacks the last question."""
    records = [
        {
            "query": text,
            "traces": [f"{text} step 1", f"{text} step 2"],
            "paraphrases": [f"the {text}", "socket"],
        }
        for text in QUESTIONS[:-1]
    ]
    return ["--generator", f"recorded:{write_lines(tmp_path / 'expansions.jsonl', records)}"]


def test_a_table_for_people(memory, run):
    code, out, err = run("search", memory, "retry limit")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == ["rank", "score", "id", "and", "text"]
    assert lines[1].split()[0] == "1"
    assert lines[1].split()[2] == "n2"
    assert "the retry limit is set in client.py" in out
    _, out, _ = run("search", memory, "yaml import")
    assert "[THOUGHT] the import of yaml fails in [bold]setup[/bold] [ACTION] bash" in " ".join(out.split())


def test_nothing_found_is_exit_code_1(memory, run):
    assert run("search", memory, "quokka") == (1, "nothing found\n\n", "")
    assert run("search", memory, "")[:2] == (1, "note: the question is empty\nnothing found\n\n")
    code, out, _ = run("search", memory, "quokka", "--json")
    assert code == 1
    assert lines_of(out)[0]["hits"] == []


def test_control_characters_do_not_reach_the_terminal(tmp_path, run):
    source = write_lines(tmp_path / "s.jsonl", [{"id": "a", "text": "red \x1b[31m alert\x07 \u202e end"}])
    run("index", tmp_path / "m", source, "--encoder", "none")
    _, out, _ = run("search", tmp_path / "m", "alert")
    assert "alert" in out
    assert not {"\x1b", "\x07", "\u202e"} & set(out)


def test_json_of_one_question(memory, run):
    code, out, _ = run("search", memory, "retry limit", "--json", "--texts", "--k", "1")
    (row,) = lines_of(out)
    assert code == 0
    assert row["query_id"] == "1"
    assert row["method"] == "BM25-Only"  # the store has no vectors
    assert [hit["id"] for hit in row["hits"]] == ["n2"]
    assert row["hits"][0]["text"].startswith("the retry limit")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_on_a_file(worded, questions, generator, run, method):
    code, out, err = run("search", worded, "--queries", questions, "--method", method, "--json", *generator)
    assert (code, err) == (0, "")
    rows = lines_of(out)
    assert [row["query_id"] for row in rows] == [f"q{n}" for n in range(12)]
    assert all(len(row["hits"]) == 5 for row in rows)
    if method in ("always", "traces", "paraphrases"):
        assert [row["expanded"] for row in rows] == [True] * 11 + [False]
        assert "no recorded expansion" in rows[11]["problem"]
        assert rows[0]["llm_calls"] > 0
        assert rows[0]["estimated_tokens"]


def test_defaults_of_the_method(worded, generator, run):
    (row,) = lines_of(run("search", worded, "cache", "--json")[1])
    assert row["method"] == "Hybrid-RRF"
    (row,) = lines_of(run("search", worded, QUESTIONS[0], "--json", *generator)[1])
    assert row["method"] == "Selective-QE"


def test_numbers_reach_the_method(worded, questions, generator, run):
    def rows(*options):
        code, out, err = run("search", worded, "--queries", questions, "--json", *generator, *options)
        assert (code, err) == (0, "")
        return lines_of(out)

    assert not any(row["gated"] for row in rows("--threshold", "-1"))
    assert all(row["gated"] for row in rows("--threshold", "2", "--chunk", "5"))
    assert all("agreement" in row["signals"] for row in rows("--signal", "agreement", "--threshold", "0.5"))
    one = rows("--method", "traces", "--traces", "1", "--k", "2", "--depth", "3", "--constant", "1")[0]
    assert one["lists"] == ["question dense", "trace 1 dense", "trace 1 bm25"]
    assert len(one["hits"]) == 2
    assert all(row["gated"] for row in rows("--method", "random", "--rate", "1", "--seed", "3"))


def test_a_cache_keeps_generations(worded, questions, generator, tmp_path, run):
    arguments = ["--queries", questions, "--method", "always", "--json", *generator]
    arguments += ["--cache", tmp_path / "cache.sqlite"]
    first = lines_of(run("search", worded, *arguments)[1])
    second = lines_of(run("search", worded, *arguments)[1])
    assert first[0]["prompt_tokens"] > 0
    assert second[0]["prompt_tokens"] == 0
    assert [row["hits"] for row in first] == [row["hits"] for row in second]


def test_a_trec_run(worded, questions, run):
    code, out, _ = run("search", worded, "--queries", questions, "--method", "dense", "--trec", "--k", "2")
    assert code == 0
    rows = [line.split(" ") for line in out.splitlines()]
    assert len(rows) == 24
    assert [row[0] for row in rows[:4]] == ["q0", "q0", "q1", "q1"]
    assert {row[1] for row in rows} == {"Q0"}
    assert [row[3] for row in rows[:2]] == ["1", "2"]
    assert float(rows[0][4]) >= float(rows[1][4])
    assert rows[0][5] == "Dense-Only"


def test_trec_refuses_an_id_with_white_space(tmp_path, run):
    with MemoryStore.create(tmp_path / "m") as store:
        store.add([{"id": "my note", "text": "retry"}])
        store.commit()
    code, _, err = run("search", tmp_path / "m", "retry", "--trec")
    assert code == 2
    assert "the id 'my note' holds white space" in err


def test_fusion_acceptance_and_joint_answers(worded, questions, generator, run):
    arguments = ["--queries", questions, "--method", "always", "--json", *generator]
    rows = lines_of(
        run("search", worded, *arguments, "--fusion", "zscore", "--accept", "top1 >= question")[1]
    )
    seen = 0
    for row in rows[:-1]:
        values = row["evidence"]["top1 >= question + 0"]
        low = [probe for probe, value in values.items() if value < 0]
        seen += len(low)
        assert list(row["refused"]) == low
        assert not any(name.startswith(probe) for name in row["lists"] for probe in low)
        assert row["weights"] == [1] * len(row["lists"])
        assert (row["llm_calls"], row["steps"]) == (2, 1)
    assert 0 < seen < 4 * 11
    joint = lines_of(run("search", worded, *arguments, "--joint")[1])
    assert [row["llm_calls"] for row in joint[:-1]] == [1] * 11
    apart = lines_of(run("search", worded, *arguments)[1])
    assert [row["hits"] for row in joint] == [row["hits"] for row in apart]
    _, out, _ = run("search", worded, QUESTIONS[0], "--method", "always", "--accept", "top1 >= 2", *generator)
    assert "note: trace 1 refused: top1" in out
    code, _, err = run("search", worded, QUESTIONS[0], "--method", "always", "--accept", "top1", *generator)
    assert code == 2
    assert "a rule must read as" in err


def test_parquet(worded, questions, generator, tmp_path, run):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "out.parquet"
    arguments = ["--queries", questions, "--parquet", path, "--chunk", "5"]
    assert run("search", worded, *arguments, *generator)[:2] == (0, "")
    rows = parquet.read_table(path).to_pylist()
    assert [row["query_id"] for row in rows] == [f"q{n}" for n in range(12)]
    assert rows[0]["method"] == "Selective-QE"
    assert len(rows[0]["ids"]) == len(rows[0]["scores"]) == 5
    assert isinstance(rows[0]["top1"], float)
    assert (rows[0]["refused"], rows[0]["evidence"]) == ("{}", "{}")
    questions.write_text(questions.read_text() + "{}\n")
    before = path.read_bytes()
    assert run("search", worded, *arguments, "--method", "dense")[0] == 3
    assert path.read_bytes() == before  # half an answer replaces nothing
    assert not [name for name in tmp_path.iterdir() if name.name.startswith(".")]


def test_plain_lines_and_a_pipe(memory, run, tmp_path, monkeypatch):
    path = tmp_path / "q.txt"
    path.write_text("\ufeffretry limit\n\n  yaml import \n", encoding="utf-8")
    rows = lines_of(run("search", memory, "--queries", path, "--json")[1])
    assert [(row["query_id"], row["question"]) for row in rows] == [
        ("1", "retry limit"),
        ("3", "yaml import"),
    ]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert lines_of(run("search", memory, "--queries", "-", "--json")[1]) == rows
    _, out, _ = run("search", memory, "--queries", path)
    assert "1: retry limit" in out
    assert "3: yaml import" in out


def test_other_names_of_question_and_id(memory, run, tmp_path):
    path = write_lines(tmp_path / "q", [{"_id": "7", "text": "retry limit"}, {"id": 8, "question": "yaml"}])
    rows = lines_of(run("search", memory, "--queries", path, "--json")[1])
    assert [row["query_id"] for row in rows] == ["7", "8"]


def test_no_questions(memory, run, tmp_path):
    (tmp_path / "empty").write_text("\n")
    assert run("search", memory, "--queries", tmp_path / "empty", "--json") == (1, "", "")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", ":2: not JSON"),
        (b"[1]", ":2: must be an object"),
        (b'{"q": "x"}', ":2: needs the question as a str under one of query, question, text"),
        (b'{"query": 7}', ":2: needs the question as a str"),
        (b'{"query": "x", "targets": [7]}', ":2: targets must be an id or a list of ids"),
        (b"\xff", ":2: not UTF-8"),
    ],
)
def test_broken_questions_are_named_by_line(memory, run, tmp_path, line, message):
    path = tmp_path / "q.jsonl"
    path.write_bytes(b'{"query": "retry"}\n' + line + b"\n")
    code, _, err = run("search", memory, "--queries", path, "--json")
    assert code == 3
    assert f"{path}{message}" in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give one QUESTION, or --queries FILE"),
        (["x", "--queries", "y"], "give one QUESTION, or --queries FILE"),
        (["x", "--json", "--trec"], "give one of --json, --trec and --parquet"),
        (["x", "--texts"], "--texts goes with --json"),
        (["x", "--k", "0"], "k must be from 1"),
        (["x", "--k", "two"], "'two' is not a valid int"),
        (["x", "--method", "foo"], "method must be one of dense (Dense-Only)"),
        (["x", "--method", "dense", "--threshold", "1"], "Dense-Only has no 'threshold'; it takes k"),
        (["x", "--method", "dense"], "Dense-Only needs vectors, and the store has none"),
        (["x", "--method", "sqe"], "sqe expands questions: give what does it as --generator"),
        (["x", "--method", "sqe+"], "sqe+ expands questions: give what does it as --generator"),
        (["x", "--method", "sqe+", "--accept", "lfit >= 2"], "signal must be one of top1, top1_z, bm25_top1"),
        (["x", "--method", "sqe+", "--accept", "lift > 2"], "a rule must read as 'top1 >= 0.6'"),
        (["x", "--method", "sqe+", "--rate", "1.5"], "rate must be a finite number from 0 to 1"),
        (["x", "--method", "hybrid+", "--accept", "lift >= 2"], "Hybrid-Plus has no 'accept'"),
        (["x", "--generator", "magic:x", "--method", "sqe"], "spec must be one of vllm:"),
        (["x", "--generator", "recorded:nofile", "--method", "sqe"], "cannot read the recorded expansions"),
        (["--queries", "nofile"], "cannot read the questions 'nofile': No such file"),
        (["x", "--nonsense"], "No such option"),
    ],
)
def test_mistakes_are_exit_code_2_and_one_line(memory, run, arguments, message):
    code, out, err = run("search", memory, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_the_oracle_needs_targets(worded, run, generator, tmp_path):
    path = tmp_path / "q.txt"
    path.write_text(QUESTIONS[0])
    code, _, err = run("search", worded, "--queries", path, "--method", "oracle", *generator)
    assert code == 2
    assert "--method oracle needs targets, and question '1' has none" in err
