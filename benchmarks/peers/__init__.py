"""Minimal programs for peers that have no command line."""
