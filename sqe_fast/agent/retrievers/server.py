r"""A Search-R1 retrieval server over HTTP, as a retriever.

The protocol (PeterGriffinJin/Search-R1, its retrieval server): POST {"queries": [...], "topk": k,
"return_scores": true} to /retrieve; the reply is {"result": [[{"document": {"contents": "\"Title\"\ntext"},
"score": s}, ...], ...]}, one list a query; without scores the documents stand in the lists themselves.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sqe_fast._checks import check_int, check_number, describe
from sqe_fast.agent.values import Passage
from sqe_fast.errors import InvalidInputError, InvalidTypeError, ModelUnavailableError

__all__ = ["ServerRetriever"]

_RETRIED = (408, 425, 429, 500, 502, 503, 504)
_MAX_PAUSE = 30.0


class ServerRetriever:
    """Asks a server that speaks Search-R1's protocol.

    Parameters
    ----------
    url : str
        Such as "http://127.0.0.1:8000"; "/retrieve" is added where the address has no path.
    scores : bool
        Ask for scores; servers of the original code break their reply without them. Both forms are read.
    batch : int
        Queries a request.
    concurrency : int
        Requests in flight.
    timeout : float
        Seconds for one try.
    retries : int
        Further tries after a lost connection, a time-out, or a status of 408, 425, 429 or 5xx.
    pause : float
        Seconds before the second try; doubled before each next.

    Raises
    ------
    ModelUnavailableError
        By `search`: the server did not answer, or not in this protocol; the message says what it said.
    """

    def __init__(
        self,
        url: str,
        *,
        scores: bool = True,
        batch: int = 512,
        concurrency: int = 4,
        timeout: float = 60.0,
        retries: int = 3,
        pause: float = 0.5,
    ) -> None:
        if not isinstance(url, str):
            raise InvalidTypeError(f"url must be a str; got {describe(url)}")
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise InvalidInputError(f"url must be like http://host:port; got {url!r}")
        path = "/retrieve" if parts.path in ("", "/") else parts.path
        self.url = urllib.parse.urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))
        self._scores = bool(scores)
        self._batch = check_int("batch", batch, 1)
        self._concurrency = check_int("concurrency", concurrency, 1, 256)
        self._timeout = check_number("timeout", timeout, 0.001)
        self._retries = check_int("retries", retries, 0, 100)
        self._pause = check_number("pause", pause, 0)

    def search(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        """Return at most k passages for each query; `batch` queries go in one request."""
        asked = list(queries)
        k = check_int("k", k, 1)
        parts = [asked[start : start + self._batch] for start in range(0, len(asked), self._batch)]
        if len(parts) <= 1:
            return [found for part in parts for found in self._ask(part, k)]
        with ThreadPoolExecutor(min(self._concurrency, len(parts)), "sqe-retrieve") as pool:
            answers = pool.map(lambda part: self._ask(part, k), parts)
            return [found for answer in answers for found in answer]

    def _ask(self, queries: list[str], k: int) -> list[list[Passage]]:
        body = json.dumps({"queries": queries, "topk": k, "return_scores": self._scores}).encode()
        pause = self._pause
        for left in range(self._retries, -1, -1):
            try:
                return self._read(self._post(body), queries, k)
            except urllib.error.HTTPError as error:
                said = error.read(500).decode("utf-8", "replace")
                reason = f"status {error.code}: {' '.join(said.split()) or error.reason}"
                if error.code not in _RETRIED:
                    raise self._failure(reason) from None
                pause = _retry_after(error.headers, pause)
            except (OSError, http.client.HTTPException) as error:  # refused, reset, timed out, cut short
                reason = str(getattr(error, "reason", error)) or type(error).__name__
            if left:
                time.sleep(pause)
                pause = min(2 * pause, _MAX_PAUSE)
        raise self._failure(f"{reason} ({self._retries + 1} tries)")

    def _post(self, body: bytes) -> bytes:
        request = urllib.request.Request(self.url, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=self._timeout) as reply:
            data: bytes = reply.read()
        return data

    def _read(self, data: bytes, queries: list[str], k: int) -> list[list[Passage]]:
        try:
            reply = json.loads(data)
        except ValueError:
            raise self._failure(f"its reply is not JSON: {data[:200]!r}") from None
        result = reply.get("result") if isinstance(reply, dict) else None
        if not isinstance(result, list) or not all(isinstance(found, list) for found in result):
            raise self._failure(f"its reply has no list 'result' of lists: {data[:200]!r}")
        if len(result) != len(queries):
            raise self._failure(f"it answered {len(result)} of {len(queries)} queries")
        return [[self._passage(item) for item in found[:k]] for found in result]

    def _passage(self, item: Any) -> Passage:
        document, score = item, float("nan")
        if isinstance(item, Mapping) and isinstance(item.get("document"), Mapping):
            document, score = item["document"], item.get("score", score)
        if not isinstance(document, Mapping):
            raise self._failure(f"a passage must be an object; got {describe(item)}")
        contents, title, text = (document.get(key) for key in ("contents", "title", "text"))
        if isinstance(contents, str):
            title, text = _parts(contents)
        if not isinstance(text, str) or isinstance(score, bool) or not isinstance(score, (int, float)):
            raise self._failure(
                f"a passage needs 'contents' (or 'text') and a number as score: {item!r:.200}"
            )
        name = document.get("id", document.get("_id"))
        if name is None:  # the same text is the same passage
            name = hashlib.sha256(f"{title}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return Passage(str(name), title if isinstance(title, str) else "", text, float(score))

    def _failure(self, reason: str) -> ModelUnavailableError:
        return ModelUnavailableError(f"the retrieval server {self.url}: {reason}")


def _parts(contents: str) -> tuple[str, str]:
    """Return (title, text) of contents whose first line is the title, in quotes or not."""
    first, newline, rest = contents.partition("\n")
    if not newline:
        return "", contents.strip()
    title = first.strip()
    if len(title) >= 2 and title[0] == title[-1] == '"':
        title = title[1:-1]
    return title, rest.strip()


def _retry_after(headers: Any, pause: float) -> float:
    try:
        return min(max(float(headers.get("Retry-After", "")), 0.0), _MAX_PAUSE)
    except ValueError:
        return pause
