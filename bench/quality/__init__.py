"""What the choices of `sqe+` are worth: every figure of docs/quality.md, through the real engine.

``python -m bench.quality --data ../shared/data`` prints the tables. No model runs: vectors and expansions of
the dev set are recorded.
"""
