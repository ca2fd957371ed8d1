"""Native, batched retrieval for agent memory with selective LLM query expansion."""

from __future__ import annotations

__version__ = "0.1.0"
