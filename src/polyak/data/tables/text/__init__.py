"""Tables of text: CSV and JSON lines."""
