"""Print every table of docs/quality.md, as Markdown."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from bench.quality.basis import basis_table
from bench.quality.dev import STRENGTHS, dev_set
from bench.quality.elsewhere import elsewhere_table
from bench.quality.expanding import acceptance_table, counts_table, stop_table
from bench.quality.gating import gates_table, paper_outcomes, plus_outcomes
from bench.quality.plus import carry_table, choices_table, plus_table
from sqe_fast.experiment.render import markdown_text
from sqe_fast.experiment.table import Table


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.quality", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="holds agent_memory")
    parser.add_argument("--tokenizer", default="minilm", help="what counts tokens")
    parser.add_argument(
        "--only", help="names of tables, with commas; elsewhere takes minutes and must be named"
    )
    given = parser.parse_args()
    with dev_set(given.data, given.tokenizer) as dev:
        tables: dict[str, Callable[[], Table]] = {
            "basis": lambda: basis_table(dev),
            "gates-plus": lambda: gates_table(
                plus_outcomes(dev),
                "gates-plus",
                "Gates that expand 48% of the questions: hybrid+ to sqe+, strong expansions",
            ),
        }
        for strength in STRENGTHS:
            tables[f"gates-{strength}"] = lambda strength=strength: gates_table(
                paper_outcomes(dev, strength),
                f"gates-{strength}",
                f"Gates that expand 48% of the questions: dense to Always-Expand, {strength} expansions",
            )
        tables |= {
            "counts": lambda: counts_table(dev),
            "stops": lambda: stop_table(dev),
            "acceptance": lambda: acceptance_table(dev),
            "plus": lambda: plus_table(dev),
            "choices": lambda: choices_table(dev),
            "carry": lambda: carry_table(given.data, given.tokenizer),
        }
        wanted = list(tables) if given.only is None else given.only.split(",")
        tables["elsewhere"] = lambda: elsewhere_table(given.data)
        for name in wanted:
            print(markdown_text(tables[name]()), flush=True)


if __name__ == "__main__":
    main()
