"""One rollout as people read it: in colour on a terminal, and told apart by words and marks without."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

__all__ = ["clean", "print_transcript"]

# Role to (its mark in the margin, style of mark and heading, style of its text).
_ROLES = {
    "prompt": ("·", "bright_black", "bright_black"),
    "policy": ("│", "bold cyan", ""),
    "observation": ("┆", "green", "green"),
}
# What a policy's tags enclose, to its style; both dialects.
_INSIDE = {
    "think": "italic",
    "search": "bold yellow",
    "tool_call": "bold yellow",
    "answer": "bold magenta",
}
_TAG = re.compile(r"</?(think|search|tool_call|answer|information|tool_response)>")
_NARROW = 20  # columns that a text has at least


def print_transcript(console: Console, row: Mapping[str, Any], *, prompt: bool = False) -> None:
    """Print a row: its question and result, every segment with who wrote it, what each search found."""
    from rich.text import Text

    from sqe_fast.agent.qa.rows import author

    for line in _head(row):
        console.print(line, soft_wrap=True)
    turn = 0
    searches = iter(row["searches"])
    for role, text, tokens in row["segments"]:
        turn += role == "policy"
        by = author(role, text)
        search = next(searches, None) if by == "observation" else None
        note = "" if role == "prompt" else f" · turn {turn}"
        if search is not None:
            note += f" · {'squeezed' if search['squeezed'] else 'as retrieved'}"
            _print_search(console, search)
        elif by == "loop":
            note += " · put in by the loop"
        mark, style, inside = _ROLES.get(role, _ROLES["prompt"])
        hidden = role == "prompt" and not prompt
        size = f"{tokens:,} token{'s' * (tokens != 1)}{' (shown with --prompt)' * hidden}"
        console.print()
        console.print(Text(f"{mark} {role}{note} · {size}", style), soft_wrap=True)
        if not hidden:
            _print_body(console, _painted(text.strip(), inside), mark, style)
    for search in searches:  # of a search whose observation never came
        _print_search(console, search)


def clean(text: str) -> str:
    """Return `text` with its line ends and without what else would steer a terminal."""
    return "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in text)


def _head(row: Mapping[str, Any]) -> Iterator[Text]:
    from rich.text import Text

    golden = row["golden_answers"]
    more = f" (and {len(golden) - 5} more)" if len(golden) > 5 else ""
    answer = "none" if row["answer"] is None else " ".join(clean(row["answer"]).split())
    result = ("✓ exact match", "bold green") if row["em"] else ("✗ no exact match", "bold red")
    yield Text.assemble((clean(f"{row['set']}/{row['id']}"), "bold"), "  ", clean(row["question"]))
    yield Text.assemble(("golden  ", "bright_black"), clean(" | ".join(golden[:5])), more)
    yield Text.assemble(
        ("answer  ", "bright_black"), (answer, "bold magenta"), "  ", result, f"  F1 {row['f1']:.2f}"
    )
    facts = [f"finish: {row['finish']}", "valid format" if row["valid"] else "invalid format"]
    if row.get("answer_recall") is not None:
        facts.append(f"answer {'found' if row['answer_recall'] else 'not found'} by the searches")
    if row.get("evidence_recall") is not None:
        facts.append(f"{row['evidence_recall']:.0%} of the evidence found")
    yield Text.assemble(("result  ", "bright_black"), ", ".join(facts))
    yield Text.assemble(("cost    ", "bright_black"), "; ".join(_costs(row)))
    if row.get("problem"):
        yield Text(f"problem {clean(row['problem'])}", "bold red")


def _costs(row: Mapping[str, Any]) -> Iterator[str]:
    for who in ("policy", "compressor", "search"):
        used = row[who]
        if used["calls"]:
            calls = f"{used['calls']} call{'s' * (used['calls'] > 1)}"
            cached = f" ({used['cached_tokens']:,} cached)" if used["cached_tokens"] else ""
            written = f"{used['completion_tokens']:,} written{' (estimated)' * bool(used['estimated'])}"
            yield f"{who} {calls}, {used['prompt_tokens']:,} tokens read{cached}, {written}"
    yield f"{sum(row['seconds'].values()):.2f} s"


def _print_search(console: Console, search: Mapping[str, Any]) -> None:
    """Print the queries of a turn, and the passages each found."""
    from rich.text import Text

    console.print()
    for query, found in zip(search["queries"], search["hits"], strict=False):
        console.print(Text.assemble(("  ? ", "bold yellow"), (clean(query), "yellow")), soft_wrap=True)
        for rank, hit in enumerate(found, 1):
            score = "" if hit["score"] is None else f"  {hit['score']:.3f}"
            line = Text.assemble(f"    {rank}. ", clean(hit["title"]) or "(no title)")
            console.print(line.append(clean(f"  {hit['id']}{score}"), "bright_black"), soft_wrap=True)
        if not found:
            console.print(Text("    nothing found", "bright_black"))
    if search["problem"]:
        console.print(Text(f"  problem: {clean(search['problem'])}", "bold red"), soft_wrap=True)


def _painted(text: str, inside: str) -> Text:
    """Return the text with its tags and what they enclose in their styles."""
    from rich.text import Text

    painted = Text(style=inside)
    at, style = 0, ""
    for tag in _TAG.finditer(text):
        painted.append(clean(text[at : tag.start()]), style)
        painted.append(tag[0], "bold blue")
        style = "" if tag[0].startswith("</") else _INSIDE.get(tag[1], "")
        at = tag.end()
    return painted.append(clean(text[at:]), style)


def _print_body(console: Console, text: Text, mark: str, style: str) -> None:
    """Print a text with its mark before each of its lines, also where they wrap."""
    from rich.text import Text

    for line in text.wrap(console, max(_NARROW, console.width - 2)):
        line.rstrip()
        console.print(Text.assemble((f"{mark} ", style), line), soft_wrap=True)
