"""Columns within columns, lists and structs, as columns of their own."""
