"""Checks of an experiment's own files; `sqe_fast.experiment.verify` is the way in."""
