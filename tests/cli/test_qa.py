"""`sqe-fast qa run` and `report`: a recorded policy over real and small passages, stopped and gone on."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from sqe_fast.agent.qa.report import values
from sqe_fast.cli import main
from sqe_fast.store import MemoryStore

PASSAGES = [
    {"_id": "p1", "title": "Emma", "text": "Emma is a novel by Jane Austen, published in December 1815."},
    {"_id": "p2", "title": "Jane Austen", "text": "Jane Austen was born in Steventon."},
    {"_id": "p3", "title": "Steventon", "text": "Steventon is a village in Hampshire."},
]
QUESTIONS = [
    {"id": "q1", "question": "When was Emma published?", "golden_answers": ["1815"]},
    {
        "id": "q2",
        "question": "Where was the author of Emma born?",
        "golden_answers": ["Steventon", "Hampshire"],
    },
    {"id": "q3", "question": "Who knows?", "golden_answers": ["nobody"]},
]
TURNS = [
    {
        "id": "nq/q1",
        "turns": [
            "<think>?</think><search>Emma published</search>",
            "<think>so</think><answer>1815</answer>",
        ],
    },
    {
        "question": QUESTIONS[1]["question"],
        "turns": [
            "<search>author of Emma ## Jane Austen born ## Steventon</search>",
            "I am not sure.",
            "Hampshire</answer>",
        ],
    },
]


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.fixture
def given(tmp_path):
    """The options of a run over small passages: `--questions` and so on, as files of a folder."""
    (tmp_path / "wiki").mkdir()
    write(tmp_path / "wiki" / "corpus.jsonl", PASSAGES)
    return {
        "--questions": write(tmp_path / "nq.jsonl", QUESTIONS),
        "--policy": f"recorded:{write(tmp_path / 'turns.jsonl', TURNS)}",
        "--retriever": str(tmp_path / "wiki"),
    }


def options(given, **changes):
    named = {f"--{name.replace('_', '-')}": value for name, value in changes.items()}
    return [
        word for name, value in (given | named).items() if value is not None for word in (name, str(value))
    ]


def rows_of(folder):
    return [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]


def test_a_run_and_its_report(given, tmp_path, capsys):
    out = tmp_path / "runs" / "parallel"
    assert main(["qa", "run", str(out), *options(given, system="parallelsearch")]) == 0
    told = capsys.readouterr()
    assert told.out == f"3 answered now, 3 in {out}: exact match 66.7%\n"
    assert told.err.endswith(
        "1 failed (--retry-failed asks them again), the first: nothing is recorded for 'nq/q3'\n"
    )
    one, two, three = rows_of(out)
    assert (one["answer"], one["em"], one["finish"], one["valid"]) == ("1815", True, "answer", True)
    assert one["searches"][0]["hits"][0][0]["id"] == "p1"
    assert (two["answer"], two["em"], two["finish"]) == ("Hampshire", True, "forced")
    assert [search["queries"] for search in two["searches"]] == [
        ["author of Emma", "Jane Austen born", "Steventon"]
    ]
    assert two["answer_recall"] is True
    assert three["finish"] == "failed"

    assert main(["qa", "run", str(out), *options(given, system="parallelsearch")]) == 0
    assert capsys.readouterr().out.startswith("0 answered now, 3 in")
    assert (
        main(["qa", "run", str(tmp_path / "runs" / "one"), *options(given, system="search-r1", limit=2)]) == 0
    )
    capsys.readouterr()

    assert main(["qa", "report", str(tmp_path / "runs"), "--baseline", "Search-R1"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^Search-R1 +100\.0 +100\.0$", shown, re.MULTILINE)
    assert re.search(r"^ParallelSearch +66\.7 +66\.7$", shown, re.MULTILINE)
    assert "Against Search-R1" in shown
    assert "Questions: NQ 2 / 3 of 3,610." in shown
    assert shown.index("Search-R1 ") < shown.index("ParallelSearch ")  # as the presets, not as the folders
    assert "by system and set" not in shown
    assert main(["qa", "report", str(out), "--out", str(tmp_path / "tables")]) == 0
    with (tmp_path / "tables" / "em.csv").open() as file:
        assert list(csv.reader(file)) == [["system", "nq", "average"], ["ParallelSearch", *[repr(2 / 3)] * 2]]
    assert "## Exact match" in (tmp_path / "tables" / "tables.md").read_text()
    assert r"\label{tab:costs}" in (tmp_path / "tables" / "costs.tex").read_text()


def test_a_changed_setting_is_told(given, tmp_path, capsys):
    out = str(tmp_path / "run")
    assert main(["qa", "run", out, *options(given, system="search-r1")]) == 0
    assert main(["qa", "run", out, *options(given, system="search-r1", k=1, turn_tokens=9)]) == 2
    assert "budgets.turn was null, now 9; k was 3, now 1" in capsys.readouterr().err


def test_a_store_is_searched_by_any_method(given, tmp_path, capsys):
    with MemoryStore.create(tmp_path / "memory") as store:
        store.add(
            {"id": row["_id"], "text": row["text"], "fields": {"title": row["title"]}} for row in PASSAGES
        )
        store.commit()
    out = tmp_path / "run"
    settings = {"system": "search-r1", "retriever": tmp_path / "memory"}
    assert main(["qa", "run", str(out), *options(given, **settings)]) == 0
    pinned = json.loads((out / "manifest.json").read_text())["settings"]["retriever"]
    assert pinned == {"kind": "store", "method": "bm25", "passages": 3, "encoder": None}
    assert rows_of(out)[0]["searches"][0]["hits"][0][0]["title"] == "Emma"
    assert main(["qa", "run", str(out) + "2", *options(given, **settings, encoder="minilm")]) == 2
    assert "a store has its own" in capsys.readouterr().err


def test_squeezing_goes_through_its_own_generator(given, tmp_path):
    squeezed = [{"question": "Emma published", "turns": ["It came out in 1815."]}]
    compressor = f"recorded:{write(tmp_path / 'squeezed.jsonl', squeezed)}"
    out = tmp_path / "run"
    assert main(["qa", "run", str(out), *options(given, system="expandsearch", compressor=compressor)]) == 0
    one, two, _ = rows_of(out)
    assert one["searches"][0]["squeezed"] is True
    assert one["compressor"]["calls"] == 1
    assert "It came out in 1815." in one["segments"][2][1]
    assert two["searches"][0]["squeezed"] is False  # not recorded: the passages are shown, and it is told
    assert "compressor failed (nothing is recorded" in two["searches"][0]["problem"]
    assert "fallback: raw" in two["searches"][0]["problem"]


@pytest.mark.parametrize("fallback", ["raw", "truncated", "drop"])
@pytest.mark.parametrize("silent", [True, False])
def test_failed_squeezes_are_counted_and_told(given, tmp_path, capsys, fallback, silent):
    """Whether the compressor was never reached (no call counts) or said nothing (one does)."""
    asked = "author of Emma\nJane Austen born\nSteventon"
    squeezed = [{"question": "Emma published", "turns": ["In 1815."]}]
    squeezed += [{"question": asked, "turns": [""]}] if silent else []
    compressor = f"recorded:{write(tmp_path / 'squeezed.jsonl', squeezed)}"
    settings = {"system": "expandsearch", "compressor": compressor, "fallback": fallback}
    out = tmp_path / "run"
    assert main(["qa", "run", str(out), *options(given, **settings)]) == 0
    told = f"the compressor failed on 1 of 2 observations; shown instead: {fallback}"
    assert told in capsys.readouterr().err
    rows = rows_of(out)
    assert [turn["fallback"] for row in rows for turn in row["searches"]] == [None, fallback]
    assert rows[1]["compressor"]["calls"] == silent
    assert values(rows, "squeezes_failed").tolist() == [0, 1, 0]
    assert main(["qa", "report", str(out)]) == 0
    assert f"ExpandSearch: {told}." in " ".join(capsys.readouterr().out.split())
    page = tmp_path / "page.html"
    assert main(["qa", "report", str(out), "--html", str(page)]) == 0
    assert f"fallback: {fallback}" in page.read_text()


def test_a_run_of_failures_alone_is_a_failure(given, tmp_path, capsys):
    nothing = f"recorded:{write(tmp_path / 'other.jsonl', [{'id': 'x', 'turns': []}])}"
    out = tmp_path / "run"
    assert main(["qa", "run", str(out), *options(given, system="search-r1", policy=nothing)]) == 3
    assert "3 failed (--retry-failed asks them again), the first: nothing" in capsys.readouterr().err
    assert [row["finish"] for row in rows_of(out)] == ["failed"] * 3
    assert main(["qa", "run", str(out), *options(given, system="search-r1", policy=nothing)]) == 3


def test_prompts_and_dialects_can_be_those_of_a_trained_model(given, tmp_path):
    call = '<tool_call>{"name": "search", "arguments": {"query_list": ["Emma", "Austen"]}}</tool_call>'
    turns = [{"id": "nq/q1", "turns": [f"<think>?</think>{call}", "<think>!</think><answer>1815</answer>"]}]
    template = tmp_path / "prompt.txt"
    template.write_text("Use your tool. {question}")
    settings = {
        "system": "search-r1",
        "policy": f"recorded:{write(tmp_path / 'called.jsonl', turns)}",
        "dialect": "tools",
        "queries": 2,
        "template": template,
        "limit": 1,
    }
    assert main(["qa", "run", str(tmp_path / "run"), *options(given, **settings)]) == 0
    (row,) = rows_of(tmp_path / "run")
    assert row["segments"][0][1] == "Use your tool. When was Emma published?"
    assert row["searches"][0]["queries"] == ["Emma", "Austen"]
    assert (row["answer"], row["valid"]) == ("1815", True)
    pinned = json.loads((tmp_path / "run" / "manifest.json").read_text())["settings"]
    assert (pinned["dialect"], pinned["prompt"]) == ("tools", "Use your tool. {question}")


def test_models_stand_in_for_a_search_engine(given, tmp_path):
    said = [{"question": "Emma published", "turns": ["1. Emma came out in 1815.\n2. It is a novel."]}]
    written = f"recorded:{write(tmp_path / 'written.jsonl', said)}"
    out = tmp_path / "zero"
    simulated = {"system": "zerosearch", "retriever": f"simulated:{written}", "limit": 1}
    assert main(["qa", "run", str(out), *options(given, **simulated)]) == 0
    (row,) = rows_of(out)
    assert len(row["searches"][0]["hits"][0]) == 2
    assert "wrote 2 of 5" in row["searches"][0]["problem"]
    assert row["search"]["calls"] == 1
    assert row["answer_recall"] is True

    routed = [{"id": "nq/q1", "turns": ["<search>big: Emma published</search>", "<answer>1815</answer>"]}]
    pool = tmp_path / "pool.json"
    pool.write_text(json.dumps({"big": written}))
    settings = {"system": "router-r1", "retriever": f"pool:{pool}", "limit": 1}
    policy = f"recorded:{write(tmp_path / 'routed.jsonl', routed)}"
    assert main(["qa", "run", str(tmp_path / "router"), *options(given, policy=policy, **settings)]) == 0
    (row,) = rows_of(tmp_path / "router")
    assert row["searches"][0]["hits"][0][0]["title"] == "big"
    assert row["em"] is True


def test_a_server_is_asked_over_http(given, tmp_path):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            documents = [{"document": {"contents": '"Emma"\nIt came out in 1815.'}, "score": 1.5}]
            body = json.dumps({"result": [documents[: asked["topk"]] for _ in asked["queries"]]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        settings = {"system": "search-r1", "retriever": url, "limit": 1}
        assert main(["qa", "run", str(tmp_path / "run"), *options(given, **settings)]) == 0
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    (row,) = rows_of(tmp_path / "run")
    assert (row["searches"][0]["hits"][0][0]["title"], row["answer_recall"]) == ("Emma", True)


def test_rules_search_without_a_model(given, tmp_path, capsys):
    out = tmp_path / "run"
    assert main(["qa", "run", str(out), *options(given, system="parallelsearch", policy="rules")]) == 0
    one, two, three = rows_of(out)
    assert one["searches"][0]["queries"] == ["When was Emma published?", "Emma", "emma published"]
    assert {row["finish"] for row in (one, two, three)} == {"none"}
    assert [row["answer_recall"] for row in (one, two, three)] == [True, True, False]
    assert one["policy"]["calls"] == 0
    assert main(["qa", "run", str(out), *options(given, system="expandsearch", policy="rules")]) == 2
    assert "give a model as --compressor" in capsys.readouterr().err
    assert main(["qa", "run", str(out), *options(given, system="r1", policy="rules", retriever=None)]) == 2
    assert "rules only searches, and R1 does not" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"system": "search-r9"}, "--system: preset must be one of r1, search-r1"),
        ({"system": "search-r1", "queries": 3}, "the dialect 'single' writes one query a search"),
        ({"system": "search-r1", "response_tokens": 100}, "--answer-tokens, 128, are a part of --response"),
        ({"system": "search-r1", "method": "sqe"}, "--method of passages must be one of bm25, dense, hybrid"),
        ({"system": "search-r1", "method": "dense"}, "--method dense needs an --encoder"),
        ({"system": "search-r1", "template": "nowhere"}, "'nowhere' does not exist"),
        ({"system": "search-r1", "retriever": None}, "Search-R1 searches: give --retriever"),
        ({"system": "r1"}, "R1 does not search: leave out --retriever"),
        ({"system": "r1", "retriever": None, "k": 2}, "R1 does not search: leave out --k"),
        ({"system": "search-r1", "compressor": "vllm:x"}, "does not squeeze: leave out --compressor"),
        ({"system": "search-r1", "retriever": "nowhere"}, "--retriever: there is no 'nowhere'"),
        (
            {"system": "search-r1", "retriever": "http://x", "method": "bm25"},
            "are for a store or for passages",
        ),
        ({"system": "search-r1", "retriever": "pool:nowhere"}, "cannot read 'nowhere'"),
        ({"system": "search-r1", "policy": "recorded:nowhere"}, "there is no recording 'nowhere'"),
        ({"system": "search-r1", "policy": "magic"}, "spec must be one of"),
        ({"system": "search-r1", "questions": "nowhere"}, "no question file or folder 'nowhere'"),
    ],
)
def test_mistakes_are_told_before_anything_is_made(given, tmp_path, capsys, changes, message):
    assert main(["qa", "run", str(tmp_path / "run"), *options(given, **changes)]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("text", "message"), [("", "empty"), ("{no", "JSON"), ("[1]", "must be an object")])
def test_a_broken_recording_says_what_is_wrong_with_it(given, tmp_path, capsys, text, message):
    path = tmp_path / "broken.jsonl"
    path.write_text(text)
    asked = options(given, system="search-r1", policy=f"recorded:{path}")
    assert main(["qa", "run", str(tmp_path / "run"), *asked]) == 3
    told = capsys.readouterr().err
    assert message in told
    assert str(path) in told


def test_mistakes_of_a_report(given, tmp_path, capsys):
    out = str(tmp_path / "run")
    assert main(["qa", "report", out]) == 2
    assert "no run of questions" in capsys.readouterr().err
    main(["qa", "run", out, *options(given, system="search-r1")])
    assert main(["qa", "report", out, "--table", "nope"]) == 2
    assert "--table must be one of em, f1, costs" in capsys.readouterr().err
    assert main(["qa", "report", out, "--baseline", "R1"]) == 2
    assert "--baseline must be one of Search-R1; got 'R1'" in capsys.readouterr().err


def test_a_group_by_itself_shows_its_help(capsys):
    assert main(["qa"]) == 0
    assert "Commands:\n  report" in capsys.readouterr().out


def test_nothing_heavy_is_imported_for_help():
    script = (
        "import sys; from sqe_fast.cli import main; main(['qa', 'run', '--help']); "
        "bad = {'torch', 'faiss', 'vllm', 'transformers'} & set(sys.modules); sys.exit(bool(bad))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False, capture_output=True).returncode == 0
