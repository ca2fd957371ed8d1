"""Training of search agents: the environment in tokens, and what joins it to TRL and to verl."""

from __future__ import annotations
