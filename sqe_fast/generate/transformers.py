"""Batched `generate` of transformers, for machines without vLLM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqe_fast._checks import check_int
from sqe_fast._extras import require
from sqe_fast._hub import GENERATOR_ADVICE, pretrained
from sqe_fast.generate._chat import count_tokens, fitting_prompt, load_tokenizer, most_tokens
from sqe_fast.generate.base import Generation, Request, check_requests

__all__ = ["TransformersGenerator"]


class TransformersGenerator:
    """Generate with transformers: requests of equal settings run together, padded on the left.

    There is no prefix cache: `cached_tokens` is 0. Seeds make the same list of requests repeatable: a batch
    runs on the seed of its first request.
    """

    def __init__(
        self,
        model: str,
        *,
        name: str | None = None,
        device: str | None = None,
        dtype: str | None = None,
        batch_size: int = 16,
    ) -> None:
        """Load a causal language model.

        Parameters
        ----------
        model
            A folder or hub name.
        name
            The name to report, without "transformers:"; None: `model`.
        device, dtype
            None: a GPU in float16 where there is one, else the CPU in bfloat16.
        batch_size
            Sequences run at once (requests times samples).
        """
        torch = require("torch", None, "generation")
        transformers = require("transformers", None, "generation")
        self.name = f"transformers:{name or model}"
        self._batch_size = check_int("batch_size", batch_size, 1)
        self._device = device or ("cuda:0" if torch.cuda.is_available() else "cpu")
        half = torch.bfloat16 if self._device == "cpu" else torch.float16
        self._tokenizer = load_tokenizer(model)
        self._model: Any = pretrained(
            transformers.AutoModelForCausalLM,
            model,
            GENERATOR_ADVICE,
            dtype=getattr(torch, dtype) if dtype else half,
        )
        self._model.to(self._device).eval()
        ends = self._model.generation_config.eos_token_id
        self._ends: set[int] = set(ends if isinstance(ends, list) else [] if ends is None else [ends])
        pad = self._tokenizer.pad_token_id
        self._pad: int = pad if pad is not None else min(self._ends, default=0)
        self.window: int = getattr(self._model.config, "max_position_embeddings", None) or 2**31 - 1

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Answer all requests, grouped by settings; see `Generator.generate`."""
        requests = check_requests(requests)
        answers: dict[int, Generation] = {}
        groups: dict[tuple[Any, ...], list[tuple[int, list[int]]]] = {}
        for row, request in enumerate(requests):
            ids = fitting_prompt(self._tokenizer, request, self.window)
            if isinstance(ids, Generation):
                answers[row] = ids
                continue
            seeded = request.seed is not None
            key = (request.n, request.temperature, request.max_new_tokens, seeded, request.stop)
            groups.setdefault(key, []).append((row, ids))
        for (n, *_), members in groups.items():
            members.sort(key=lambda member: len(member[1]))  # little padding
            step = max(1, self._batch_size // n)
            for start in range(0, len(members), step):
                batch = members[start : start + step]
                settings = requests[batch[0][0]]
                try:
                    made = self._batch([ids for _, ids in batch], settings)
                except Exception as error:  # out of memory, say: the other batches still run
                    made = [Generation.failed(error, calls=1) for _ in batch]
                answers.update((row, answer) for (row, _), answer in zip(batch, made, strict=True))
        return [answers[row] for row in range(len(requests))]

    def _batch(self, prompts: list[list[int]], request: Request) -> list[Generation]:
        import torch

        width = max(map(len, prompts))
        ids = torch.tensor([[self._pad] * (width - len(p)) + p for p in prompts], device=self._device)
        mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts], device=self._device)
        sampling: dict[str, Any] = {"do_sample": request.temperature > 0}
        if request.temperature > 0:
            sampling |= {"temperature": request.temperature, "top_k": 0, "top_p": 1.0}
            sampling["num_return_sequences"] = request.n
        if request.stop:
            sampling |= {"stop_strings": list(request.stop), "tokenizer": self._tokenizer}
        devices = [self._model.device] if self._model.device.type == "cuda" else []
        with torch.inference_mode(), torch.random.fork_rng(devices, enabled=request.seed is not None):
            if request.seed is not None:
                torch.manual_seed(request.seed)
            out = self._model.generate(
                input_ids=ids,
                attention_mask=mask,
                max_new_tokens=request.max_new_tokens,
                pad_token_id=self._pad,
                **sampling,
            )
        rows = out[:, width:].tolist()
        if request.temperature == 0:  # greedy samples are all the same one
            rows = [row for row in rows for _ in range(request.n)]
        samples = [self._sample(row, request.stop) for row in rows]
        per = [samples[i * request.n : (i + 1) * request.n] for i in range(len(prompts))]
        return [
            Generation(
                texts=tuple(text for text, _, _, _ in own),
                prompt_tokens=len(prompt),
                completion_tokens=sum(count for _, count, _, _ in own),
                finish_reasons=tuple(reason for _, _, reason, _ in own),
                stopped_at=tuple(word for _, _, _, word in own),
            )
            for prompt, own in zip(prompts, per, strict=True)
        ]

    def _sample(self, tokens: list[int], stop: tuple[str, ...]) -> tuple[str, int, str, str | None]:
        """Return (text, new tokens, why it ended, at which stop) of one row, whose tail may be padding."""
        end = next((i for i, token in enumerate(tokens) if token in self._ends), None)
        kept = tokens if end is None else tokens[:end]
        text: str = self._tokenizer.decode(kept, skip_special_tokens=True)
        cuts = [(text.find(word), word) for word in stop if word in text]
        if cuts:
            while end is None and kept and kept[-1] == self._pad:
                kept = kept[:-1]
            at, word = min(cuts)
            return text[:at], len(kept), "stop", word
        return text, len(kept) + (end is not None), "length" if end is None else "stop", None

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text; see `TokenCounter`."""
        return count_tokens(self._tokenizer, texts)

    def most_tokens(self, requests: Sequence[Request]) -> list[tuple[int, int]]:
        """Return what each request can cost; see `Bounded`."""
        return most_tokens(self._tokenizer, check_requests(requests))

    def close(self) -> None:
        """Drop the model and its memory."""
        self._model = None
