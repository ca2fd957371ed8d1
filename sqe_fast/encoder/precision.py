"""Which dtype a model runs at: half precision on a GPU; on a CPU whichever is measured faster.

bfloat16 wins on CPUs with AVX512-BF16 or AMX and loses badly on those without. It is taken only if it is
faster and every probe text's vector keeps a cosine within TOLERANCE of float32.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

from sqe_fast.encoder.batches import Tokenizer, pack
from sqe_fast.encoder.workers import BatchWorkers

__all__ = ["DTYPES", "TOLERANCE", "fastest_on_cpu"]

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
TOLERANCE = 1e-3

_PROBES = (
    "where is the retry limit set?",
    "[THOUGHT] The import fails only on the second run, so a cache must be stale.\n"
    "[ACTION] bash: grep -rn 'lru_cache' src/ && python -m pytest tests/test_loader.py -x -q\n"
    "[OBSERVATION] src/loader.py:41:@lru_cache(maxsize=None)\n1 failed, 12 passed in 0.84s",
    'Traceback (most recent call last):\n  File "app/models.py", line 118, in save\n'
    "    self.full_clean(exclude={'id'})\nValidationError: {'name': ['This field cannot be null.']}",
    "def merge(left, right):\n    out = []\n    while left and right:\n"
    "        out.append((left if left[0] <= right[0] else right).pop(0))\n    return out + left + right",
)

_measured: dict[str, torch.dtype] = {}  # one measurement a process and model


def fastest_on_cpu(key: str, tokenizer: Tokenizer, pooling: str, build: Callable[[torch.dtype], Any]) -> Any:
    """Return the model built at float32 or bfloat16, measured once for each `key` in this process."""
    if key not in _measured:
        # On one worker thread, whose CPU time is the whole cost however busy the machine is.
        workers = BatchWorkers(1)
        try:
            workers.run(lambda _: _measure(key, tokenizer, pooling, build), [None])
        finally:
            workers.close()
    return build(_measured[key])


def _measure(key: str, tokenizer: Tokenizer, pooling: str, build: Callable[[torch.dtype], Any]) -> None:
    models = {dtype: build(dtype) for dtype in (torch.float32, torch.bfloat16)}
    ids = tokenizer(_PROBES)
    batch = pack(torch.tensor([len(text) for text in ids]).numpy(), 1 << 30)[0]
    probes = [ids[i] for i in batch]
    vectors, seconds = {}, dict.fromkeys(models, float("inf"))
    for dtype, model in models.items():
        vectors[dtype] = model.vectors(probes, pooling)  # also the warm-up
    for _ in range(3):
        for dtype, model in models.items():  # taking turns: a busy moment hits both
            start = time.thread_time()
            model.vectors(probes, pooling)
            seconds[dtype] = min(seconds[dtype], time.thread_time() - start)
    cosine = (vectors[torch.float32] * vectors[torch.bfloat16]).sum(1)
    close = bool((cosine >= 1 - TOLERANCE).all())  # False for NaN too
    faster = seconds[torch.bfloat16] < seconds[torch.float32]
    _measured[key] = torch.bfloat16 if close and faster else torch.float32
