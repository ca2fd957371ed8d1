"""The rooms of the batched pass; `sqe_fast.engine` leads through them."""
