"""What a model answered, made into probes: tolerant of the forms that models really write."""

from __future__ import annotations

import re

__all__ = ["parse_list", "parse_trace", "without_thinking"]

_THINKING = re.compile(r"<think>.*?</think>|^.*?</think>|<think>.*\Z", re.DOTALL)
_FENCE = re.compile(r"\A```[\w+-]*\n(.*?)\n?```\Z", re.DOTALL)
_MARKS = ("[THOUGHT]", "[ACTION]", "[OBSERVATION]")

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
