"""When the weights of block Newton steps are refitted: the one place that decides it.

Rows are scored by the weights of the last fit, averaged SGD's by those of the row before. By the
paper's bound, weights of n rows lose about ``tr(A⁻¹S) / 2n`` more than the best, so those of a fit
at n rows are a little worse when there are 1.25 n: by a tenth of that on average. That is little
enough for lanes to be compared as they are.
"""

from __future__ import annotations

import math
import sys

GROWTH, GROWTH_OF_SPARSE = 1.25, 2.0
"""Weights are refitted when the number of rows has grown by this factor. Sparse ones, which take
far longer to fit, race only against others of the same age."""
FIRST_FIT = 8
"""The first fit is at this many rows, ..."""
FEATURES_PER_ROW = 16
"""... or, with more features than this for each of them, at more rows."""


class Cadence:
    """The number of rows at the last fit, and what follows from it.

    Parameters
    ----------
    growth : float
        By which factor the number of rows grows from one fit to the next; infinite for a single fit
        once all rows are there.

    Examples
    --------
    >>> cadence = Cadence()
    >>> cadence.next_fit(50), cadence.next_fit(800)
    (8, 64)
    >>> cadence.fitted = 4096
    >>> cadence.next_fit(50)
    5120
    """

    def __init__(self, growth: float = GROWTH) -> None:
        self.growth = growth
        self.fitted = 0

    def next_fit(self, features: int) -> int:
        """Return the number of rows at which weights are to be refitted."""
        if math.isinf(self.growth):
            return sys.maxsize
        first = max(FIRST_FIT, 1 << (features // FEATURES_PER_ROW).bit_length())
        return max(math.ceil(self.growth * self.fitted), first)
