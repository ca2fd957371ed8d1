"""Memory that an index takes, measured in a process of its own (Linux: /proc).

VmHWM of /proc/self/status is read, not getrusage's ru_maxrss: a process inherits the latter from the one that
started it, and here that one may hold gigabytes of other engines' indices.

`probe` starts that process and returns its figures; `python -m bench.memory` is the process itself.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import json
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench import corpora, peers
from bench.ours import SqeFast

__all__ = ["ProbeError", "probe"]

MB = 1e6


class ProbeError(Exception):
    """The process that measures could not do its work; the message is what it said."""


def probe(engine: str, corpus: str, *, threads: int = 1, stream: bool = False, search: int = 0) -> Any:
    """Index `corpus` with `engine` in a fresh process and return a dict of figures.

    Keys: seconds (of building), base_mb (before building: interpreter, libraries, and the corpus unless it is
    streamed), peak_mb and steady_mb (growth over base while building, and after it), process_peak_mb (all the
    process ever held), search_seconds.
    """
    command = [sys.executable, "-m", "bench.memory", engine, corpus, f"--threads={threads}"]
    command += [f"--search={search}"] + ["--stream"] * stream
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ProbeError(done.stderr.strip().splitlines()[-1] if done.stderr else f"exit {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


def measure(engine_name: str, corpus_name: str, threads: int, stream: bool, search: int) -> dict[str, float]:
    """Do the work of `probe` in this process."""
    engine = SqeFast() if engine_name == "sqe_fast" else peers.make(engine_name)
    engine.build(["warm up"] * 4)  # libraries, pools and compiled code are not the index's memory
    spec = corpora.CORPORA[corpus_name]
    texts: Iterable[str]
    if stream:
        assert isinstance(spec, corpora.ZipfSpec), "only zipf corpora can be streamed"
        corpora.vocabulary_words(spec.vocabulary)
        texts = corpora.zipf_texts(spec)
        head = [text for text, _ in zip(corpora.zipf_texts(spec), range(10_000), strict=False)]
        corpus = corpora.Corpus(corpus_name, head)
    else:
        corpus = corpora.load(corpus_name)
        texts = corpus.texts
    settle()
    base, before = status_mb("VmRSS"), status_mb("VmHWM")
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    start = time.perf_counter()
    engine.build(texts, threads)
    seconds = time.perf_counter() - start
    peak = status_mb("VmHWM")
    settle()
    figures: dict[str, float] = {"seconds": seconds, "base_mb": base, "peak_mb": peak - base}
    figures["steady_mb"] = status_mb("VmRSS") - base
    if search:
        prepared = engine.prepare(corpora.queries(corpus, search, 8))
        start = time.perf_counter()
        engine.search(prepared, 10, threads)
        figures["search_seconds"] = time.perf_counter() - start
    figures["process_peak_mb"] = max(before, status_mb("VmHWM"))
    return figures


def settle() -> None:
    """Collect garbage and give freed memory back to the system, so that what stays is in use."""
    gc.collect()
    with contextlib.suppress(AttributeError):  # where the C library is not glibc
        ctypes.CDLL(None).malloc_trim(0)


def status_mb(key: str) -> float:
    """Return a field of /proc/self/status in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024 / MB
    raise KeyError(key)


def main() -> None:
    """Measure as the arguments say and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("engine", choices=["sqe_fast", *peers.PEERS])
    parser.add_argument("corpus", choices=list(corpora.CORPORA))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--search", type=int, default=0, help="afterwards search this many queries")
    parser.add_argument("--stream", action="store_true", help="feed texts one by one, never as a list")
    options = parser.parse_args()
    figures = measure(options.engine, options.corpus, options.threads, options.stream, options.search)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
