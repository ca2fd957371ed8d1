"""The batched pass: questions flow in chunks through encode, search, gate, expand and fuse.

A chunk's questions are encoded and looked up at once, the gate decides on all of them, one call of the model
expands those that need it (while the next chunk begins), all probes are encoded at once while BM25 looks them
up on other threads, and one call fuses.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from itertools import islice
from threading import Lock
from typing import Any

from sqe_fast._checks import check_choice, check_int, check_texts, check_threads, describe
from sqe_fast._engine.chunk import Chunk, Pass
from sqe_fast._engine.pipeline import overlapped
from sqe_fast._engine.probes import Expands
from sqe_fast._engine.searcher import Searcher
from sqe_fast._store.settings import Encoder
from sqe_fast.batch import SearchBatch
from sqe_fast.errors import InvalidInputError, InvalidTypeError
from sqe_fast.expand import Expander
from sqe_fast.expansion.cache import ExpansionCache
from sqe_fast.gate.gates import OracleGate
from sqe_fast.gate.signals import SIGNALS
from sqe_fast.generate.base import Generator
from sqe_fast.methods import Method, get_method
from sqe_fast.store import MemoryStore, Snapshot

__all__ = ["CHUNK", "Engine"]

CHUNK = 1024  # questions: enough to fill a model's batches, little to hold
MAX_CHUNK = 2**20


class Engine:
    """Answers questions from a memory store, by any method of the SQE protocol.

    Parameters
    ----------
    store : MemoryStore or Snapshot
        What is searched. Of a store, each search takes the snapshot that is current when it begins; a
        reader moves on with ``store.refresh()``.
    encoder : Encoder, optional
        The one that the store was made with; by default the one it was opened with. BM25-Only needs none.
    generator : Generator or Expander, optional
        What expands questions; methods that never do need none. See `sqe_fast.generate.make_generator`.
    cache : ExpansionCache, optional
        Where generations are kept; with a Generator only (an Expander has its own).
    factory, device
        Of the dense index, see `sqe_fast.dense.DenseIndex.build`.
    chunk : int
        Questions that flow together; memory grows with it and not with the number of questions.
    threads : int, optional
        CPU threads of BM25 and fusion; by default all CPUs.

    Raises
    ------
    InvalidInputError, InvalidTypeError
        An argument is of the wrong kind, or the encoder is not the store's.

    Notes
    -----
    A question of nothing but white space has no answer: no hits, and `problems` says why. Repeated questions
    are looked up and generated once a chunk. An engine may be used from several threads at once.

    Examples
    --------
    >>> import tempfile
    >>> store = MemoryStore.create(tempfile.mkdtemp())
    >>> _ = store.add([{"id": "a", "text": "pip failed: no network"}, {"id": "b", "text": "git push"}])
    >>> _ = store.commit()
    >>> batch = Engine(store).search(["why did pip fail?"], method="bm25", k=1)
    >>> batch.ids, batch.expanded.tolist()
    ((('a',),), [False])
    >>> store.close()
    """

    def __init__(
        self,
        store: MemoryStore | Snapshot,
        encoder: Encoder | None = None,
        generator: Generator | Expander | None = None,
        *,
        cache: ExpansionCache | None = None,
        factory: str = "Flat",
        device: str | None = None,
        chunk: int = CHUNK,
        threads: int | None = None,
    ) -> None:
        if not isinstance(store, (MemoryStore, Snapshot)):
            raise InvalidTypeError(f"store must be a MemoryStore or a Snapshot; got {describe(store)}")
        if encoder is None and isinstance(store, MemoryStore):
            encoder = store.encoder
        self._store = store
        self._expander = _expander(generator, cache)
        self._chunk = check_int("chunk", chunk, 1, MAX_CHUNK)
        self._threads = check_threads(threads)
        self._make = partial(Searcher, encoder=encoder, factory=factory, device=device, threads=self._threads)
        self._lock = Lock()
        self._searcher: Searcher = self._make(self.snapshot)

    @property
    def snapshot(self) -> Snapshot:
        """What a search that begins now sees."""
        return self._store if isinstance(self._store, Snapshot) else self._store.snapshot

    def search(
        self,
        questions: Iterable[str],
        method: str | Method = "sqe",
        k: int | None = None,
        *,
        targets: Iterable[str | Collection[str]] | None = None,
        signals: Iterable[str] = (),
        **numbers: Any,
    ) -> SearchBatch:
        """Answer questions by one method.

        Parameters
        ----------
        questions : iterable of str
            n questions.
        method : str or Method
            See `sqe_fast.methods.get_method`.
        k : int, optional
            Hits of each answer; by default the method's own, 5.
        targets : iterable of (str or collection of str), optional
            The ids that answer each question; only the oracle looks at them, and needs them.
        signals : iterable of str, optional
            Names of `sqe_fast.gate.SIGNALS` that the result is to tell, beside those that it tells anyway.
            They change no answer; what they need is looked up for them.
        numbers
            Other numbers of the method, such as ``threshold=0.6``.

        Returns
        -------
        SearchBatch
            One row a question, in order.

        Raises
        ------
        InvalidInputError, InvalidTypeError
            An argument is not allowed, or the method needs an encoder, a generator or targets that are not
            there. What fails for single questions is told in `SearchBatch.problems` instead.
        """
        parts = list(self.search_stream(questions, method, k, targets=targets, signals=signals, **numbers))
        return SearchBatch.concat(parts)

    def search_stream(
        self,
        questions: Iterable[str],
        method: str | Method = "sqe",
        k: int | None = None,
        *,
        targets: Iterable[str | Collection[str]] | None = None,
        signals: Iterable[str] = (),
        **numbers: Any,
    ) -> Iterator[SearchBatch]:
        """Answer questions by one method, yielding a SearchBatch for each chunk; arguments as for `search`.

        `questions` is read as a stream, one chunk ahead of what is yielded, so memory stays the same for any
        number of them. Without questions, one empty batch is yielded.
        """
        chosen = _chosen(method, k, numbers)
        return (parts[0] for parts in self._run(questions, [chosen], targets, signals))

    def search_methods(
        self,
        questions: Iterable[str],
        methods: Iterable[str | Method],
        k: int | None = None,
        *,
        targets: Iterable[str | Collection[str]] | None = None,
        signals: Iterable[str] = (),
    ) -> dict[str, SearchBatch]:
        """Answer questions by several methods at once, sharing all work.

        Each text is encoded, generated and looked up once for all methods (in each chunk). What a method
        returns is what it returns alone, its usage too: what it would have cost by itself. Where methods
        differ in K or P, those with fewer take the first; generators tell the tokens of an answer and not of
        each sample, so theirs are an equal share of it, marked as estimated.

        Parameters
        ----------
        questions, k, targets, signals
            As for `search`.
        methods : iterable of (str or Method)
            Of different names; for one method with other numbers rename it with `dataclasses.replace`.

        Returns
        -------
        dict of str to SearchBatch
            By the method's name, in the order given.
        """
        if isinstance(methods, (str, Method)) or not isinstance(methods, Iterable):
            raise InvalidTypeError(f"methods must be a list of methods; got {describe(methods)}")
        chosen = [_chosen(method, k, {}) for method in methods]
        names = [method.name for method in chosen]
        if repeated := {name for name in names if names.count(name) > 1}:
            raise InvalidInputError(
                f"methods must differ in name; got {min(repeated)!r} more than once "
                "(dataclasses.replace(method, name=...) gives another)"
            )
        if not chosen:
            raise InvalidInputError("methods must hold at least one method")
        chunks = list(self._run(questions, chosen, targets, signals))
        return {
            name: SearchBatch.concat([parts[number] for parts in chunks]) for number, name in enumerate(names)
        }

    def _run(
        self,
        questions: Iterable[str],
        methods: Sequence[Method],
        targets: Iterable[str | Collection[str]] | None,
        signals: Iterable[str],
    ) -> Iterator[list[SearchBatch]]:
        """Check everything that concerns all questions, then return the stream of chunks."""
        searcher = self._current()
        names = [check_choice("signals", name, tuple(SIGNALS)) for name in check_texts("signals", signals)]
        if any("dense" in SIGNALS[name].indexes for name in names):
            searcher.need_dense("a signal of dense lists")
        for name in names:
            if "rows" in SIGNALS[name].needs:
                searcher.need_rows(f"the signal {name!r}")
        for method in methods:
            self._check(method, searcher, targets is not None)
        stream = _chunks(check_texts("questions", questions), targets, self._chunk)
        return self._flow(Pass(methods, searcher, self._expander, self._threads, names), stream)

    def _flow(self, work: Pass, stream: Iterator[Chunk]) -> Iterator[list[SearchBatch]]:
        work.resume()
        with ThreadPoolExecutor(1, thread_name_prefix="sqe-bm25") as beside:
            first = partial(work.ask, beside=beside)
            second = partial(work.expand, beside=beside)
            with closing(overlapped(stream, first, second, work.answer)) as results:
                for result in results:
                    yield result
                    work.resume()

    def _current(self) -> Searcher:
        snapshot = self.snapshot
        with self._lock:
            if self._searcher.snapshot is not snapshot:
                self._searcher = self._make(snapshot)
            return self._searcher

    def _check(self, method: Method, searcher: Searcher, has_targets: bool) -> None:
        has = searcher.snapshot.settings["bm25"]["tokenizer"]
        if method.tokenizer is not None and has != method.tokenizer:
            warnings.warn(
                f"{method.alias} was chosen for stores with the tokenizer {method.tokenizer!r}; this one has "
                f"{has!r}, with which BM25 finds less of what agents write",
                stacklevel=5,
            )
        indexes = {index for source in method.lists + method.added for index in source.indexes}
        if "dense" in method.question_indexes | indexes:
            searcher.need_dense(method.name)
        whole = any("rows" in SIGNALS[name].needs for name in method.gate.signals)
        if whole or (method.fusion != "rrf" and "dense" in indexes and len(method.list_names) > 1):
            searcher.need_rows(method.name)
        if method.expands and self._expander is None:
            raise InvalidInputError(
                f"{method.name} expands questions; give what does it as Engine(store, generator=...), see "
                "sqe_fast.generate.make_generator"
            )
        if isinstance(method.gate, OracleGate):
            if not has_targets:
                raise InvalidInputError(f"{method.name} needs targets, the ids that answer each question")
            if method.gate.at > method.k:
                raise InvalidInputError(
                    f"{method.name} looks at the first {method.gate.at} hits (its number `at`), so k must be "
                    f"at least that; got {method.k}"
                )


def _chosen(method: str | Method, k: int | None, numbers: dict[str, Any]) -> Method:
    return get_method(method, **numbers, **({} if k is None else {"k": k}))


def _expander(given: Any, cache: ExpansionCache | None) -> Expands | None:
    if given is None or hasattr(given, "expand"):
        if cache is not None:
            raise InvalidInputError("cache goes with a generator; an Expander takes its own")
        expander: Expands | None = given
        return expander
    return Expander(given, cache)


def _chunks(
    questions: Iterable[str], targets: Iterable[str | Collection[str]] | None, size: int
) -> Iterator[Chunk]:
    """Yield the questions in chunks, checked, each with its targets; without questions one empty chunk."""
    rest = iter(questions)
    aims = None if targets is None else iter(targets)
    start = 0
    while True:
        part = tuple(islice(rest, size))
        for position, question in enumerate(part, start):
            if not isinstance(question, str):
                raise InvalidTypeError(f"questions[{position}] must be a str; got {describe(question)}")
        if part or not start:
            yield Chunk(part, None if aims is None else _aims(aims, start, len(part)))
        start += len(part)
        if len(part) < size:
            break
    if aims is not None and next(aims, None) is not None:
        raise InvalidInputError(f"targets must have one entry a question, {start}; got more")


def _aims(aims: Iterator[str | Collection[str]], start: int, n: int) -> list[list[str]]:
    """Return the target ids of the next n questions."""
    found = []
    for position, aim in enumerate(islice(aims, n), start):
        ids = [aim] if isinstance(aim, str) else list(aim) if isinstance(aim, Collection) else [aim]
        if not all(isinstance(one, str) for one in ids):
            raise InvalidTypeError(
                f"targets[{position}] must be an id or a collection of ids; got {describe(aim)}"
            )
        found.append(ids)
    if len(found) < n:
        raise InvalidInputError(f"targets must have one entry a question; got {start + len(found)}")
    return found
