"""What a run keeps beside the engine's answers; `sqe_fast.experiment.run` is the way in."""
