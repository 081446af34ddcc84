"""What is summed for each candidate of a race over the rows of an interval."""

from __future__ import annotations

NAMES = ("weight", "loss", "loss_squared", "error", "rated", "capped")
"""What is summed for a candidate: the rows' weights, its losses, their squares, its errors, its
losses as candidates are compared by them, and how many of those were capped: see
`polyak.learn.race.row_limits`."""
SUMS = len(NAMES)
LOSS, SQUARES, ERROR, RATED = (NAMES.index(name) for name in NAMES[1:5])
