"""Scenarios of rows that are in memory already: how fast is learning itself, and how good."""
