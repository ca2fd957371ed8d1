"""Threads that each run whole batches on one core.

Two batches on two threads share nothing, so neither waits for the other; one batch split over OpenMP threads
meets at a barrier after every layer and stalls whenever another process takes a core.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

__all__ = ["BatchWorkers"]


class BatchWorkers:
    """A fixed number of threads with one intra-op thread each."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="sqe-encode")
        # Setting a thread's count also sets torch's default for threads born later: put that back.
        before = torch.get_num_threads()
        ready = threading.Barrier(threads)

        def start() -> None:
            # Past torch's Python name on purpose: vLLM on a CPU replaces that one by a no-op.
            torch._C.set_num_threads(1)
            ready.wait(60)

        for started in [self._pool.submit(start) for _ in range(threads)]:
            started.result()
        torch._C.set_num_threads(before)

    def run(self, work: Callable[[Any], None], batches: Sequence[Any]) -> None:
        """Call `work` on each batch; the first exception stops what has not begun, and is raised."""

        def one(batch: Any) -> None:
            with torch.inference_mode():
                work(batch)

        tasks = [self._pool.submit(one, batch) for batch in batches]
        try:
            for task in tasks:
                task.result()
        except BaseException:
            for task in tasks:
                task.cancel()
            raise

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(wait=True, cancel_futures=True)
