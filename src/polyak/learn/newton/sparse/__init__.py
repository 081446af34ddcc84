"""Weights that are exactly zero, or not negative: which settings allow it, and which penalties."""
