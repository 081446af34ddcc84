"""Weights that are exactly zero, or not negative: what can be asked for, and which penalties."""
