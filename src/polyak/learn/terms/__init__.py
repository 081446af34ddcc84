"""Terms: curves, shrunken categories and pairs, learned by block Newton steps."""
