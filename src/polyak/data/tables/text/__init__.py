"""Text tables: CSV and JSON lines."""
