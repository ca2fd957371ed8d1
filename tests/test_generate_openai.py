"""The openai generator against a real HTTP server in a thread."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytest.importorskip("openai")

from sqe_fast.errors import InvalidInputError, InvalidTypeError, ModelUnavailableError
from sqe_fast.generate import Generation, Generator, Message, Request, make_generator


class Endpoint:
    """A chat completions endpoint whose next replies a test decides."""

    def __init__(self):
        self.script = []  # functions from a request body to (status, headers, reply)
        self.seen = []
        self.running = self.most = 0
        self.lock = threading.Lock()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with endpoint.lock:
                    endpoint.running += 1
                    endpoint.most = max(endpoint.most, endpoint.running)
                    endpoint.seen.append((self.path, self.headers, body))
                    step = endpoint.script.pop(0) if endpoint.script else ok
                status, headers, reply = step(body)
                with endpoint.lock:
                    endpoint.running -= 1
                data = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


def reply(texts, usage=True):
    made = {
        "id": "1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [
            {"index": i, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
            for i, text in enumerate(texts)
        ],
    }  # fmt: skip
    if usage:
        made["usage"] = {
            "prompt_tokens": 30, "completion_tokens": 4 * len(texts), "total_tokens": 30 + 4 * len(texts),
            "prompt_tokens_details": {"cached_tokens": 16},
        }  # fmt: skip
    return made


def ok(body):
    return 200, {}, reply([f"{body['messages'][-1]['content']}/{i}" for i in range(body.get("n", 1))])


def status(code, headers=None):
    return lambda body: (code, headers or {}, {"error": {"message": f"status {code}"}})


@pytest.fixture
def endpoint():
    made = Endpoint()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def make(endpoint, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")
    made = []

    def build(**options):
        made.append(make_generator(f"openai:m@{endpoint.url}", **options))
        return made[-1]

    yield build
    for generator in made:
        generator.close()


def test_a_begun_answer_and_where_it_stopped(endpoint, make):
    def stopped(body):
        made = reply(["a query"])
        made["choices"][0]["stop_reason"] = "</search>"
        return 200, {}, made

    endpoint.script = [stopped]
    generator = make(extra_body={"top_k": 5})
    told = generator.generate([Request.of("q", prefill="<think>so", stop=("</search>",))])[0]
    untold = generator.generate([Request.of("q")])[0]
    assert (told.stopped_at, untold.stopped_at) == (("</search>",), ())
    first, second = (body for _, _, body in endpoint.seen)
    assert first["messages"][-1] == {"role": "assistant", "content": "<think>so"}
    assert (first["continue_final_message"], first["add_generation_prompt"], first["top_k"]) == (
        True,
        False,
        5,
    )
    assert "continue_final_message" not in second


def test_order_settings_usage_and_key(endpoint, make):
    generator = make()
    assert isinstance(generator, Generator)
    requests = [
        Request.of(f"q{i}", n=2, temperature=0.8, max_new_tokens=64, seed=3, stop=("END",)) for i in range(20)
    ]
    answers = generator.generate(requests)
    assert [a.texts for a in answers] == [(f"q{i}/0", f"q{i}/1") for i in range(20)]
    assert answers[0] == Generation(("q0/0", "q0/1"), 30, 16, 8, ("stop", "stop"))
    path, headers, body = endpoint.seen[0]
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == "Bearer from-the-environment"
    wanted = {"model": "m", "n": 2, "temperature": 0.8, "max_tokens": 64, "seed": 3, "stop": ["END"]}
    assert wanted.items() <= body.items()
    assert generator.generate([]) == []


def test_429_and_500_are_tried_again(endpoint, make):
    endpoint.script = [status(429, {"retry-after-ms": "5"}), status(503, {"retry-after-ms": "5"})]
    answer = make().generate([Request.of("q")])[0]
    assert answer.texts == ("q/0",)
    assert answer.error is None
    assert len(endpoint.seen) == 3


def test_one_request_that_keeps_failing_fails_alone(endpoint, make):
    def by_prompt(body):
        if body["messages"][-1]["content"] == "bad":
            return status(500, {"retry-after-ms": "1"})(body)
        return ok(body)

    endpoint.script = [by_prompt] * 10
    good, bad, also = make(retries=2).generate([Request.of("a"), Request.of("bad"), Request.of("b")])
    assert (good.texts, also.texts) == (("a/0",), ("b/0",))
    assert bad.texts == ()
    assert "500" in bad.error
    assert sum(body["messages"][-1]["content"] == "bad" for _, _, body in endpoint.seen) == 3


def test_400_is_not_tried_again(endpoint, make):
    endpoint.script = [status(400)]
    assert "400" in make().generate([Request.of("q")])[0].error
    assert len(endpoint.seen) == 1


def test_a_time_out_is_a_failure_value(endpoint, make):
    def slow(body):
        time.sleep(0.6)
        return ok(body)

    endpoint.script = [slow]
    answer = make(timeout=0.15, retries=0).generate([Request.of("q")])[0]
    assert "imed out" in answer.error
    assert answer.calls == 1


@pytest.mark.parametrize(
    "wrong", [b"not json", {"choices": []}, {}, {"choices": [{"message": None}]}, [], reply([None])]
)
def test_malformed_replies_are_failure_values(endpoint, make, wrong):
    endpoint.script = [lambda body: (200, {}, wrong)]
    answer = make(retries=0).generate([Request.of("q")])[0]
    assert answer.error
    assert answer.texts == ()


def test_a_provider_that_ignores_n_is_asked_again(endpoint, make):
    endpoint.script = [lambda body: (200, {}, reply(["one"])), lambda body: (200, {}, reply(["two"]))]
    answer = make().generate([Request.of("q", n=2)])[0]
    assert answer.texts == ("one", "two")
    assert (answer.calls, answer.prompt_tokens, answer.completion_tokens) == (2, 60, 8)
    endpoint.script = [lambda body: (200, {}, reply(["one"])), status(400)]
    part = make().generate([Request.of("q", n=2)])[0]
    assert part.texts == ("one",)  # what came is kept, and marked
    assert "400" in part.error


def test_a_provider_without_usage_is_marked(endpoint, make):
    endpoint.script = [lambda body: (200, {}, reply(["x"], usage=False))]
    answer = make().generate([Request.of("q")])[0]
    assert answer.error is None
    assert answer.estimated
    assert answer.prompt_tokens == 0


def test_no_more_in_flight_than_the_limit(endpoint, make):
    def slow(body):
        time.sleep(0.02)
        return ok(body)

    endpoint.script = [slow] * 24
    assert len(make(concurrency=3).generate([Request.of(str(i)) for i in range(24)])) == 24
    assert 2 <= endpoint.most <= 3


def test_other_names_for_fields(endpoint, make):
    make(token_parameter="max_completion_tokens", extra_body={"chat_template_kwargs": {"x": 1}}).generate(
        [Request((Message("system", "s"), Message("user", "u")), max_new_tokens=9)]
    )
    body = endpoint.seen[0][2]
    assert body["max_completion_tokens"] == 9
    assert "max_tokens" not in body
    assert body["chat_template_kwargs"] == {"x": 1}
    assert [m["role"] for m in body["messages"]] == ["system", "user"]


def test_nobody_listens(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    generator = make_generator("openai:m@http://127.0.0.1:9/v1", retries=0)
    assert "onnection" in generator.generate([Request.of("q")])[0].error
    generator.close()


def test_a_missing_key_and_wrong_arguments(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ModelUnavailableError, match="OPENAI_API_KEY"):
        make_generator("openai:m")
    with pytest.raises(InvalidInputError, match="concurrency"):
        make_generator("openai:m@http://127.0.0.1:9/v1", concurrency=0)
    with pytest.raises(InvalidInputError, match="api_key"):  # a key is never an argument
        make_generator("openai:m@http://127.0.0.1:9/v1", api_key="x")
    generator = make_generator("openai:m@http://127.0.0.1:9/v1")
    with pytest.raises(InvalidTypeError, match="for one pass"):
        generator.generate(Request.of("q"))
    with pytest.raises(InvalidTypeError, match=r"requests\[0\]"):
        generator.generate(["q"])
    generator.close()
