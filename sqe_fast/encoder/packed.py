"""BERT, RoBERTa and XLM-RoBERTa (MiniLM, E5, bge-m3) over packed batches: no padding anywhere.

All texts of a batch lie end to end as one [tokens, hidden] matrix. Linear layers, norms and activations do
not care where one text ends; only attention does, and it runs text by text (texts of one length together).
Query, key and value are one fused product. This module knows nothing of tokenizers or pooling choices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

__all__ = ["PackedModel"]

_TYPES = ("bert", "roberta", "xlm-roberta")


@dataclass(frozen=True)
class _Layer:
    """Weights of one transformer block, each a (weight, bias) pair."""

    qkv: tuple[Tensor, Tensor]
    out: tuple[Tensor, Tensor]
    out_norm: tuple[Tensor, Tensor]
    up: tuple[Tensor, Tensor]
    down: tuple[Tensor, Tensor]
    down_norm: tuple[Tensor, Tensor]


class PackedModel:
    """The forward pass of one model at one dtype on one device; see the module's docstring."""

    def __init__(self, model: Any, dtype: torch.dtype, device: torch.device) -> None:
        from transformers.activations import ACT2FN

        config = model.config
        self.dtype = dtype
        self.device = device
        self.dim: int = config.hidden_size
        self._heads: int = config.num_attention_heads
        self._eps: float = config.layer_norm_eps
        self._activation = (
            ACT2FN[config.hidden_act] if isinstance(config.hidden_act, str) else config.hidden_act
        )

        def take(tensor: Tensor) -> Tensor:
            return tensor.detach().to(device=device, dtype=dtype)

        def pair(module: Any) -> tuple[Tensor, Tensor]:
            return take(module.weight), take(module.bias)

        embeddings = model.embeddings
        self._words = take(embeddings.word_embeddings.weight)
        # The token type is always 0, so its row is added to the positions once.
        position = embeddings.position_embeddings.weight + embeddings.token_type_embeddings.weight[0]
        self._positions = take(position)
        # RoBERTa's positions begin after the padding index.
        self._first_position = 0 if config.model_type == "bert" else config.pad_token_id + 1
        self._norm = pair(embeddings.LayerNorm)
        self._layers = []
        for block in model.encoder.layer:
            attention = block.attention
            parts = (attention.self.query, attention.self.key, attention.self.value)
            qkv = (torch.cat([take(p.weight) for p in parts]), torch.cat([take(p.bias) for p in parts]))
            self._layers.append(
                _Layer(
                    qkv,
                    pair(attention.output.dense),
                    pair(attention.output.LayerNorm),
                    pair(block.intermediate.dense),
                    pair(block.output.dense),
                    pair(block.output.LayerNorm),
                )
            )
        self._varlen = _varlen_attention(self.dim // self._heads, dtype, device)

    @staticmethod
    def supports(model: Any) -> bool:
        """Tell whether `model` is one of the architectures that this module restates."""
        config = model.config
        absolute = getattr(config, "position_embedding_type", "absolute") in (None, "absolute")
        return config.model_type in _TYPES and absolute and not getattr(config, "is_decoder", False)

    @staticmethod
    def longest(model: Any) -> int:
        """Return the most tokens a text may have."""
        config = model.config
        return int(config.max_position_embeddings) - (
            0 if config.model_type == "bert" else config.pad_token_id + 1
        )

    def vectors(self, ids: Sequence[Sequence[int]], pooling: str) -> Tensor:
        """Return float32[len(ids), dim], L2-normalised; texts should come sorted by length."""
        lengths = [len(text) for text in ids]
        flat = torch.tensor([token for text in ids for token in text], dtype=torch.int64)
        counts = torch.tensor(lengths, dtype=torch.int64)
        ends = counts.cumsum(0)
        starts = ends - counts
        positions = torch.arange(len(flat)) - starts.repeat_interleave(counts) + self._first_position
        device = self.device
        flat, positions, counts, starts = (
            t.to(device, non_blocking=True) for t in (flat, positions, counts, starts)
        )
        states = self._states(flat, positions, lengths)
        if pooling == "cls":
            pooled = states[starts].float()
        else:
            owner = torch.arange(len(lengths), device=device).repeat_interleave(counts, output_size=len(flat))
            pooled = torch.zeros(len(lengths), self.dim, device=device).index_add_(0, owner, states.float())
            pooled /= counts.unsqueeze(1)
        return F.normalize(pooled, dim=1)

    def _states(self, flat: Tensor, positions: Tensor, lengths: list[int]) -> Tensor:
        shape = (self.dim,)
        width = self.dim // self._heads
        attend = self._attention(lengths)
        x = F.embedding(flat, self._words) + F.embedding(positions, self._positions)
        x = F.layer_norm(x, shape, *self._norm, self._eps)
        for layer in self._layers:
            qkv = F.linear(x, *layer.qkv).view(-1, 3, self._heads, width)
            attended = attend(qkv).reshape(-1, self.dim)
            x = F.layer_norm(F.linear(attended, *layer.out).add_(x), shape, *layer.out_norm, self._eps)
            inner = self._activation(F.linear(x, *layer.up))
            x = F.layer_norm(F.linear(inner, *layer.down).add_(x), shape, *layer.down_norm, self._eps)
        return x

    def _attention(self, lengths: list[int]) -> Any:
        """Return a function from qkv [tokens, 3, heads, width] to [tokens, heads, width]."""
        if self._varlen is not None:
            bounds = torch.zeros(len(lengths) + 1, dtype=torch.int32)
            bounds[1:] = torch.tensor(lengths).cumsum(0)
            bounds, longest = bounds.to(self.device), max(lengths)
            varlen = self._varlen
            return lambda qkv: varlen(*qkv.unbind(1), bounds, bounds, longest, longest)
        groups = _groups(lengths)

        def attend(qkv: Tensor) -> Tensor:
            out = qkv.new_empty(qkv.shape[0], *qkv.shape[2:])
            for start, end, length in groups:
                shape = (-1, length, *qkv.shape[1:])
                query, key, value = qkv[start:end].view(shape).permute(2, 0, 3, 1, 4)
                got = F.scaled_dot_product_attention(query, key, value).transpose(1, 2)
                out[start:end].view(got.shape).copy_(got)
            return out

        return attend


def _groups(lengths: list[int]) -> list[tuple[int, int, int]]:
    """Return (first token, end token, length) of each run of texts of one length."""
    groups: list[tuple[int, int, int]] = []
    start = 0
    for length in lengths:
        if groups and groups[-1][2] == length:
            groups[-1] = (groups[-1][0], start + length, length)
        else:
            groups.append((start, start + length, length))
        start += length
    return groups


def _varlen_attention(width: int, dtype: torch.dtype, device: torch.device) -> Any:
    """Return torch's attention over packed texts where this device runs it, else None.

    It is a flash attention kernel for half precision on CUDA. One tiny call tells whether this build and
    this card have it for this head width; whatever it raises then means no.
    """
    if device.type != "cuda" or dtype not in (torch.float16, torch.bfloat16):
        return None
    try:
        from torch.nn.attention.varlen import varlen_attn

        probe = torch.zeros(16, 1, width, dtype=dtype, device=device)
        bounds = torch.tensor([0, 5, 16], dtype=torch.int32, device=device)
        varlen_attn(probe, probe, probe, bounds, bounds, 11, 11)
        torch.cuda.synchronize(device)
    except (ImportError, RuntimeError, ValueError, TypeError, NotImplementedError):
        return None
    return varlen_attn
