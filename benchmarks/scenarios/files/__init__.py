"""Scenarios of files and commands: text, tables, predictions, start-up, and a cluster."""
