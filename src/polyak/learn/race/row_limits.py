"""How rows count where candidates are compared: by limits that the constant alone sets.

A candidate's mean loss is a poor guide where one row decides it: an absurd feature value costs a
good candidate any amount, an absurd target makes all rows but one irrelevant. The constant has seen
no feature, so its loss tells what a row may cost:

* A candidate's loss on a row counts for at most ``CAP`` times the constant's loss there plus the
  constant's mean loss. What is beyond an absurd feature value costs a bounded amount, and rows of a
  rare class, which are dear to the constant too, keep their losses.
* Where targets are unbounded, a row whose weighted loss by the constant is out of proportion counts
  in part. "Out of proportion" means more than one ``FEWEST``-th of the sum over all rows:
  ``FEWEST`` rows of the same kind are not absurd, however rare. The same holds for weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CAP = 10.0
"""How many times the constant's loss a candidate's counts at most. A candidate that is ten times
worse than no features is ruled out by few rows; no other value was tried."""
FEWEST = 20
"""The number of rows that must agree before they can dominate a comparison."""
LEAST = 10.0
"""Times the mean: with few rows, one alone may count for as much."""


def row_limits(lost: Floats, sizes: Floats, mean: float, largest: float) -> Floats:
    """Return each row's cap and share, the two columns.

    Parameters
    ----------
    lost : array of shape (rows,)
        The constant's loss on each row.
    sizes : array of shape (rows,)
        What is compared with ``largest``: weighted losses, or weights where targets are bounded.
    mean : float
        The constant's mean loss. Where it is zero, as long as all targets are the same, there are
        no limits: they would let a candidate lose for nothing.
    largest : float
        The largest size that counts in full, see `largest_size`.

    Examples
    --------
    >>> row_limits(np.array([0.5, 2.0]), np.array([0.5, 2.0]), 1.0, 1.0)
    array([[15. ,  1. ],
           [30. ,  0.5]])
    >>> row_limits(np.zeros(1), np.ones(1), 0.0, 0.0)
    array([[inf,  1.]])
    """
    limits = np.empty((len(lost), 2))
    if not (mean > 0 and largest > 0):
        mean = largest = np.inf
    with np.errstate(over="ignore", invalid="ignore"):
        limits[:, 0] = CAP * (lost + mean)
    limits[:, 1] = 1.0
    np.divide(largest, sizes, out=limits[:, 1], where=sizes > largest)
    return limits


def largest_size(sizes: Floats, rows: float) -> float:
    """Return the largest size that is in proportion to all others, of ``rows`` rows in all.

    It solves ``t = mean(min(sizes, t)) * max(LEAST, rows / FEWEST)``.

    Examples
    --------
    >>> largest_size(np.array([1.0] * 999 + [1e12]), 1000).__round__()
    53
    >>> rare = np.array([0.0] * 970 + [1.0] * 30)  # thirty rows of a kind are not absurd
    >>> largest_size(rare, 1000) >= 1.0
    True
    """
    times, most = max(LEAST, rows / FEWEST), np.inf
    for _ in range(100):  # converges by a factor of the share of absurd rows among FEWEST
        with np.errstate(over="ignore"):
            new = times * float(np.minimum(sizes, most).mean()) if len(sizes) else np.inf
        if not new < 0.999 * most:
            break
        most = new
    return most


def limits_of_all(lost: Floats, weights: Floats | None, *, bounded: bool) -> Floats:
    """Return the limits of rows that are all at hand, from the constant's loss on each.

    ``bounded`` targets are classes; then only weights can be out of proportion.
    """
    own: Any = 1.0 if weights is None else weights
    sizes = np.broadcast_to(own, len(lost)) if bounded else own * lost
    largest = largest_size(sizes, len(lost))
    share = row_limits(lost, sizes, 1.0, largest)[:, 1] * own
    mean = float(share @ lost / share.sum()) if share.sum() > 0 else 0.0
    return row_limits(lost, sizes, mean, largest)
