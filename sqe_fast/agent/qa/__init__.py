"""Question answering by search agents: the seven sets, runs that can be resumed, and their tables."""

from __future__ import annotations
