"""The queries within a search: one, several split by ``##`` or lines, or a tool call in JSON."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

__all__ = ["Form", "read_queries", "valid_queries", "write_queries"]

Form = Literal["separated", "single", "json"]

_SPLIT = re.compile(r"##|[\r\n]+")
_MARK = re.compile(r"^(?:[-*•]|\(?\d{1,2}[.)])\s+")
_FENCE = re.compile(r"```[\w+-]*")
_KEYS = ("query_list", "queries", "query", "q", "search_query", "input")
_MAX_DEPTH = 8
_MAX_STARTS = 64  # brackets at which JSON is tried
_MAX_JSON = 20_000  # characters; a model's runaway call is not worth more


def read_queries(content: str, form: Form) -> tuple[str, ...]:
    """Return the queries of a search, white space squeezed, empty ones dropped; never raises."""
    if form == "json":
        calls = _calls(content[:_MAX_JSON])
        if calls or "{" in content or "[" in content:
            return _squeezed(query for call in calls for query in _of(call, 0))
    if form == "single":
        return _squeezed([content])
    return _squeezed(_MARK.sub("", part.strip()) for part in _SPLIT.split(content))


def valid_queries(content: str, form: Form) -> bool:
    """Return whether a search is written as its form asks for, with at least one query."""
    if form != "json":
        return bool(read_queries(content, form))
    try:
        call = json.loads(content)
    except (ValueError, RecursionError):
        return False
    if (
        not isinstance(call, dict)
        or call.get("name") != "search"
        or not isinstance(call.get("arguments"), dict)
    ):
        return False
    queries = call["arguments"].get("query_list")
    return (
        isinstance(queries, list)
        and bool(queries)
        and all(isinstance(query, str) and query.strip() for query in queries)
    )


def write_queries(queries: Sequence[str], form: Form) -> str:
    """Return the content of a search for `queries`."""
    if form == "json":
        call = {"name": "search", "arguments": {"query_list": list(queries)}}
        return json.dumps(call, ensure_ascii=False).replace("<", "\\u003c")  # no tag within a query
    return " ## ".join(queries)


def _squeezed(queries: Any) -> tuple[str, ...]:
    return tuple(text for query in queries if (text := " ".join(query.split())))


def _calls(content: str) -> list[Any]:
    """Return the JSON values in a text: one or several, within code fences or words, or in single quotes."""
    text = _FENCE.sub(" ", content).strip()
    return _values(text) or _values(text.replace("'", '"'))


def _values(text: str) -> list[Any]:
    decoder, place, values = json.JSONDecoder(strict=False), 0, []
    for match in itertools.islice(re.finditer(r"[{\[]", text), _MAX_STARTS):
        if match.start() >= place:
            try:
                value, place = decoder.raw_decode(text, match.start())
            except (ValueError, RecursionError):
                continue
            values.append(value)
    return values


def _of(value: Any, depth: int) -> Iterator[str]:
    """Yield the queries that a decoded tool call holds, whatever their place."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _of(item, depth + 1)
    elif isinstance(value, dict):
        inner = value.get("arguments", value.get("parameters"))
        if isinstance(inner, str):  # arguments as a string of JSON, as OpenAI's form has them
            decoded = _calls(inner)
            yield from (_of(decoded, depth + 1) if decoded else [inner])
        elif inner is not None:
            yield from _of(inner, depth + 1)
        else:
            for key in _KEYS:
                if key in value:
                    yield from _of(value[key], depth + 1)
                    break
