"""The formats there are: one module each, and one list of them."""
