"""Scenarios of rows in memory: the speed and the quality of learning."""
