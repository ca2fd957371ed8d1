"""vLLM in this process: every request of a call goes to the engine at once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from sqe_fast._extras import require
from sqe_fast.errors import ModelUnavailableError
from sqe_fast.generate._chat import count_tokens, fitting_prompt, load_tokenizer, most_tokens
from sqe_fast.generate.base import Generation, Request, check_requests

__all__ = ["VllmGenerator"]

# vLLM reads these when it is imported. On a CPU: the engine in this process, threads left to the system
# (binding them fights with other processes), a KV cache of 1 GiB.
_CPU_ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_LOGGING_LEVEL": "ERROR",
}


class VllmGenerator:
    """Generate with vLLM (extra `gpu`) or vllm-cpu (extra `vllm-cpu`); one engine a process on a CPU.

    n samples of one prompt share one prefill, and prompts that begin alike share the blocks of that
    beginning. For n > 1 `cached_tokens` is what vLLM reports for the sample that ended last, which counts
    blocks first computed for its siblings.
    """

    def __init__(
        self, model: str, *, name: str | None = None, max_model_len: int | None = None, **engine: Any
    ):
        """Load `model` (folder or hub name); `engine` goes to `vllm.LLM` and overrides what is set here.

        Parameters
        ----------
        model
            A folder or hub name.
        name
            The name to report, without "vllm:"; None: `model`.
        max_model_len
            Longest prompt and answer in tokens; None: 4,096 on a CPU, the model's own on a GPU.
        """
        torch = require("torch", None, "generation")
        on_gpu = torch.cuda.is_available()
        if not on_gpu:
            for key, value in _CPU_ENVIRONMENT.items():
                os.environ.setdefault(key, value)
        vllm = require("vllm", "gpu" if on_gpu else "vllm-cpu", "the generator 'vllm'")
        self.name = f"vllm:{name or model}"
        self._vllm = vllm
        self._tokenizer = load_tokenizer(model)
        settings: dict[str, Any] = {"enable_prefix_caching": True, "disable_log_stats": True}
        if not on_gpu:
            window = max_model_len or 4096
            # A sampling seed together with chunked prefill kills the CPU engine: prompts go in whole.
            settings |= {
                "dtype": "bfloat16",
                "enforce_eager": True,
                "enable_chunked_prefill": False,
                "max_num_batched_tokens": max(window, 4096),
                "max_model_len": window,
            }
        elif max_model_len is not None:
            settings["max_model_len"] = max_model_len
        try:
            self._engine: Any = vllm.LLM(model=model, **(settings | engine))
        except (OSError, ValueError, RuntimeError) as error:
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise ModelUnavailableError(f"vLLM cannot load {model!r}: {reason}") from error
        self.window: int = self._engine.model_config.max_model_len

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Answer all requests in one call of the engine; see `Generator.generate`."""
        requests = check_requests(requests)
        answers: list[Generation | None] = [None] * len(requests)
        prompts, params, rows = [], [], []
        for row, request in enumerate(requests):
            ids = fitting_prompt(self._tokenizer, request, self.window)
            if isinstance(ids, Generation):
                answers[row] = ids
                continue
            prompts.append({"prompt_token_ids": ids})
            params.append(self._params(request))
            rows.append(row)
        for row, answer in zip(rows, self._run(prompts, params), strict=True):
            answers[row] = answer
        return [answer for answer in answers if answer is not None]

    def _params(self, request: Request) -> Any:
        return self._vllm.SamplingParams(
            n=request.n,
            temperature=request.temperature,
            max_tokens=request.max_new_tokens,
            seed=request.seed,
            stop=list(request.stop) or None,
        )

    def _run(self, prompts: list[Any], params: list[Any]) -> list[Generation]:
        if not prompts:
            return []
        try:
            outputs = self._engine.generate(prompts, params, use_tqdm=False)
        except Exception as error:
            if isinstance(error, ValueError) and len(prompts) > 1:  # vLLM refuses one of them: find which
                return [self._run([p], [s])[0] for p, s in zip(prompts, params, strict=True)]
            return [Generation.failed(error, calls=1) for _ in prompts]
        return [_generation(output) for output in outputs]

    def most_tokens(self, requests: Sequence[Request]) -> list[tuple[int, int]]:
        """Return what each request can cost; see `Bounded`."""
        return most_tokens(self._tokenizer, check_requests(requests))

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text; see `TokenCounter`."""
        return count_tokens(self._tokenizer, texts)

    def close(self) -> None:
        """Drop the engine and its memory."""
        self._engine = None


def _generation(output: Any) -> Generation:
    samples = output.outputs
    return Generation(
        texts=tuple(sample.text for sample in samples),
        prompt_tokens=len(output.prompt_token_ids),
        cached_tokens=output.num_cached_tokens or 0,
        completion_tokens=sum(len(sample.token_ids) for sample in samples),
        finish_reasons=tuple(sample.finish_reason or "unknown" for sample in samples),
        # vLLM gives the stop text, the id of a stop token, or None at the model's own end.
        stopped_at=tuple(s.stop_reason if isinstance(s.stop_reason, str) else None for s in samples),
    )
