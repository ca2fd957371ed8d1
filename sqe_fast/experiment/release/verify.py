"""Reads a release and makes all checks of it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sqe_fast.errors import RecordError
from sqe_fast.experiment.layout import ROWS
from sqe_fast.experiment.release.audit import Audit, ReleaseReport
from sqe_fast.experiment.release.crossseed import check_cross_seed
from sqe_fast.experiment.release.document import Node
from sqe_fast.experiment.release.gates import check_gates
from sqe_fast.experiment.release.grids import LeftOut, left_out
from sqe_fast.experiment.release.multiseed import check_multiseed
from sqe_fast.experiment.release.paper import check_audit, check_full_report, check_measured, check_repeated
from sqe_fast.experiment.release.rows import check_against_rows
from sqe_fast.experiment.release.seeds import Release, check_seeds
from sqe_fast.experiment.rows import Experiment, read_experiment

__all__ = ["read_release", "verify_documents", "verify_release"]

_SEED_FOLDER = re.compile(r"^results_(?!tokenmeasured).*_seed(\d+)$")

TABLES: Mapping[str, str] = MappingProxyType(
    {
        "main": "held against three copies; its hits need per-query rows",
        "multi-seed": "recomputed from the seeds' recalls",
        "paired": "differences recomputed; the intervals against Dense-Only resampled from wins and losses; "
        "the other intervals and p-values need per-query rows",
        "wins-losses": "totals, rates and both recalls recomputed; which questions need per-query rows",
        "cost": "rates and estimated calls recomputed; averages of seconds need per-query rows",
        "measured-tokens": "rates and totals recomputed; the averages themselves need per-query rows",
        "gate-split": "recomputed from its counts; which questions need per-query rows",
        "threshold-sweep": "R@5 and expanded questions recomputed from the leave-one-out grids; "
        "R@1 and R@10 only at .45, .65 and .80, between them they need per-query rows",
        "split-validation": "choices, held-out R@5 and expansion recomputed",
        "held-out-paired": "recalls and differences recomputed; intervals and p need per-query rows",
        "leave-one-seed-out": "choices, held-out R@5 and expansion recomputed; interval and p need "
        "per-query rows",
        "gate-variants": "choices, held-out R@5 and expansion recomputed",
        "gate-features": "choices recomputed; held-out R@5 only of top-1 gates: margin and concentration "
        "need per-query rows and scores",
        "oracle-headroom": "recomputed from helpful and harmful shares; the shares need per-query rows",
        "case-examples": "cannot be recomputed: needs per-query rows",
    }
)

WITH_ROWS = "recomputed from the per-query rows that are at hand, as far as no random numbers are in it"


def read_release(root: str | PathLike[str]) -> dict[str, Any]:
    """Read every JSON file of a release, by its path in it.

    Raises
    ------
    RecordError
        `root` is no folder, holds no seed's results, or a file is not JSON.
    """
    folder = Path(root)
    documents: dict[str, Any] = {}
    for path in sorted(folder.rglob("*.json")):
        try:
            documents[path.relative_to(folder).as_posix()] = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise RecordError(f"{path}: not readable as JSON: {error}") from None
    if not _folders(documents):
        raise RecordError(f"{folder}: no SQE release: there is no folder such as results_500_memory_seed42")
    return documents


def verify_release(root: str | PathLike[str]) -> ReleaseReport:
    """Recompute what a published SQE release declares, and compare.

    Parameters
    ----------
    root : path
        A folder as the release has it: ``results_500_memory_seed42``, ``results_multiseed``,
        ``results_gate_calibration``, ``results_tokenmeasured_500_seed42``, ``human_audit``. Where its
        per-query rows lie beside the summaries (``*_detailed.jsonl``), they are held against each other too.

    Returns
    -------
    ReleaseReport

    Raises
    ------
    RecordError
        As `read_release`. A missing file or key inside a release is a problem in the report instead.
    """
    documents = read_release(root)
    rows = next(Path(root).glob(f"*/*{ROWS}"), None)
    return verify_documents(documents, None if rows is None else read_experiment(root))


def verify_documents(documents: Mapping[str, Any], experiment: Experiment | None = None) -> ReleaseReport:
    """Check a release given as parsed JSON by path, with its rows if they are at hand."""
    nodes = {file: Node(file, value) for file, value in documents.items()}
    folders = _folders(documents)
    release = Release(nodes, folders, _questions(nodes, folders))
    audit = Audit()
    known = LeftOut({seed: {} for seed in folders}, {seed: {} for seed in folders})
    with audit.section():
        known = left_out(audit, release)
    with audit.section():
        check_seeds(audit, release)
    check_multiseed(audit, release)
    check_cross_seed(audit, release, known)
    check_gates(audit, release, known)
    check_full_report(audit, release, known)
    with audit.section():
        check_measured(audit, release)
    with audit.section():
        check_repeated(audit, release)
    with audit.section():
        check_audit(audit, release)
    if experiment is not None:
        check_against_rows(audit, release, experiment)
    numbers = [node for document in nodes.values() for node in document.numbers()]
    pinned = tuple(node for node in numbers if node.key in audit.pinned)
    others = [node for node in numbers if node.key not in audit.pinned]
    free = tuple(node for node in others if node.key not in audit.bounded)
    return ReleaseReport(
        problems=tuple(audit.problems),
        suspects=audit.suspects(),
        checks=audit.checks,
        numbers=len(numbers),
        bounded=len(others) - len(free),
        files=len(nodes),
        pinned_nodes=pinned,
        free=free,
        tables=TABLES if experiment is None else MappingProxyType(dict.fromkeys(TABLES, WITH_ROWS)),
    )


def _folders(documents: Mapping[str, Any]) -> dict[int, str]:
    """Return the folder of each seed, by seed."""
    names = {file.partition("/")[0] for file in documents}
    matches = [match for match in map(_SEED_FOLDER.match, sorted(names)) if match]
    return {int(match[1]): match[0] for match in sorted(matches, key=lambda match: int(match[1]))}


def _questions(nodes: Mapping[str, Node], folders: Mapping[int, str]) -> int:
    """How many questions each seed has: what most of the summaries say."""
    counts: Counter[int] = Counter()
    for folder in folders.values():
        baselines = nodes.get(f"{folder}/baselines_summary.json")
        for entry in (baselines.value if baselines is not None else None) or []:
            if isinstance(entry, dict) and isinstance(entry.get("n_queries"), int):
                counts[entry["n_queries"]] += 1
    return counts.most_common(1)[0][0] if counts else 0
