"""Metrics of a model, accumulated in one pass over rows."""
