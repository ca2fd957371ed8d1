"""The commands of `sqe-fast`, one a file, and what they share."""
