"""Search agents: a policy model that thinks, searches in batches, reads what was squeezed, and answers."""

from __future__ import annotations
