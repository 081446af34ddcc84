"""From files, tables and arrays to batches of rows."""
