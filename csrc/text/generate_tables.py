"""Write the Unicode tables of the text kernels, read off the running Python's own behaviour.

Usage: generate_tables.py OUTPUT. Every code point gets a record (how it lowers, what it is to a tokenizer);
records are few, so two stages of indices hold them all in some tens of kilobytes.
"""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

BLOCK_BITS = 7
N_CODES = 0x110000
SIGMA = "\u03a3"

# Flags of a record; csrc/text/unicode.hpp names the same bits.
SPACE, CASED, IGNORABLE, SPECIAL = 1, 2, 4, 8

# Classes of a record, in the order of enum Class in csrc/text/unicode.hpp.
CLASSES = (
    "separator",
    "lower",
    "upper",
    "digit",
    "connector",
    "mark",
    "ignored",
    "katakana",
    "hangul",
    "unspaced",
    "kana_length",
    "apostrophe",
    "mid_letter",
    "point",
)

CATEGORIES = {"Cf": "ignored", "Pc": "connector", "M": "mark", "N": "digit"}  # apart from letters
# First words of the names of letters of scripts that are written without spaces between words.
UNSPACED = ("CJK", "HIRAGANA", "TANGUT", "NUSHU", "KHITAN", "THAI", "LAO", "KHMER", "MYANMAR")
# Characters whose class their category does not tell.
NAMED = {
    **dict.fromkeys("'\u2019\uff07", "apostrophe"),
    **dict.fromkeys("\u00b7\u05f3\u05f4", "mid_letter"),  # Catalan l·l, Hebrew geresh and gershayim
    ".": "point",
    "\u200b": "separator",  # zero width space: a format character by category, a word boundary by purpose
    **dict.fromkeys("\u30fc\uff70", "kana_length"),
    **dict.fromkeys("\u3005\u3006\u3007\u303b", "unspaced"),  # ideographic repeat, closing and zero: 々〆〇〻
    # Marks that change how a letter looks and not which letter it is: joiners and variation selectors.
    **dict.fromkeys(map(chr, (0x34F, 0x180B, 0x180C, 0x180D, 0x180F)), "ignored"),
    **dict.fromkeys(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))), "ignored"),
}


def word_class(char: str) -> str:
    """Return what `char` is to the `word` and `code` tokenizers."""
    if char in NAMED:
        return NAMED[char]
    category = unicodedata.category(char)
    if category[0] != "L":
        return CATEGORIES.get(category, CATEGORIES.get(category[0], "separator"))
    script = unicodedata.name(char, "").replace("HALFWIDTH ", "").split(" ")[0]
    if script in UNSPACED:
        return "unspaced"
    if script in ("KATAKANA", "HANGUL"):
        return script.lower()
    return "upper" if category in ("Lu", "Lt") else "lower"


def records() -> tuple[list[tuple[int, str, int]], list[tuple[int, bytes]]]:
    """Return (lower delta, class, flags) of every code point, and the lower forms of several code points."""
    table, expansions = [], []
    for code in range(N_CODES):
        char = chr(code)
        lower = char.lower()
        flags = SPACE if char.isspace() else 0
        # str.lower() makes a capital sigma final if a cased letter stands before it and none after,
        # case-ignorable ones left out; so the sigma's form tells what stands beside it.
        if (char + SIGMA).lower()[-1] == "\u03c2":
            flags |= CASED
        elif ("A" + char + SIGMA).lower()[-1] == "\u03c2":
            flags |= IGNORABLE
        delta = ord(lower) - code if len(lower) == 1 else 0
        if len(lower) != 1:
            expansions.append((code, lower.encode()))
        if len(lower) != 1 or char == SIGMA:
            flags |= SPECIAL
        if char != SIGMA and ("A" + char).lower() != "a" + lower:
            raise SystemExit(f"U+{code:04X} lowers by context; the kernels know only U+03A3 to do so")
        if flags & SPACE and (flags & (CASED | IGNORABLE) or delta):
            raise SystemExit(f"U+{code:04X} is white space with case; the kernels rely on there being none")
        kind = word_class(char)
        if kind == "ignored" and not flags & IGNORABLE:
            raise SystemExit(f"U+{code:04X} is left out of words but would change a sigma beside it")
        if len(lower.encode("utf-8", "surrogatepass")) > (2 if code < 0x100 else 3 if code < 0x10000 else 4):
            raise SystemExit(f"U+{code:04X} lowers to more bytes than the kernels leave room for")
        table.append((delta, kind, flags))
    return table, expansions


def array(kind: str, name: str, values: list[str], width: int = 110) -> str:
    """Return the definition of a constant array, wrapped at `width`."""
    lines, line = [], " "
    for value in values:
        if len(line) + len(value) + 2 > width:
            lines.append(line)
            line = " "
        line += f" {value},"
    return f"inline constexpr {kind} {name}[] = {{\n" + "\n".join([*lines, line]) + "\n};\n"


def main(path: str) -> None:
    """Write the tables to `path`."""
    table, expansions = records()
    numbers: dict[tuple[int, str, int], int] = {}
    indices = [numbers.setdefault(record, len(numbers)) for record in table]
    blocks: dict[tuple[int, ...], int] = {}
    size = 1 << BLOCK_BITS
    stage1 = [
        blocks.setdefault(tuple(indices[start : start + size]), len(blocks))
        for start in range(0, N_CODES, size)
    ]
    if len(numbers) > 256 or len(blocks) > 65535:
        raise SystemExit(f"{len(numbers)} records and {len(blocks)} blocks do not fit their indices")
    longest = max(4, *(len(form) for _, form in expansions))
    escaped = [
        f'{{0x{code:X}, {len(form)}, "{"".join(f"{chr(92)}x{byte:02x}" for byte in form)}"}}'
        for code, form in expansions
    ]
    parts = [
        "// Written by generate_tables.py; do not edit.\n",
        f'inline constexpr char kUnicodeVersion[] = "{unicodedata.unidata_version}";\n',
        f"inline constexpr int kBlockBits = {BLOCK_BITS};\n",
        f"inline constexpr int kMaxLowerBytes = {longest};\n",
        array("Record", "kRecords", [f"{{{d}, Class::{kind}, {flags}}}" for d, kind, flags in numbers]),
        array("Expansion", "kExpansions", escaped),
        array("std::uint16_t", "kStage1", [str(block) for block in stage1]),
        array("std::uint8_t", "kStage2", [str(index) for block in blocks for index in block]),
    ]
    Path(path).write_text("".join(parts), encoding="ascii")


if __name__ == "__main__":
    main(sys.argv[1])
