"""Flattening of nested columns: structs and lists become top-level columns."""
