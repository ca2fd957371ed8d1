"""All methods over the prepared seeds, each seed in one pass; what was interrupted pays for nothing twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from sqe_fast._checks import check_int
from sqe_fast._store.files import sha256_of
from sqe_fast._store.settings import Encoder
from sqe_fast.errors import InvalidInputError
from sqe_fast.experiment._run.answers import Answers, Tell
from sqe_fast.experiment.layout import SeedFolder, seed_folders
from sqe_fast.experiment.machine import machine_facts
from sqe_fast.experiment.manifest import changes, read_manifest, write_manifest
from sqe_fast.experiment.questions import Question, load_questions
from sqe_fast.experiment.rows import MethodRows, file_of, read_rows
from sqe_fast.experiment.settings import RunSettings
from sqe_fast.generate.base import Generator

__all__ = ["Ran", "RunSettings", "run"]


@dataclass(frozen=True)
class Ran:
    """The results of one seed.

    Attributes
    ----------
    folder : SeedFolder
    questions, left_out : int
        How many were asked, and how many targets have no question.
    new : bool
        False: the results were there already.
    """

    folder: SeedFolder
    questions: int
    left_out: int
    new: bool

    def rows(self) -> list[MethodRows]:
        """Return the rows of each method, in the order in which they were asked for."""
        told = read_manifest(self.folder.results.manifest)["choices"]["methods"]
        return [read_rows(self.folder.results.path / one["file"]) for one in told.values()]


def run(
    root: str | PathLike[str],
    encoder: Encoder | None,
    generator: Generator | None = None,
    *,
    seeds: Sequence[int] | None = None,
    settings: RunSettings | None = None,
    cache: str | PathLike[str] | None = None,
    chunk: int = 64,
    device: str | None = None,
    threads: int | None = None,
    again: bool = False,
    tell: Tell = lambda _: None,
) -> list[Ran]:
    """Run all methods over the seeds of a prepared experiment.

    Parameters
    ----------
    root
        The folder of the experiment.
    encoder
        That of the stores; None where they have none.
    generator
        What expands questions; None where no method does. One with a method `load` is told to before it is
        timed.
    seeds
        By default all that are prepared.
    settings
        Methods and numbers.
    cache
        A file of generations to share with other runs; by default each seed has its own among its results.
    chunk
        Questions that flow together: what an interruption loses at most, of what the model was asked.
    device, threads
        Of the dense index, and of BM25 and fusion; see `sqe_fast.engine.Engine`.
    again
        Replace results that are there already; what the model wrote is kept.
    tell
        Called with a line of text at each step.

    Raises
    ------
    InvalidInputError
        A seed is not prepared, what was prepared has changed since, results of other settings are there, or
        an argument is not allowed.

    Notes
    -----
    Rows tell what the expansions of a question cost when they were made, also where a cache had them
    (`cached` says so), and for each question as if it were asked alone.
    """
    root = Path(root)
    there = {folder.seed: folder for folder in seed_folders(root)}
    wanted = sorted(there) if seeds is None else [check_int("seeds", seed, 0, 2**63 - 1) for seed in seeds]
    for seed in wanted:
        if seed not in there:
            has = ", ".join(map(str, sorted(there))) or "none"
            raise InvalidInputError(f"{str(root)!r} holds no prepared seed {seed}; it has {has}")
    if not wanted or len(set(wanted)) < len(wanted):
        raise InvalidInputError(f"{str(root)!r}: seeds must be at least one, each once; got {wanted}")
    answers = Answers(encoder, generator, settings or RunSettings(), chunk, device, threads, tell)
    return [_seed(answers, there[seed], None if cache is None else Path(cache), again) for seed in wanted]


def _seed(answers: Answers, folder: SeedFolder, cache: Path | None, again: bool) -> Ran:
    """Run one seed, or find that it has been."""
    questions, left_out = _questions(folder)
    methods = answers.settings.of_seed(folder.seed)
    name = None if answers.generator is None else answers.generator.name
    choices = {
        "prepared": sha256_of(folder.manifest),
        **answers.settings.choices(folder.seed, name),
    }
    results = folder.results
    if results.manifest.is_file():
        had = read_manifest(results.manifest)
        found = changes(had["choices"], choices)
        if had["complete"] and not found and not again:
            _check_files(results.path, had["checksums"])
            return Ran(folder, len(questions), left_out, new=False)
        if had["complete"] and not again:
            raise InvalidInputError(
                f"{str(results.path)!r} holds results of other settings: {'; '.join(found)}. "
                "With again=True (--again) they are replaced"
            )
    elif results.rows() and not again:
        raise InvalidInputError(
            f"{str(results.path)!r} holds rows of another program; with again=True (--again) they are "
            "replaced"
        )
    results.path.mkdir(parents=True, exist_ok=True)
    write_manifest(results.manifest, {"seed": folder.seed, "complete": False, "choices": choices})
    for file in [*results.rows(), results.probes]:
        file.unlink(missing_ok=True)
    told = answers.write(folder, cache or results.generations, questions, methods)
    files = [results.path / file_of(method) for method in methods] + [results.probes]
    write_manifest(
        results.manifest,
        {
            "seed": folder.seed,
            "complete": True,
            "choices": choices,
            "questions": {"asked": len(questions), "left_out": left_out},
            **told,
            "machine": machine_facts(),
            "checksums": {file.name: sha256_of(file) for file in files},
        },
    )
    return Ran(folder, len(questions), left_out, new=True)


def _check_files(folder: Path, checksums: Mapping[str, str]) -> None:
    for name, checksum in checksums.items():
        path = folder / name
        if not path.is_file() or sha256_of(path) != checksum:
            how = "was changed since it was written" if path.is_file() else "is missing"
            raise InvalidInputError(f"{str(path)!r} {how}; again=True (--again) makes the results anew")


def _questions(folder: SeedFolder) -> tuple[list[Question], int]:
    """Return the questions of a prepared seed that have a text, and how many have none."""
    prepared = read_manifest(folder.manifest)
    if not prepared["complete"]:
        raise InvalidInputError(f"{str(folder.path)!r} is not prepared to the end; prepare it again to go on")
    if sha256_of(folder.questions) != prepared["checksums"]["questions.jsonl"]:
        raise InvalidInputError(f"{str(folder.questions)!r} was changed since it was prepared")
    found = load_questions(folder.questions)
    questions = [one for one in found if one.problem is None]
    if not questions:
        raise InvalidInputError(f"{str(folder.questions)!r} holds no question with a text")
    return questions, len(found) - len(questions)
