"""Where an experiment keeps what: one folder a seed, and in it the store, the questions and the results.

::

    EXP/seed42/manifest.json         every choice of `prepare`, and the checksums of what came of them
    EXP/seed42/memory/               the store
    EXP/seed42/questions.jsonl       one line a target
    EXP/seed42/questions.sqlite      what the model wrote for them, kept so that nothing is paid for twice
    EXP/seed42/prepare.log.jsonl     when and on what machine; the only other file that tells runs apart
    EXP/seed42/results/              of `run`: rows, probes.jsonl, manifest.json, generations.sqlite
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PROBES", "ROWS", "ResultsFolder", "SeedFolder", "seed_folders", "seed_of"]

ROWS = "_detailed.jsonl"  # what the name of a row file ends with
PROBES = "probes.jsonl"

_SEED_FOLDER = re.compile(r"(?:^|[^a-z])seed[_-]?(\d+)$")


@dataclass(frozen=True)
class ResultsFolder:
    """What `run` leaves behind."""

    path: Path

    @property
    def manifest(self) -> Path:
        """Models, versions, hardware, settings, wall time, checksums of the rows."""
        return self.path / "manifest.json"

    @property
    def probes(self) -> Path:
        """Every probe's own list, for each question."""
        return self.path / PROBES

    @property
    def generations(self) -> Path:
        """The expansions, as an `ExpansionCache`."""
        return self.path / "generations.sqlite"

    def rows(self) -> list[Path]:
        """Return the row files that are there."""
        return sorted(self.path.glob(f"*{ROWS}"))


@dataclass(frozen=True)
class SeedFolder:
    """The folder of one seed."""

    path: Path
    seed: int

    @classmethod
    def of(cls, root: Path, seed: int) -> SeedFolder:
        """Return that of a seed below the root of an experiment, there or not."""
        return cls(root / f"seed{seed}", seed)

    @property
    def manifest(self) -> Path:
        """Choices and checksums of `prepare`."""
        return self.path / "manifest.json"

    @property
    def memory(self) -> Path:
        """The store."""
        return self.path / "memory"

    @property
    def questions(self) -> Path:
        """One line a target, in the order in which the targets were drawn."""
        return self.path / "questions.jsonl"

    @property
    def question_cache(self) -> Path:
        """What the model wrote, as an `ExpansionCache`."""
        return self.path / "questions.sqlite"

    @property
    def log(self) -> Path:
        """One line a call of `prepare` that did something."""
        return self.path / "prepare.log.jsonl"

    @property
    def results(self) -> ResultsFolder:
        """What `run` leaves behind."""
        return ResultsFolder(self.path / "results")


def seed_of(folder: Path) -> int | None:
    """Return the seed that a folder's name ends with.

    Examples
    --------
    >>> seed_of(Path("seed42")), seed_of(Path("results_500_memory_seed43")), seed_of(Path("results"))
    (42, 43, None)
    """
    match = _SEED_FOLDER.search(folder.name.lower())
    return int(match[1]) if match else None


def seed_folders(root: Path) -> list[SeedFolder]:
    """Return the seeds below `root` that `prepare` has begun, in rising order."""
    if not root.is_dir():
        return []
    found = [SeedFolder(folder, seed) for folder in root.iterdir() if (seed := seed_of(folder)) is not None]
    return sorted((one for one in found if one.manifest.is_file()), key=lambda one: one.seed)
