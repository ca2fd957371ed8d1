"""What a model answered, made into probes: tolerant of the forms that models really write."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

__all__ = ["cut_trace", "parse_joint", "parse_list", "parse_trace", "without_thinking"]

_THINKING = re.compile(r"<think>.*?</think>|^.*?</think>|<think>.*\Z", re.DOTALL)
_FENCE = re.compile(r"\A```[\w+-]*\n(.*?)\n?```\Z", re.DOTALL)
_MARKS = ("[THOUGHT]", "[ACTION]", "[OBSERVATION]")
_STEP = re.compile(r"^[ \t*_>-]*\[THOUGHT\]", re.MULTILINE)
# A rule or a fence, a heading ("Step 2:", "## Traces", "**Wordings**"), or an empty line and a numbered list.
_HEADING = re.compile(
    r"""^[ \t]*(?:(?:-{3,}|={3,}|\*{3,}|```\w*)[ \t]*
        |\#{1,4}[ \t].*
        |[*_]{0,3}(?:step|trace|part|wordings?|paraphrases?|questions?)\b
            [ \t]*\d*[ \t]*[*_]{0,3}:?[*_]{0,3}[ \t]*)$""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_BEHIND = re.compile(rf"(?:{_HEADING.pattern})|\n[ \t]*\n(?=[ \t]*1[.)]\s)", _HEADING.flags)

# "1." "1)" "(1)" "[1]" "1:" "1 -", also in bold, and after a word such as "Paraphrase 1:". After a dot or a
# bracket a letter may follow at once, but no digit: "3.11 fails" begins a sentence.
_NUMBER = re.compile(
    r"""^\s*(?:[-*•+>]\s+)?(?P<open>[*_]{0,3})
        (?:(?:paraphrase|wording|variant|version|option|question|query|rephrasing|rewrite)\s*(?=\#?\d))?
        (?:[\(\[]\s*\#?\d{1,2}\s*[\)\]][.:]?|\#?\d{1,2}\s*[.)](?!\d)|\#?\d{1,2}\s*[:–—-](?=[\s*_"'“]|$))
        (?P<close>(?P=open))?[ \t]*(?P<text>.*)$""",
    re.VERBOSE | re.IGNORECASE,
)
_BULLET = re.compile(r"^\s*(?:[-+•–—]|\*(?!\*))\s+(?P<text>.*)$")
_INLINE = re.compile(r"(?<=[.?!\"”'])\s+(?=\(?\d{1,2}[.)]\s)")
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "`": "`", "„": "“"}


def parse_list(answer: str, count: int) -> list[str]:
    r"""Return up to `count` distinct items of a list, in order.

    Numbered lines win over bulleted ones, and those over plain lines; where there are marked lines, what is
    not marked (a preamble, a closing remark) is dropped, as are plain lines that end in a colon. Empty items
    and repeats (without regard to case) do not count.

    Examples
    --------
    >>> parse_list("Sure, here they are:\n\n1) Where is it?\n2) **Which file has it?**", 2)
    ['Where is it?', 'Which file has it?']
    """
    lines = [line for raw in without_thinking(answer).splitlines() for line in _INLINE.split(raw)]
    numbered = [_item(match) for match in map(_NUMBER.match, lines) if match]
    bulleted = [match["text"] for match in map(_BULLET.match, lines) if match]
    for marked in (numbered, bulleted):
        items = _distinct(marked, count)
        if items:
            return items
    # Also a number alone on a line, its item on the next.
    plain = [line for line in lines if not _NUMBER.match(line) and "```" not in line]
    return _distinct([line for line in plain if not line.rstrip(" \t*_").endswith(":")], count)


def _item(match: re.Match[str]) -> str:
    """Return the text after a number, less the emphasis that began before the number."""
    text, mark = match["text"].rstrip(), match["open"]
    return text.removesuffix(mark) if mark and not match["close"] else text


def parse_trace(answer: str) -> str:
    """Return the trace within one sample: no reasoning, no code fence, nothing before its first mark."""
    text = without_thinking(answer).strip()
    fenced = _FENCE.match(text)
    if fenced:
        text = fenced[1].strip()
    starts = [text.find(mark) for mark in _MARKS if mark in text]
    if starts and 0 < min(starts) <= 200:
        text = text[min(starts) :]
    return text


def cut_trace(trace: str, stop: Sequence[str] = (), lines: int | None = None) -> str:
    r"""Return a trace up to the first of the stop texts, its observation cut to so many lines.

    An engine that knows stop texts leaves nothing to cut, and one that does not gives the same trace.

    Examples
    --------
    >>> cut_trace("[ACTION] ls\n[OBSERVATION] a\nb\nc\n\nHope this helps!", ["\n\n"], lines=2)
    '[ACTION] ls\n[OBSERVATION] a\nb'
    """
    text = trace[: min([len(trace), *(trace.find(word) for word in stop if word in trace)])]
    start = text.find(_MARKS[-1])
    if lines is not None and start >= 0:
        text = text[:start] + "\n".join(text[start:].split("\n")[:lines])
    return trace if text == trace else text.rstrip()


def parse_joint(answer: str, K: int, P: int) -> tuple[list[str], list[str]]:
    r"""Return the traces and paraphrases of one answer that holds both, in whatever order.

    A trace begins at a [THOUGHT] and ends where the next one does, or at a line that is a heading, a rule,
    the beginning of a numbered list or a fence. The paraphrases are the list before the first trace or, where
    none is there, behind the last.

    Examples
    --------
    >>> parse_joint("1. How?\n2. Which way?\n\n[THOUGHT] Look.\n[ACTION] sh: ls\n[OBSERVATION] a.py", 1, 2)
    (['[THOUGHT] Look.\n[ACTION] sh: ls\n[OBSERVATION] a.py'], ['How?', 'Which way?'])
    """
    text = without_thinking(answer).strip()
    starts = [match.start() for match in _STEP.finditer(text)]
    head = text[: starts[0]] if starts else text
    traces, tail = [], ""
    for start, end in pairwise([*starts, len(text)]):
        step = text[start:end]
        # What stands behind the step is looked for in its last part only: an action may hold anything.
        last = max(step.rfind(mark) for mark in _MARKS)
        behind = _BEHIND.search(step, last)
        if behind:
            tail = step[behind.start() :]
            step = step[: behind.start()]
        traces.append(parse_trace(step.strip(" \t\n*_")))
    written = parse_list(_HEADING.sub("", head), P) if starts else parse_list(text, P)
    return traces[:K], written or parse_list(tail, P)


def without_thinking(answer: str) -> str:
    """Return `answer` less the reasoning that some models write first, between or up to think tags."""
    return _THINKING.sub("", answer) if "think>" in answer else answer


def _distinct(items: list[str], count: int) -> list[str]:
    kept: dict[str, str] = {}
    for item in items:
        text = _bare(item)
        if text:
            kept.setdefault(text.casefold(), text)
    return list(kept.values())[:count]


def _bare(item: str) -> str:
    """Strip emphasis and quotes that enclose the whole item."""
    text = " ".join(item.split())
    while True:
        before = text
        for mark in ("**", "__", "*", "_"):
            if len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark):
                text = text[len(mark) : -len(mark)].strip()
        if len(text) >= 2 and _QUOTES.get(text[0]) == text[-1] and text[0] not in text[1:-1]:
            text = text[1:-1].strip()
        if text == before:
            break
    return text if any(letter.isalnum() for letter in text) else ""
