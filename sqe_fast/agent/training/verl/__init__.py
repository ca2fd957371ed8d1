"""What joins search agents to verl 0.9 (PPO on Ray): agent loop, tool, reward function, data, configuration.

`agent_loop` and `tool` need verl, and are named in its configuration; the rest does not.
"""

from __future__ import annotations
