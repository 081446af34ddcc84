"""When the weights of block Newton steps are refitted: the one place that decides it.

Rows are scored by the weights of the last fit, averaged SGD's by those of the row before. By the
paper's bound, weights of n rows lose about ``tr(A⁻¹S) / 2n`` more than the best, d/2n for d weights
where the model is true. So those of a fit at n rows are a little worse when there are 1.25 n: by a
tenth of that on average, which adds up to 0.04 d over the later half of the rows. Differences of
two lanes' losses have about twice the variance of what both lose, which adds up to a standard error
of 1.2 √d. The first is smaller up to 800 weights, so lanes can be compared as they are.

Weights are refitted when the number of rows has grown by a factor, and when a block is full: then
its rows are summed up by a quadratic and forgotten.
"""

from __future__ import annotations

import math
import sys

GROWTH, GROWTH_OF_SPARSE = 1.25, 2.0
"""Weights are refitted when the number of rows has grown by this factor. Sparse ones and those of
terms, which take far longer to fit, race mostly against others of the same age."""
FIRST_FIT = 8
"""Rows at the first fit, ..."""
FEATURES_PER_ROW = 16
"""... or more rows, where there are more features than this for each of them. Without a penalty,
fewer rows than features determine no weights, so there it is one."""
BLOCK = 4096
"""Rows of the first block. Up to a few thousand, more rows give better weights; beyond that the
length makes little difference."""
LONG_BLOCK = 16384
"""Rows of the longest block. Sparse weights begin with it: a block's Hessian is that of the weights
at the time, and the sum of few blocks is closer to that of the last weights."""
BLOCK_BYTES = 1 << 25
"""A block does not double beyond 32 MiB."""


class Cadence:
    """The number of rows at the last fit, and what follows from it.

    Parameters
    ----------
    growth : float
        By which factor the number of rows grows from one fit to the next; infinite to fit only full
        blocks, and the rest once all rows are there.
    first_block : int
        The rows of the first block.
    features_per_row : int
        The most features for each row at the first fit.

    Examples
    --------
    >>> cadence = Cadence()
    >>> cadence.next_fit(50), cadence.next_fit(800)
    (8, 64)
    >>> cadence.fitted = 4096
    >>> cadence.next_fit(50)
    5120
    >>> cadence.block_rows(4096, row_bytes=240), cadence.block_rows(1_000_000, row_bytes=240)
    (4096, 16384)
    """

    def __init__(
        self,
        growth: float = GROWTH,
        first_block: int = BLOCK,
        features_per_row: int = FEATURES_PER_ROW,
    ) -> None:
        self.growth, self.first_block = growth, first_block
        self.features_per_row = features_per_row
        self.fitted = 0

    def next_fit(self, features: int) -> int:
        """Return the number of rows at which weights are to be refitted."""
        if math.isinf(self.growth):
            return sys.maxsize
        first = max(FIRST_FIT, 1 << (features // self.features_per_row).bit_length())
        return max(math.ceil(self.growth * self.fitted), first)

    def is_due(self, rows: int, features: int) -> bool:
        """Whether weights are to be refitted now that there are this many rows."""
        return rows >= self.next_fit(features)

    def rows_until_fit(self, before: int, block: int, features: int) -> int:
        """Return the number of held rows at which weights are refitted, or their block is full.

        ``before`` is the number of rows before the block.
        """
        return min(max(self.next_fit(features) - before, 1), block)

    def block_rows(self, before: int, row_bytes: int) -> int:
        """Return the length of the block that begins after ``before`` rows.

        It doubles as long as that leaves weights no older than ``GROWTH`` does: a long block is
        fitted in little more time than a short one.
        """
        most = min(LONG_BLOCK, BLOCK_BYTES // max(row_bytes, 1), (GROWTH - 1.0) * before)
        rows = self.first_block
        while 2 * rows <= most:
            rows *= 2
        return rows
