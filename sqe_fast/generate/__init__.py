"""Text generation: one protocol, four ways to run a model (or none)."""

from __future__ import annotations

from sqe_fast.generate.base import Generation, Generator, Message, Request, TokenCounter
from sqe_fast.generate.factory import make_generator

__all__ = ["Generation", "Generator", "Message", "Request", "TokenCounter", "make_generator"]
