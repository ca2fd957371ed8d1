"""The client of a Search-R1 server, against a real HTTP server in a thread."""

from __future__ import annotations

import json
import math
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain

import pytest
from noted import PASSAGES

from sqe_fast.agent.retrievers import IndexRetriever, ServerRetriever
from sqe_fast.errors import InvalidInputError, InvalidTypeError, ModelUnavailableError


class Quiet(ThreadingHTTPServer):
    """A client that gave up waiting is no error here: some tests want it to."""

    def handle_error(self, request, client_address):
        pass


class Server:
    """Speaks the protocol over an index; `script` holds what to do instead with the next requests."""

    def __init__(self):
        self.index = IndexRetriever(PASSAGES)
        self.script, self.seen, self.lock = [], [], threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with server.lock:
                    server.seen.append((self.path, body))
                    step = server.script.pop(0) if server.script else None
                status, reply, headers = step(body) if step else (200, server.reply(body), {})
                data = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *arguments):
                pass

        self.http = Quiet(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def reply(self, body):
        found = self.index.search(body["queries"], body["topk"])
        documents = [[{"id": p.id, "contents": f'"{p.title}"\n{p.text}'} for p in own] for own in found]
        if body["return_scores"]:
            documents = [
                [{"document": d, "score": p.score} for d, p in zip(docs, own, strict=True)]
                for docs, own in zip(documents, found, strict=True)
            ]
        return {"result": documents}


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    made = Server()
    yield made
    made.http.shutdown()
    made.http.server_close()


QUERIES = ["Emma", "village in Hampshire", "Jane Austen", "nothing of the kind"]


@pytest.mark.parametrize("scores", [True, False])
def test_both_forms_give_what_the_index_gives(server, scores):
    expected = server.index.search(QUERIES, 2)
    found = ServerRetriever(server.url, scores=scores).search(QUERIES, 2)
    assert [[(p.id, p.title, p.text) for p in own] for own in found] == [
        [(p.id, p.title, p.text) for p in own] for own in expected
    ]
    for passage, other in zip(chain(*found), chain(*expected), strict=True):
        assert passage.score == other.score if scores else math.isnan(passage.score)
    assert server.seen == [("/retrieve", {"queries": QUERIES, "topk": 2, "return_scores": scores})]


def test_many_queries_go_in_batches_and_keep_their_order(server):
    client = ServerRetriever(server.url + "/other/path", batch=3, concurrency=2)
    many = QUERIES * 5
    assert [[p.id for p in own] for own in client.search(many, 3)] == [
        [p.id for p in own] for own in server.index.search(many, 3)
    ]
    assert sorted(len(body["queries"]) for _, body in server.seen) == [2, 3, 3, 3, 3, 3, 3]
    assert {path for path, _ in server.seen} == {"/other/path"}
    assert client.search([], 3) == []


def status(code, headers=None):
    return lambda body: (code, {"detail": f"status {code}"}, headers or {})


def test_passing_troubles_are_tried_again(server):
    client = ServerRetriever(server.url, retries=3, pause=0.01)
    server.script = [status(503), status(429, {"Retry-After": "0.01"}), status(500)]
    assert client.search(["Emma"], 1)[0][0].id == "emma"
    assert len(server.seen) == 4
    server.script = [status(503)] * 4
    with pytest.raises(ModelUnavailableError, match=r"/retrieve: status 503: .*status 503.* \(4 tries\)"):
        client.search(["Emma"], 1)


def test_other_statuses_are_final(server):
    server.script = [status(422)]
    with pytest.raises(ModelUnavailableError, match="status 422"):
        ServerRetriever(server.url, pause=0.01).search(["Emma"], 1)
    assert len(server.seen) == 1


def test_time_out_and_no_server(server):
    def slow(body):
        time.sleep(0.5)
        return 200, server.reply(body), {}

    server.script = [slow]
    client = ServerRetriever(server.url, timeout=0.1, retries=1, pause=0)
    assert client.search(["Emma"], 1)[0][0].id == "emma"
    with pytest.raises(ModelUnavailableError, match=r"127.0.0.1:9/retrieve: .*\(1 tries\)"):
        ServerRetriever("http://127.0.0.1:9", retries=0).search(["Emma"], 1)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (b"<html>", "not JSON"),
        ([], "no list 'result'"),
        ({"result": {}}, "no list 'result'"),
        ({"result": ["x"]}, "no list 'result' of lists"),
        ({"result": []}, "answered 0 of 1 queries"),
        ({"result": [["x"]]}, "a passage must be an object"),
        ({"result": [[{"document": {"id": 1}, "score": 1}]]}, "needs 'contents'"),
        ({"result": [[{"document": {"contents": "x"}, "score": "high"}]]}, "a number as score"),
    ],
)
def test_replies_of_another_shape_are_told(server, reply, message):
    server.script = [lambda body: (200, reply, {})]
    with pytest.raises(ModelUnavailableError, match=message):
        ServerRetriever(server.url).search(["Emma"], 1)


def test_forms_of_a_document(server):
    documents = [
        {"contents": "no title"}, {"contents": "Bare title\nand text"}, {"contents": "no title"},
        {"_id": 7, "title": "T", "text": "x"}, {"contents": '"Quoted"\nfirst\nsecond', "id": 0},
    ]  # fmt: skip
    server.script = [lambda body: (200, {"result": [documents]}, {})]
    (found,) = ServerRetriever(server.url).search(["q"], 9)
    assert [(p.title, p.text) for p in found] == [
        ("", "no title"), ("Bare title", "and text"), ("", "no title"), ("T", "x"),
        ("Quoted", "first\nsecond"),
    ]  # fmt: skip
    assert found[0].id == found[2].id != found[1].id  # the same text is the same passage
    assert [p.id for p in found[3:]] == ["7", "0"]


def test_addresses():
    assert ServerRetriever("http://host:1/").url == "http://host:1/retrieve"
    for url in ("host:8000", "ftp://host", ""):
        with pytest.raises(InvalidInputError, match="url must be like"):
            ServerRetriever(url)
    with pytest.raises(InvalidTypeError, match="url must be a str"):
        ServerRetriever(None)
    with pytest.raises(InvalidInputError, match="batch"):
        ServerRetriever("http://host", batch=0)
