"""Types of the native kernels; one section a subject, as in csrc/bindings."""

from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

# --- util ---------------------------------------------------------------------------------------------------

def isa() -> str: ...
def set_isa(level: str) -> None: ...
def isa_levels() -> list[str]: ...
def default_threads() -> int: ...

# --- text ---------------------------------------------------------------------------------------------------

unicode_version: str
tokenizers: tuple[str, ...]
stop_words: frozenset[str]

def tokenize_batch(texts: list[str], tokenizer: str, threads: int) -> list[list[str]]: ...

# --- bm25 ---------------------------------------------------------------------------------------------------

_Tokenizer = str | Callable[[Any], list[str]]

class Bm25Index:
    @staticmethod
    def build(
        texts: Iterator[Any],
        tokenizer: _Tokenizer,
        tokenizer_name: str,
        variant: str,
        k1: float,
        b: float,
        delta: float,
        epsilon: float,
        threads: int,
        block_docs: int = ...,
    ) -> Bm25Index: ...
    @staticmethod
    def load(path: bytes, threads: int) -> Bm25Index: ...
    def save(self, path: bytes) -> None: ...
    def add(self, texts: Iterator[Any], tokenizer: _Tokenizer, threads: int) -> None: ...
    def delete(self, rows: NDArray[np.uint32], threads: int) -> None: ...
    def search(
        self, queries: list[Any], tokenizer: _Tokenizer, k: int, threads: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]: ...
    def score_rows(self, queries: list[Any], tokenizer: _Tokenizer, threads: int) -> NDArray[np.float32]: ...
    def term_statistics(self, tokens: list[str]) -> tuple[NDArray[np.int32], NDArray[np.float32]]: ...
    def __len__(self) -> int: ...
    def info(self) -> dict[str, Any]: ...

# --- fusion -------------------------------------------------------------------------------------------------

_Ranked = tuple[NDArray[np.int32], NDArray[np.float32]]
_Id = TypeVar("_Id")

def rrf(
    ids: NDArray[np.int32],
    lengths: NDArray[np.int32] | None,
    k: int,
    constant: float,
    weights: NDArray[np.float64] | None,
    duplicates: str,
    threads: int | None,
) -> _Ranked: ...
def fuse_scores(
    ids: NDArray[np.int32],
    scores: NDArray[np.float32],
    lengths: NDArray[np.int32] | None,
    how: str,
    weights: NDArray[np.float64] | None,
    k: int,
    absent: str,
    threads: int | None,
) -> _Ranked: ...
def fuse_rows(
    rows: NDArray[np.float32], how: str, weights: NDArray[np.float64] | None, k: int, threads: int | None
) -> _Ranked: ...
def merge_topk(
    ids: NDArray[np.int32], scores: NDArray[np.float32], k: int, threads: int | None
) -> _Ranked: ...

_Pairs = list[tuple[_Id, float]] | tuple[tuple[_Id, float], ...]

def rrf_lists(
    lists: list[_Pairs[_Id]] | tuple[_Pairs[_Id], ...],
    k: int = 5,
    constant: float = 60.0,
    duplicates: Literal["sum", "best"] = "sum",
) -> list[tuple[_Id, float]]: ...

# --- stats --------------------------------------------------------------------------------------------------

@overload
def bootstrap_sums(
    sorted: NDArray[np.int8], resamples: int, seed: int, threads: int | None
) -> NDArray[np.int64]: ...
@overload
def bootstrap_sums(
    sorted: NDArray[np.float64], resamples: int, seed: int, threads: int | None
) -> NDArray[np.float64]: ...
@overload
def count_extreme_flips(
    sorted: NDArray[np.uint8], limit: int, rounds: int, seed: int, threads: int | None
) -> int: ...
@overload
def count_extreme_flips(
    sorted: NDArray[np.float64], limit: float, rounds: int, seed: int, threads: int | None
) -> int: ...
def philox4x32_10(counter: tuple[int, int, int, int], key: int) -> list[int]: ...
