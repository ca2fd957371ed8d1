"""Rows as lines of a file, read and written; `sqe_fast.experiment.rows` is the way in."""
