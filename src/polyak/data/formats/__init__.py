"""One module per format, and a registry of them."""
