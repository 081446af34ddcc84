"""Files that are written: rows that are read fast later, and predictions."""
