"""Rows, and batches of rows with their targets and weights."""
