"""One text at a time through transformers in float32, pooled by hand."""

from __future__ import annotations

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer


def embed(folder, texts, pooling, max_length, prefix=""):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    rows = []
    for text in texts:
        inputs = tokenizer(prefix + text, truncation=True, max_length=max_length, return_tensors="pt")
        with torch.no_grad():
            states = model(**inputs).last_hidden_state[0]
        vector = states[0] if pooling == "cls" else states.mean(dim=0)
        rows.append((vector / vector.norm()).numpy())
    return np.stack(rows)
