"""Whether rows are sorted by class, which makes one-pass learning fail."""

from __future__ import annotations

from typing import Any

import numpy as np

ROWS_TO_TELL = 1000
"""The least number of rows for a decision."""


def sorted_by_class(targets: Any) -> bool:
    """Whether the first targets of a source look sorted by class.

    In random order, n rows of which n_k are of class k change class n - Σ n_k² / n times on
    average. They look sorted if they change less than a quarter as often, or if at least a thousand
    rows are all of one class. Targets with more than one distinct value per ten rows are regression
    targets and never look sorted; neither do a few rows of a rare class, whose order could be
    chance.

    Examples
    --------
    >>> sorted_by_class([0] * 600 + [1] * 600)
    True
    >>> sorted_by_class([0, 1, 1] * 400)
    False
    """
    targets = np.asarray(targets)
    n = len(targets)
    if n < ROWS_TO_TELL:
        return False
    _, counts = np.unique(targets, return_counts=True)
    if len(counts) == 1:
        return True
    if len(counts) > n / 10:
        return False
    expected = n - float(np.sum((counts / n) * counts))
    changes = np.count_nonzero(targets[1:] != targets[:-1])
    return bool(expected >= 8 and changes < expected / 4)
