"""BM25 over documents in memory or in a mapped file: exact top-k search, score rows, adding, deleting."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sqe_fast import _core
from sqe_fast._checks import (
    check_choice,
    check_int,
    check_number,
    check_texts,
    check_threads,
    check_tokens,
    describe,
)
from sqe_fast.errors import IndexFileError, InvalidInputError, InvalidTypeError
from sqe_fast.hits import Hits
from sqe_fast.text import TOKENIZERS, Tokenizer

__all__ = ["VARIANTS", "BM25Index"]

VARIANTS = ("okapi", "lucene", "atire", "bm25l", "bm25+")

DEFAULT_DELTA = {"bm25l": 0.5, "bm25+": 1.0}
MAX_PARAMETER = 1e6
MAX_PADDED_BYTES = 2**30
CALLABLE_NAME = "<callable>"
TOKENS_NAME = "<tokens>"


class BM25Index:
    """A BM25 index with exact, deterministic top-k search.

    The score of a document is the sum over the query's tokens, repeated ones each time, of
    ``idf(token) * weight(tf, length)``, over the tokens the document holds. With N documents, df of them
    holding the token, tf its count in the document, and norm = 1 - b + b * length / mean length:

    ========  ============================================  ======================================
    variant   idf                                           weight
    ========  ============================================  ======================================
    okapi     ln((N - df + 0.5) / (df + 0.5)), and where    tf (k1 + 1) / (tf + k1 norm)
              that is negative epsilon * the mean idf
    lucene    ln(1 + (N - df + 0.5) / (df + 0.5))           tf / (tf + k1 norm)
    atire     ln(N / df)                                    tf (k1 + 1) / (tf + k1 norm)
    bm25l     ln((N + 1) / (df + 0.5))                      (k1 + 1) c / (k1 + c), c = tf / norm + delta
    bm25+     ln((N + 1) / df)                              tf (k1 + 1) / (tf + k1 norm) + delta
    ========  ============================================  ======================================

    ``okapi`` gives the scores of rank_bm25 0.2.2's BM25Okapi (Robertson and Walker; the floor is
    rank_bm25's); ``atire`` follows Trotman et al. 2012; ``bm25l`` and ``bm25+`` follow Lv and Zhai 2011, who
    give nothing to a document without the token (rank_bm25's classes of these names add delta to every
    document).

    Rows are numbered from 0 in the order of the texts. A snapshot is searched: searching from several
    threads, also while another thread adds or deletes, is safe and needs no lock. Build one with
    :meth:`build` or :meth:`load`.

    Examples
    --------
    >>> index = BM25Index.build(["red fish", "blue fish", "old boat"], variant="lucene")
    >>> hits = index.search(["blue fish"], k=2)
    >>> hits.ids.tolist()
    [[1, 0]]
    """

    def __init__(self, core: _core.Bm25Index, tokenizer: Tokenizer | None) -> None:
        self._core = core
        self._tokenizer = tokenizer

    @classmethod
    def build(
        cls,
        texts: Iterable[Any],
        tokenizer: Tokenizer | None = "whitespace",
        variant: str = "okapi",
        k1: float = 1.5,
        b: float = 0.75,
        threads: int | None = None,
        *,
        delta: float | None = None,
        epsilon: float = 0.25,
    ) -> Self:
        """Index `texts`, an iterable of str that is consumed once, in bounded memory beyond the index.

        Parameters
        ----------
        texts
            The documents. With a callable tokenizer or None they may be any objects that it takes.
        tokenizer
            ``"whitespace"``, ``"code"`` or ``"word"`` (see :mod:`sqe_fast.text`), a callable that turns one
            text into an iterable of str, or None when each text is already a sequence of str tokens.
        variant, k1, b, delta, epsilon
            See the class; k1, delta and epsilon from 0 to 1e6, b from 0 to 1. delta is 0.5 for bm25l and 1.0
            for bm25+ unless given. Lucene's own default k1 is 1.2.
        threads
            Number of threads, by default all CPUs. The index does not depend on it.

        Raises
        ------
        InvalidTypeError, InvalidInputError
            Naming the argument (and position) that is wrong.
        """
        check_choice("variant", variant, VARIANTS)
        if delta is not None and variant not in DEFAULT_DELTA:
            raise InvalidInputError(f"delta is used by bm25l and bm25+ only; got variant={variant!r}")
        core = _core.Bm25Index.build(
            iter(check_texts("texts", texts)),
            _native_tokenizer(tokenizer, "texts"),
            _tokenizer_name(tokenizer),
            variant,
            check_number("k1", k1, 0, MAX_PARAMETER),
            check_number("b", b, 0, 1),
            check_number(
                "delta", DEFAULT_DELTA.get(variant, 0.0) if delta is None else delta, 0, MAX_PARAMETER
            ),
            check_number("epsilon", epsilon, 0, MAX_PARAMETER),
            _threads(threads),
        )
        return cls(core, tokenizer)

    def search(self, queries: Sequence[Any], k: int = 10, threads: int | None = None) -> Hits:
        """Return the best `k` rows for each query: score descending, then row ascending.

        A row that holds none of a query's tokens is never a hit; one that does always is, even with a score
        of 0 or below. Rows of the result with fewer than k hits are padded with -1 and -inf; ``hits.counts``
        tells how many are real. Tokens that no document holds are ignored.

        Parameters
        ----------
        queries
            n queries (str, or what the index's tokenizer takes).
        k
            At least 1; may be larger than the index.

        Returns
        -------
        Hits
            ids int32[n, k] and scores float32[n, k].
        """
        asked = list(check_texts("queries", queries))
        k = check_int("k", k, 1)
        size = 8 * k * len(asked)
        if k > len(self) and size > MAX_PADDED_BYTES:
            raise InvalidInputError(
                f"k={k} is larger than the index ({len(self)} documents), and the padded result for "
                f"{len(asked)} queries would take {size / 2**30:.1f} GiB; at most k={len(self)} can be found"
            )
        ids, scores = self._core.search(
            asked, _native_tokenizer(self._tokenizer, "queries"), k, _threads(threads)
        )
        return Hits(ids, scores)

    def score_rows(self, queries: Sequence[Any], threads: int | None = None) -> NDArray[np.float32]:
        """Return the score of every row for each query, float32[n, n_docs]; 0 where no token matches.

        The scores are the bits that :meth:`search` gives.
        """
        return self._core.score_rows(
            list(check_texts("queries", queries)),
            _native_tokenizer(self._tokenizer, "queries"),
            _threads(threads),
        )

    def add(self, texts: Iterable[Any], threads: int | None = None) -> None:
        """Append documents; they get the next rows. The index then equals one built from all texts at once.

        Statistics are computed anew, so the time grows with the whole index (milliseconds per million
        postings): add in batches. If an exception is raised the index is as before.
        """
        self._core.add(
            iter(check_texts("texts", texts)),
            _native_tokenizer(self._tokenizer, "texts"),
            _threads(threads),
        )

    def delete(self, rows: ArrayLike, threads: int | None = None) -> None:
        """Delete rows. Later rows move up: the index then equals one built without the deleted texts.

        Parameters
        ----------
        rows
            int[m] row numbers within the index, in any order, without repeats. Keep your own list of ids in
            step with ``ids = numpy.delete(ids, rows)``.
        """
        try:
            array = np.asarray(rows)
        except ValueError:
            raise InvalidInputError("rows must be one-dimensional; got rows of different lengths") from None
        if array.ndim != 1:
            raise InvalidInputError(f"rows must be one-dimensional; got shape {array.shape}")
        if array.size == 0:
            return
        if array.dtype.kind not in "iu":
            raise InvalidTypeError(f"rows must be integers; got dtype {array.dtype}")
        ordered = np.sort(array)
        n_docs = len(self)
        if ordered[0] < 0 or ordered[-1] >= n_docs:
            wrong = ordered[0] if ordered[0] < 0 else ordered[-1]
            raise InvalidInputError(f"rows must be >= 0 and below the {n_docs} documents held; got {wrong}")
        repeated = ordered[1:][ordered[1:] == ordered[:-1]]
        if repeated.size:
            raise InvalidInputError(f"rows must not repeat; got {repeated[0]} more than once")
        self._core.delete(ordered.astype(np.uint32), _threads(threads))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to one file. The file appears whole or not at all; an old one is replaced at once.

        A callable tokenizer is not written: give it to :meth:`load` again.

        Raises
        ------
        IndexFileError
            If the file cannot be written, with the reason.
        """
        self._core.save(_file_name(path))

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], tokenizer: Tokenizer | None = "saved", threads: int | None = None
    ) -> Self:
        """Open a saved index by mapping the file; every checksum and bound is verified.

        Parameters
        ----------
        path
            A file written by :meth:`save`.
        tokenizer
            By default the one the index was built with. An index built with a callable (or with ready tokens)
            needs that callable (or None) again; another name than the saved one is an error.

        Raises
        ------
        IndexFileError
            If the file is missing, damaged, of another kind or version; the message names it.
        """
        core = _core.Bm25Index.load(_file_name(path), _threads(threads))
        saved = core.info()["tokenizer"]
        if saved not in (*TOKENIZERS, CALLABLE_NAME, TOKENS_NAME):
            raise IndexFileError(
                f"{os.fspath(path)}: built with the tokenizer {saved!r}, which is not known here"
            )
        if tokenizer == "saved":
            if saved == CALLABLE_NAME:
                raise InvalidInputError(
                    f"tokenizer: {os.fspath(path)} was built with a Python callable; pass it to load again"
                )
            return cls(core, None if saved == TOKENS_NAME else saved)
        if _tokenizer_name(tokenizer) != saved:
            raise InvalidInputError(
                f"tokenizer: {os.fspath(path)} was built with {saved}; got {_tokenizer_name(tokenizer)}"
            )
        return cls(core, tokenizer)

    def document_frequencies(self, tokens: Sequence[str]) -> NDArray[np.int32]:
        """Return, for each token, the number of documents that hold it: int32[n]."""
        return self._core.term_statistics(check_tokens(tokens, "tokens"))[0]

    def idf(self, tokens: Sequence[str]) -> NDArray[np.float32]:
        """Return the idf of each token as scores use it: float32[n], 0 for a token no document holds."""
        return self._core.term_statistics(check_tokens(tokens, "tokens"))[1]

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The tokenizer in use: a name, a callable, or None for ready tokens."""
        return self._tokenizer

    @property
    def info(self) -> dict[str, Any]:
        """Counts (n_docs, n_tokens, n_terms, n_postings, n_blocks), nbytes, and the parameters."""
        return self._core.info()

    def __len__(self) -> int:
        return int(self._core.info()["n_docs"])

    def __repr__(self) -> str:
        info = self.info
        return (
            f"BM25Index({info['n_docs']} documents, {info['n_terms']} terms, {info['variant']}, "
            f"k1={info['k1']:g}, b={info['b']:g}, tokenizer={info['tokenizer']})"
        )


def _threads(threads: int | None) -> int:
    return check_threads(threads) or _core.default_threads()


def _tokenizer_name(tokenizer: Tokenizer | None) -> str:
    if tokenizer is None:
        return TOKENS_NAME
    if callable(tokenizer):
        return CALLABLE_NAME
    return check_choice("tokenizer", tokenizer, TOKENIZERS)


def _native_tokenizer(tokenizer: Tokenizer | None, name: str) -> str | Callable[[Any], list[str]]:
    """Return what the core takes: a native tokenizer's name, or a callable that returns a list of str.

    The core calls it once for each element of the argument `name`, in order.
    """
    if isinstance(tokenizer, str):
        return check_choice("tokenizer", tokenizer, TOKENIZERS)
    positions = itertools.count()
    if tokenizer is None:
        return lambda tokens: check_tokens(tokens, f"{name}[{next(positions)}] (with tokenizer=None)")
    return lambda text: check_tokens(tokenizer(text), f"tokenizer: its result for {name}[{next(positions)}]")


def _file_name(path: str | os.PathLike[str]) -> bytes:
    try:
        name = os.fsencode(path)
    except TypeError:
        raise InvalidTypeError(f"path must be a str or os.PathLike; got {describe(path)}") from None
    except UnicodeEncodeError:
        raise InvalidInputError(
            f"path must be a file name in the file system's encoding; got {path!r}"
        ) from None
    if not name or b"\0" in name:
        raise InvalidInputError(f"path must be a file name; got {path!r}")
    return name
