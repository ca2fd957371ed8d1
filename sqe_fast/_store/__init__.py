"""The parts of `sqe_fast.store`: files and locks, the truth, generations of the index, and views of them."""
