"""The gates by kind; `sqe_fast.gate.gates` lists them all."""
