"""The model: weights, what its features mean, and what can be asked of it."""
