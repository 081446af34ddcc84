"""Progressive validation: sums of the losses of rows that were scored before they were learned."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyak import _core
from polyak.learn.bank.merging import SUMS
from polyak.losses import get_loss

Floats = NDArray[np.float64]

RATED = SUMS.index("rated")


def progressive_sums(
    loss: str,
    scores: Floats,
    targets: Floats,
    weights: Floats,
    limits: Floats,
    *,
    one_vs_rest: bool,
    together: bool = False,
    threads: int = 1,
) -> Floats:
    """Return the sums of each model's scores over rows, of shape (SUMS, penalties * outputs).

    ``scores`` has the shape (rows, penalties, outputs), ``targets`` (rows, outputs), ``limits``
    (rows, 2), see `polyak.learn.race.row_limits`. Of classes that are learned ``together`` only the
    row's own loses: what counts is its probability.

    Examples
    --------
    >>> scores, targets = np.array([[[2.0]], [[-1.0]]]), np.array([[3.0], [1.0]])
    >>> limits = np.array([[1.5, 1.0], [1.5, 1.0]])
    >>> progressive_sums("squared_error", scores, targets, np.ones(2), limits, one_vs_rest=False).T
    array([[2.  , 2.5 , 4.25, 3.  , 0.  , 2.  , 1.  ]])
    """
    rows, penalties, outputs = scores.shape
    sums = np.zeros((len(SUMS), penalties * outputs))
    sums[0] = weights.sum()
    if loss == "log_loss" and outputs == 1:  # by far the most frequent: the core needs one pass
        flat, own = np.ascontiguousarray(scores[:, :, 0]), np.ascontiguousarray(targets[:, 0])
        found = _core.logistic_sums(flat, own, weights, limits, threads)
        sums[1:4], sums[RATED:] = found[:3], found[3:]
        return sums
    own, kind = targets[:, None, :], get_loss(loss)
    values, slopes = kind.value_and_slope(scores, own)
    if loss == "squared_error":
        error = np.abs(slopes)
    elif kind.classifies:
        error = ((scores > 0) != (own > 0)).astype(np.float64)
    else:
        error = np.abs(kind.predictions(scores) - own)
    if together:
        values = np.where(own > 0, values, 0.0)
    flat = values.reshape(rows, -1)
    sums[1] = weights @ flat
    sums[2] = weights @ np.square(flat)
    sums[3] = weights @ error.reshape(rows, -1)
    if one_vs_rest:
        sums[4, ::outputs] = weights @ (scores.argmax(axis=2) != targets.argmax(axis=1)[:, None])
    cap, share = limits.T
    counts_fully = flat <= cap[:, None]  # false for a loss that is not a number
    sums[RATED] = (weights * share) @ np.where(counts_fully, flat, cap[:, None])
    sums[RATED + 1] = (weights > 0) @ ~counts_fully
    return sums
