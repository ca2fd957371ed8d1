"""The signals by what they look at; `sqe_fast.gate.signals` lists them all."""
