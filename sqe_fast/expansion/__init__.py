"""The parts of query expansion; `sqe_fast.expand.Expander` is the way in."""
