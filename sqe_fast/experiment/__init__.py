"""The SQE experiment, from trajectories to tables; each step reads what the one before has left on disk."""
