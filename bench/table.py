"""Print ours / theirs / ratio as Markdown: `python -m bench.table [--quick] [--only TEXT] [--json FILE]`."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
import warnings
from pathlib import Path

from bench import machine
from bench.corpora import CorpusUnavailableError
from bench.memory import ProbeError
from bench.oracle import WrongResultError
from bench.peers import EngineUnavailableError
from bench.rows import FULL, GOALS, QUICK, Context, Row, all_cases

__all__ = ["main"]

HEAD = "| case | ours | theirs | unit | ours against theirs | reached |\n|---|---:|---:|---|---:|---|"


def main(arguments: list[str] | None = None) -> int:
    """Measure, print the table, return 1 where a result was wrong or a row failed."""
    options = parse(arguments)
    settings = QUICK if options.quick else FULL
    wanted = [case for case in all_cases(settings) if options.only.lower() in case.title.lower()]
    if options.list:
        print("\n".join(case.title for case in wanted))
        return 0
    warnings.simplefilter("ignore")  # of the peers' own libraries
    facts, context = machine.describe(), Context(settings)
    rows: list[Row] = []
    skipped: list[tuple[str, str]] = []
    failed = False
    begin = time.perf_counter()
    for number, case in enumerate(wanted, start=1):
        print(f"[{number}/{len(wanted)}] {case.title}", file=sys.stderr, flush=True)
        start = time.perf_counter()
        try:
            rows.append(case.run(context))
        except (EngineUnavailableError, CorpusUnavailableError) as error:
            skipped.append((case.title, f"skipped: {error}"))
        except (WrongResultError, ProbeError, ImportError) as error:
            failed = True
            skipped.append((case.title, f"FAILED: {error}"))
        print(f"    {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
    context.drop()
    facts["corpora (CRC-32)"] = ", ".join(f"{name} {crc}" for name, crc in context.checksums.items())
    facts["mode"] = f"{'quick' if options.quick else 'full'}, {time.perf_counter() - begin:,.0f} s"
    print(markdown(facts, rows, skipped))
    if options.json:
        save(options.json, facts, rows, skipped)
    return int(failed)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.table", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer queries and repeats, k 10 only")
    parser.add_argument("--only", default="", metavar="TEXT", help="only rows whose title holds TEXT")
    parser.add_argument("--list", action="store_true", help="print the rows' titles and measure nothing")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures to FILE")
    return parser.parse_args(arguments)


def markdown(facts: dict[str, str], rows: list[Row], skipped: list[tuple[str, str]]) -> str:
    """Lay out the machine, one table for each goal, and what was not measured."""
    parts = [machine.markdown(facts)]
    for name, goal in GOALS.items():
        of_goal = [row for row in rows if row.goal == name]
        if not of_goal:
            continue
        sign = ">=" if goal.higher else "<="
        limits = f" (bar {sign} {goal.bar:,g}, goal {sign} {goal.goal:,g})" if goal.bar and goal.goal else ""
        parts.append(f"**{name}**{limits}\n\n{HEAD}\n" + "\n".join(line(row) for row in of_goal))
        notes = [f"{row.case}: {row.note}" for row in of_goal if row.note]
        if notes:
            parts.append("\n".join(f"- {note}" for note in notes))
    if skipped:
        parts.append("**Not measured**\n\n" + "\n".join(f"- {title}: {reason}" for title, reason in skipped))
    return "\n\n".join(parts)


def line(row: Row) -> str:
    """Lay out one row."""
    theirs = ratio = "-"
    if row.theirs is not None:
        theirs = number(row.theirs)
        ratio = f"{row.ours / row.theirs if row.unit == 'MB' else row.value:.2f}x"
    return f"| {row.case} | {number(row.ours)} | {theirs} | {row.unit} | {ratio} | {row.reached} |"


def number(value: float) -> str:
    """Write a figure with three meaningful digits or whole."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def save(path: Path, facts: dict[str, str], rows: list[Row], skipped: list[tuple[str, str]]) -> None:
    """Write everything as JSON."""
    data = {
        "machine": facts,
        "rows": [dataclasses.asdict(row) | {"reached": row.reached} for row in rows],
        "skipped": [{"row": title, "reason": reason} for title, reason in skipped],
    }
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
