"""Checks of one seed: rows of all methods against each other, the questions, the manifests and the store."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

from sqe_fast._store.files import sha256_of
from sqe_fast.errors import SqeFastError
from sqe_fast.experiment._verify.finding import Finding
from sqe_fast.experiment._verify.rows import check_rows
from sqe_fast.experiment.layout import ROWS, SeedFolder
from sqe_fast.experiment.manifest import read_manifest
from sqe_fast.experiment.questions import load_questions
from sqe_fast.experiment.rows import METHOD_FILES, MethodRows, read_rows

__all__ = ["SeedCheck"]

RELEASED = tuple(METHOD_FILES.values())


class SeedCheck:
    """All checks of one seed's folder.

    Attributes
    ----------
    rows : int
        How many rows were read.
    """

    def __init__(self, folder: Path, results: Path, seed: int) -> None:
        self._folder = SeedFolder(folder, seed)
        self._results = results
        self._seed = seed
        self._prefix = "" if results == folder else f"{results.name}/"
        self._parts: dict[str, MethodRows] = {}
        self.rows = 0
        self.run: Mapping[str, Any] | None = None
        self.prepared: Mapping[str, Any] | None = None

    def findings(self) -> Iterator[Finding]:
        """Yield all that is wrong, each told from the seed's folder."""
        for found in (
            *self._manifests(),
            *self._read(),
            *self._alone(),
            *self._aligned(),
            *self._recombined(),
            *self._foreseen(),
            *self._asked(),
            *self._stored(),
        ):
            yield Finding(f"{self._folder.path.name}/{found.where}", found.what, found.query_id)

    @property
    def choices(self) -> Mapping[str, Any]:
        """What the run's manifest says was chosen; empty without one."""
        return (self.run or {}).get("choices") or {}

    def _file(self, rows: MethodRows) -> str:
        """Return the path of a file of rows in the seed's folder."""
        return self._prefix + rows.path.name

    def _line(self, rows: MethodRows, i: int) -> str:
        return f"{self._file(rows)}:{rows.lines[i]}"

    def _chosen(self, method: str) -> Mapping[str, Any] | None:
        return (self.choices.get("methods") or {}).get(method)

    def _manifests(self) -> Iterator[Finding]:
        """Manifests against the folder, and files against the checksums in them."""
        self.prepared = yield from self._manifest(self._folder.manifest, "manifest.json")
        self.run = yield from self._manifest(self._results / "manifest.json", "results/manifest.json")
        if self.run is not None and not _is_run(self.run):
            yield Finding("results/manifest.json", "does not say which methods were run, as run writes it")
            self.run = None
        made_from = self.choices.get("prepared")
        if (
            self.prepared is not None
            and made_from is not None
            and made_from != sha256_of(self._folder.manifest)
        ):
            yield Finding(
                "results/manifest.json", "the run was made from another manifest.json than is there"
            )
        for manifest, folder, name, prefix in (
            (self.prepared, self._folder.path, "manifest.json", ""),
            (self.run, self._results, "results/manifest.json", self._prefix),
        ):
            for file, checksum in ((manifest or {}).get("checksums") or {}).items():
                if isinstance(checksum, str) and "." in file:
                    path = folder / file
                    if not path.is_file():
                        yield Finding(prefix + file, f"is missing; {name} has its checksum")
                    elif sha256_of(path) != checksum:
                        yield Finding(prefix + file, f"was changed: another checksum than in {name}")

    def _manifest(self, path: Path, name: str) -> Generator[Finding, None, dict[str, Any] | None]:
        """Read a manifest and return it (None where there is none), yielding what is wrong with it."""
        if not path.is_file():
            return None
        try:
            told = read_manifest(path)
        except SqeFastError as error:
            yield Finding(name, str(error))
            return None
        if told.get("seed") != self._seed:
            yield Finding(name, f"is of seed {told.get('seed')}, in the folder of seed {self._seed}")
        if told.get("complete") is False:
            yield Finding(name, "was not completed")
        return told

    def _read(self) -> Iterator[Finding]:
        files = {path.name for path in self._results.glob(f"*{ROWS}")}
        wanted = [one["file"] for one in (self.choices.get("methods") or {}).values()] or list(RELEASED)
        for name in wanted:
            if name not in files:
                yield Finding(self._prefix + name, "is missing")
        for name in sorted(files):
            try:
                rows = read_rows(self._results / name)
            except SqeFastError as error:
                yield Finding(self._prefix + name, str(error))
                continue
            self._parts[rows.method] = rows
            self.rows += len(rows)

    def _alone(self) -> Iterator[Finding]:
        for rows in self._parts.values():
            try:
                yield from check_rows(rows, self._file(rows), self._seed, self._chosen(rows.method))
            except SqeFastError as error:  # a rate or threshold that no gate can have
                yield Finding("results/manifest.json", f"{rows.method}: {error}")

    def _reference(self) -> tuple[str, dict[str, tuple[str, str]]] | None:
        """Return what every file must hold, by query_id: the questions asked, else what most files say."""
        if self._folder.questions.is_file():
            asked = load_questions(self._folder.questions)
            return "questions.jsonl", {one.id: (one.text, one.target) for one in asked if one.problem is None}
        if not self._parts:
            return None
        votes: dict[str, dict[tuple[str, str], list[str]]] = {}
        for rows in self._parts.values():
            for key in zip(rows.query_ids, rows.queries, rows.targets, strict=True):
                votes.setdefault(key[0], {}).setdefault(key[1:], []).append(rows.path.name)
        common = {name: max(given, key=lambda one: len(given[one])) for name, given in votes.items()}
        half = len(self._parts) / 2
        kept = {name: one for name, one in common.items() if len(votes[name][one]) >= half}
        return "most files", kept

    def _aligned(self) -> Iterator[Finding]:
        """Hold each file's query ids, queries and targets against the reference, and their order."""
        try:
            reference = self._reference()
        except SqeFastError as error:
            yield Finding("questions.jsonl", str(error))
            return
        if reference is None:
            return
        source, wanted = reference
        for rows in self._parts.values():
            file = self._file(rows)
            for i, query_id in enumerate(rows.query_ids):
                where = self._line(rows, i)
                if query_id not in wanted:
                    yield Finding(where, f"there is no such query in {source}", query_id)
                    continue
                query, target = wanted[query_id]
                if rows.targets[i] != target:
                    yield Finding(
                        where, f"the target is {rows.targets[i]!r}; in {source} it is {target!r}", query_id
                    )
                if rows.queries[i] != query:
                    yield Finding(where, f"another query than in {source}", query_id)
            for query_id in sorted(set(wanted) - set(rows.query_ids)):
                yield Finding(file, f"has no row of it; {source} has one", query_id)
            if source == "questions.jsonl" and set(rows.query_ids) == set(wanted):
                first = next((i for i, one in enumerate(wanted) if rows.query_ids[i] != one), None)
                if first is not None:
                    where = self._line(rows, first)
                    yield Finding(where, f"stands out of the order of {source}", rows.query_ids[first])

    def _recombined(self) -> Iterator[Finding]:
        """Hold methods with a gate against Always-Expand where they expand, and Dense-Only where not."""
        if self.run is None:
            return  # only our runs share one expansion of a question among methods
        for name in ("Selective-QE", "Random-Gated-Expansion", "Oracle"):
            rows = self._parts.get(name)
            for other, expanded in (("Dense-Only", False), ("Always-Expand", True)):
                source = self._parts.get(other)
                if rows is None or source is None or not self._alike(name, other):
                    continue
                at = {query_id: i for i, query_id in enumerate(source.query_ids)}
                for i, query_id in enumerate(rows.query_ids):
                    j = at.get(query_id)
                    if j is None or bool(rows.expanded[i]) is not expanded or source.expanded[j] != expanded:
                        continue
                    if rows.retrieved[i] != source.retrieved[j]:
                        where = self._line(rows, i)
                        line = self._line(source, j)
                        yield Finding(where, f"other retrieved_ids than {line}, by the same lists", query_id)

    def _foreseen(self) -> Iterator[Finding]:
        """Check that the oracle expands just where Always-Expand hits and Dense-Only misses."""
        oracle, always, dense = (self._parts.get(name) for name in ("Oracle", "Always-Expand", "Dense-Only"))
        if oracle is None or always is None or dense is None:
            return
        at = (self._chosen("Oracle") or {}).get("at")
        same = oracle.query_ids == always.query_ids == dense.query_ids
        if not (same and type(at) is int and at > 0 and self._alike("Oracle", "Always-Expand")):
            return
        helped = always.hit(at) & ~dense.hit(at)
        for i in (helped != oracle.expanded).nonzero()[0].tolist():
            told = "expansion helps within" if helped[i] else "expansion does not help within"
            what = f"expanded is {str(bool(oracle.expanded[i])).lower()}, but {told} {at}"
            yield Finding(self._line(oracle, i), what, oracle.query_ids[i])

    def _alike(self, name: str, other: str) -> bool:
        """Whether two methods were run with the same numbers of lists and hits."""
        ours, theirs = self._chosen(name) or {}, self._chosen(other) or {}
        own = {"file", "gate", "lists"}  # the lists of a question that is not expanded are not all of them
        told = ours.get("lists") or []
        lists = told if other == "Always-Expand" else [one for one in told if str(one).startswith("question")]
        return lists == (theirs.get("lists") or []) and all(
            ours.get(key) == value for key, value in theirs.items() if key not in own
        )

    def _asked(self) -> Iterator[Finding]:
        """Check that a question has the same best dense score, whichever method asked it."""
        first: dict[str, tuple[float, str]] = {}
        for rows in self._parts.values():
            for i, query_id in enumerate(rows.query_ids):
                score = rows.top1[i]
                if score == score:  # noqa: PLR0124, a nan is not equal to itself
                    where = self._line(rows, i)
                    had = first.setdefault(query_id, (score, where))
                    if had[0] != score:
                        what = f"top1_score_before_expansion is {score}; in {had[1]} it is {had[0]}"
                        yield Finding(where, what, query_id)

    def _stored(self) -> Iterator[Finding]:
        """Check that every target is in the store and in its index, and every hit."""
        if not self._folder.memory.is_dir():
            return
        from sqe_fast.store import MemoryStore

        try:
            with MemoryStore.open(self._folder.memory, read_only=True) as store:
                for problem in store.verify(repair=False).problems:
                    yield Finding("memory", problem)
                counted = ((self.prepared or {}).get("counts") or {}).get("memory")
                if counted is not None and counted != len(store):
                    yield Finding("memory", f"holds {len(store)} episodes; manifest.json says {counted}")
                indexed = set(store.ids(list(range(len(store.snapshot)))))
                kept = {episode.id for episode in store}
                yield from self._known(kept, indexed)
        except SqeFastError as error:
            yield Finding("memory", str(error))

    def _known(self, kept: set[str], indexed: set[str]) -> Iterator[Finding]:
        for rows in self._parts.values():
            for i, query_id in enumerate(rows.query_ids):
                where = self._line(rows, i)
                for place, ids in (("store", kept), ("index", indexed)):
                    if rows.targets[i] not in ids:
                        yield Finding(
                            where, f"the target {rows.targets[i]!r} is not in the {place}", query_id
                        )
                strange = [one for one in rows.retrieved[i] if one not in indexed]
                if strange:
                    yield Finding(
                        where, f"retrieved_ids hold {strange[0]!r}, which the index lacks", query_id
                    )


def _is_run(told: Mapping[str, Any]) -> bool:
    """Whether a manifest has the form that `run` gives it, as far as it is used here."""
    choices = told.get("choices")
    methods = choices.get("methods") if isinstance(choices, dict) else None
    return isinstance(methods, dict) and all(
        isinstance(one, dict) and isinstance(one.get("file"), str) and isinstance(one.get("k", 1), int)
        for one in methods.values()
    )
