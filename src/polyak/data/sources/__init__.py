"""Bytes from files, pipes and stores, compressed or not."""
