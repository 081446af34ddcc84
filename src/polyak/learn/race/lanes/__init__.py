"""The lanes of a race: what one is, and the three kinds there are."""
