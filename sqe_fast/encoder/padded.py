"""Any other encoder of transformers: padded batches and a mask, sorted by length so that little is padded."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

__all__ = ["PaddedModel"]


class PaddedModel:
    """A transformers model at one dtype on one device, with the interface of PackedModel."""

    def __init__(self, model: Any, dtype: torch.dtype, device: torch.device) -> None:
        self.dtype = dtype
        self.device = device
        self.dim: int = model.config.hidden_size
        if model.dtype != dtype:
            model = copy.deepcopy(model)  # `to` works in place, and the caller may build at another dtype
        self._model = model.to(device=device, dtype=dtype).eval()
        self._pad: int = getattr(model.config, "pad_token_id", None) or 0

    @staticmethod
    def longest(model: Any) -> int:
        """Return the most tokens a text may have."""
        return int(getattr(model.config, "max_position_embeddings", 0) or 2**31 - 1)

    def vectors(self, ids: Sequence[Sequence[int]], pooling: str) -> Tensor:
        """Return float32[len(ids), dim], L2-normalised."""
        counts = torch.tensor([len(text) for text in ids])
        padded = torch.full((len(ids), int(counts.max())), self._pad, dtype=torch.int64)
        for row, text in zip(padded, ids, strict=True):
            row[: len(text)] = torch.tensor(text)
        mask = (torch.arange(padded.shape[1]) < counts.unsqueeze(1)).to(self.device)
        got = self._model(input_ids=padded.to(self.device), attention_mask=mask.long())
        states = got.last_hidden_state.float()
        if pooling == "cls":
            pooled = states[:, 0]
        else:
            pooled = (states * mask.unsqueeze(2)).sum(1) / counts.to(self.device).unsqueeze(1)
        return F.normalize(pooled, dim=1)
