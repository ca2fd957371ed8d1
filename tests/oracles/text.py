"""The tokenizers again, in plain Python: a string of classes, then regular expressions."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator
from functools import cache
from itertools import pairwise

APOSTROPHES = "'’＇"
MID_LETTERS = "·׳״"
UNSPACED = r"CJK|HIRAGANA|TANGUT|NUSHU|KHITAN|THAI|LAO|KHMER|MYANMAR"


@cache
def char_class(char: str) -> str:
    """Return one letter for what `char` is.

    u upper, l other letter, d number, _ connector, m mark, k Katakana, h Hangul, w letter of a script without
    spaces, - kana length mark, ' · . as they are, x left out, space for all else.
    """
    category = unicodedata.category(char)
    name = unicodedata.name(char, "")
    if char in APOSTROPHES:
        return "'"
    if char in MID_LETTERS:
        return "·"
    if char == ".":
        return "."
    if char in "ーｰ":
        return "-"
    if char in "々〆〇〻" or (category[0] == "L" and re.match(rf"({UNSPACED})\b", name)):
        return "w"
    if re.match(r"VARIATION SELECTOR|MONGOLIAN FREE VARIATION|COMBINING GRAPHEME JOINER", name):
        return "x"
    if category == "Cf" and char != "\u200b":
        return "x"
    if category[0] == "L" and re.match(r"(HALFWIDTH )?(KATAKANA|HANGUL)\b", name):
        return "k" if "KATAKANA" in name else "h"
    if category[0] == "L":
        return "u" if category in ("Lu", "Lt") else "l"
    return {"N": "d", "M": "m"}.get(category[0], "_" if category == "Pc" else " ")


def settled(text: str) -> tuple[str, str]:
    """Return the text and its classes without what is left out and without marks that have no base."""
    chars: list[str] = []
    classes: list[str] = []
    for char in text:
        kind = char_class(char)
        before = classes[-1] if classes else " "
        if kind == "x" or (kind == "m" and before == "_"):
            continue
        chars.append(char)
        classes.append(" " if kind == "m" and before in " '·." else kind)
    return "".join(chars), "".join(classes)


def runs(text: str, joiners: str) -> Iterator[tuple[str, str]]:
    """Yield (run, its classes) for words, Katakana, Hangul and unspaced runs, in order."""
    chars, classes = settled(text)
    pattern = rf"[uld_](?:[uldm_]{joiners})*|[k-][km-]*|h[hm]*|w[wm-]*"
    for match in re.finditer(pattern, classes):
        yield chars[match.start() : match.end()], match.group()


def pairs(run: str, classes: str) -> list[str]:
    """Return overlapping pairs of letters with their marks, or the one letter there is."""
    letters = [run[m.start() : m.end()] for m in re.finditer(".m*", classes)]
    return [a + b for a, b in pairwise(letters)] or letters


def unconnected(run: str, classes: str) -> tuple[str, str]:
    """Return the word without its outer connectors."""
    begin = len(classes) - len(classes.lstrip("_"))
    end = len(classes.rstrip("_"))
    return run[begin:end], classes[begin:end]


def word(text: str) -> list[str]:
    """Return the tokens of `word`."""
    tokens: list[str] = []
    for run, classes in runs(text, r"|(?<=[ulm])['·](?=[ul])|(?<=d)\.(?=d)"):
        if classes[0] == "w":
            tokens += pairs(run, classes)
        elif classes[0] in "k-h":
            tokens.append(run)
        else:
            core, _ = unconnected(run, classes)
            tokens += [re.sub("[’＇]", "'", core.lower())] if core else []
    return tokens


def code(text: str, stop_words: Collection[str]) -> list[str]:
    """Return the tokens of `code`."""
    tokens: list[str] = []
    for run, classes in runs(text, ""):
        if classes[0] == "w":
            tokens += pairs(run, classes)
        elif classes[0] in "k-h":
            tokens.append(run)
        else:
            core, core_classes = unconnected(run, classes)
            whole = core.lower()
            parts = []
            for match in re.finditer(r"(?:um*)+(?![lm])|(?:um*)?(?:lm*)+|(?:dm*)+", core_classes):
                # A part is a slice of the whole in lower case: its sigmas are as they stand there.
                begin, end = (len(core[:at].lower()) for at in match.span())
                parts.append(whole[begin:end])
            tokens += [whole] if len(parts) > 1 else []
            tokens += [part for part in parts if part not in stop_words]
    return tokens


def of_kind(kind: str, stop_words: Collection[str]) -> Callable[[str], list[str]]:
    """Return the oracle of a tokenizer by name."""
    return {
        "whitespace": lambda text: text.lower().split(),
        "word": word,
        "code": lambda text: code(text, stop_words),
    }[kind]
