"""Index the paragraphs of a text file with BM25 and answer questions about it.

Usage: python examples/search_file.py FILE [QUESTION ...]   (without questions, they are read line by line)
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from sqe_fast.bm25 import BM25Index
from sqe_fast.errors import SqeFastError


def answer(index: BM25Index, paragraphs: list[str], question: str) -> None:
    """Print the three best paragraphs for one question."""
    begin = time.perf_counter()
    hits = index.search([question], k=3)
    micros = (time.perf_counter() - begin) * 1e6
    print(f"\n? {question}   ({micros:.0f} us)")
    for ids, scores in hits:
        if not len(ids):
            print("  nothing found")
        for row, score in zip(ids, scores, strict=True):
            print(f"  {score:6.3f}  {' '.join(paragraphs[row].split())[:100]}")


def main(arguments: list[str]) -> int:
    """Run the example; return the exit code."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments else 2
    try:
        text = Path(arguments[0]).read_text(encoding="utf-8")
        paragraphs = [part for part in text.split("\n\n") if part.strip()]
        index = BM25Index.build(paragraphs, tokenizer="code", variant="lucene", k1=1.2)
        print(f"{arguments[0]}: {index}")
        questions = arguments[1:] or (line.strip() for line in sys.stdin)
        for question in questions:
            answer(index, paragraphs, question)
    except (OSError, UnicodeDecodeError, SqeFastError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
