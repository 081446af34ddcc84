"""Training: a stream, a learner and its checkpoints, put together."""
