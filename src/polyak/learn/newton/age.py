"""How much of the lane's progressive loss is due to the age of the weights that rows are scored by.

Averaged SGD has new weights after every row; the lane finds its own anew only after twice or four
times as many, later at every block, and scores all rows in between by the old ones. By the paper's
bound, weights of n rows lose about ``tr(A⁻¹S) / 2n`` more than the best. So rows that are scored by
those of n0 rows, when there were t already, cost ``tr(A⁻¹S) (1/n0 - 1/t) / 2`` that has nothing to
do with how good the steps are. Where lanes are compared, it does not count.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def mean_age(begin: float, end: int, first: int, block: int, growth: int = 2) -> float:
    """Give the mean of ``1/n0 - 1/t`` over rows, t of them being there and n0 in the weights.

    Weights are found after ``first`` rows, after ``growth`` times as many and so on until a block
    is full, then at every block. Rows before that are scored by none, and do not count.

    Examples
    --------
    >>> round(mean_age(100, 200, first=8, block=4096), 5)  # by weights of 64 rows, then of 128
    0.00307
    >>> round(mean_age(100, 200, first=8, block=4096, growth=4), 5)  # by those of 32, then of 128
    0.00744
    >>> mean_age(500_000, 1_000_000, first=8, block=4096) < 1e-8
    True
    """
    begin = max(int(begin), first)
    if end <= begin:
        return 0.0
    early = first * growth ** np.arange(max((block // first).bit_length(), 1))
    found = np.concatenate([early[early < block], np.arange(block, end, block)])
    found = found[np.searchsorted(found, begin, side="right") - 1 :]
    found = found[found < end]
    rows = np.diff(np.append(np.maximum(found, begin), end))
    return float((rows / found).sum() - np.log(end / begin)) / (end - begin)


def degrees(G: Floats, R: Floats, penalties: Floats) -> Floats:
    """Say how many weights it is that rows decide rather than the penalty, for each of them.

    Examples
    --------
    >>> degrees(np.diag([100.0, 1.0]), np.ones(2), np.array([1e-9, 1.0])).round(2)
    array([2.  , 1.49])
    """
    root = 1.0 / np.sqrt(R)
    sizes = np.maximum(np.linalg.eigvalsh(G * root[:, None] * root), 0.0)[:, None]
    return np.asarray((sizes / (sizes + penalties)).sum(axis=0))
