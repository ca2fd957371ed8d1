"""Passages as a policy or a compressor reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqe_fast.agent.values import Passage

__all__ = ["NOTHING", "fitting", "format_found", "shortened"]

NOTHING = "Nothing was found."


def format_found(queries: Sequence[str], hits: Sequence[Sequence[Passage]]) -> str:
    """Write the passages of each query, numbered; one that several queries found is written once.

    Where there is one query it is not repeated above its passages: the policy has just written it.

    Examples
    --------
    >>> one, two = Passage("a", "Emma", "A novel.", 2.0), Passage("b", "", "Another text.", 1.0)
    >>> print(format_found(["q"], [[one, two]]))
    [1] Emma: A novel.
    [2] Another text.
    >>> print(format_found(["q", "r"], [[one], [one, two]]))
    For "q":
    [1] Emma: A novel.
    For "r": also [1]
    [2] Another text.
    """
    if not any(hits):
        return NOTHING
    numbers: dict[str, int] = {}
    lines = []
    for query, found in zip(queries, hits, strict=True):
        known = [numbers[passage.id] for passage in found if passage.id in numbers]
        if len(queries) > 1:
            also = ", ".join(f"[{number}]" for number in known)
            lines.append(f'For "{query}":' + (f" also {also}" if known else "" if found else " nothing"))
        for passage in found:
            if passage.id not in numbers:
                numbers[passage.id] = len(numbers) + 1
                title = f"{passage.title}: " if passage.title else ""
                lines.append(f"[{numbers[passage.id]}] {title}{passage.text.strip()}")
    return "\n".join(lines)


def shortened(text: str, characters: int) -> str:
    """Return `text` cut behind a word where it is longer than `characters`; "..." says so."""
    if len(text) <= characters:
        return text
    cut = text[: max(characters - 4, 0)]
    at_word = cut[: max(cut.rfind(" "), cut.rfind("\n"), 0)] if not text[len(cut)].isspace() else cut
    return (at_word or cut).rstrip() + " ..."


def fitting(text: str, tokens: int, limit: int, count: Callable[[str], int]) -> str:
    """Return the longest beginning of `text` of at most `limit` tokens, cut behind a word.

    `tokens` is what the whole text counts. About log2(len(text)) calls of `count`.
    """
    if tokens <= limit:
        return text
    low, high, best = 0, len(text), ""
    while low + 8 < high:  # a few characters less than the longest do no harm
        middle = (low + high) // 2
        part = shortened(text, middle)
        if count(part) <= limit:
            low, best = middle, part
        else:
            high = middle
    return best
