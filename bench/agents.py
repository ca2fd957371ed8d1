"""What the rollout rows run: recorded Search-R1 runs, their pool of passages, and a policy that searches.

A small model seldom searches by itself; `Begun` writes the beginning of its first search, so that a live row
has something to search for.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from bench.corpora import CorpusUnavailableError
from bench.memories import ROOT, VARIABLE

__all__ = ["Begun", "Recorded", "load"]


@dataclass(frozen=True)
class Recorded:
    """Recorded runs: by id the question and what the policy said in each turn; `corpus` is a BEIR folder."""

    corpus: Path
    questions: dict[str, str]
    turns: dict[str, list[str]]


@lru_cache(maxsize=1)
def load() -> Recorded:
    """Return the runs that searched, in the order of the recording."""
    wish = os.environ.get(VARIABLE)
    folder = Path(wish) if wish else ROOT.parent / "shared" / "data"
    file = folder / "qa" / "search_r1_traces.jsonl.gz"
    if not file.is_file():
        raise CorpusUnavailableError(f"no recorded runs: set {VARIABLE} or put real data at ../shared/data")
    questions, turns = {}, {}
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if row["turns"] and row["answer"]:
                name = f"{row['run']}/{row['dataset']}/{row['id']}"
                questions[name] = row["question"]
                said = [
                    f"<think>I look it up.</think>\n<search>{turn['query']}</search>" for turn in row["turns"]
                ]
                turns[name] = [*said, f"<think>So.</think>\n<answer>{row['answer']}</answer>"]
    return Recorded(folder / "ir" / "searchr1_wiki_pool", questions, turns)


class Begun:
    """A generator whose first turn begins with a text of ours, by question."""

    def __init__(self, generator: Any, texts: Mapping[str, str]) -> None:
        self.name, self.window = generator.name, generator.window
        self.count_tokens = generator.count_tokens
        self._generator, self._texts = generator, texts

    def generate(self, requests: Sequence[Any]) -> list[Any]:
        """Generate behind the beginnings, which are then part of the answers."""
        begun = [self._texts[one.question] if one.kind == "turn 0" else "" for one in requests]
        asked = [replace(one, prefill=one.prefill + text) for one, text in zip(requests, begun, strict=True)]
        made = self._generator.generate(asked)
        return [
            replace(one, texts=tuple(text + said for said in one.texts))
            for one, text in zip(made, begun, strict=True)
        ]

    def close(self) -> None:
        """Nothing is held."""
