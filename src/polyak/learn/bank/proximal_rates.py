"""Which rates and penalties proximal steps try, where weights are to be zero and rows are wide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from polyak.rows.sparse import Rows, SparseRows

RATES = (0.4, 0.15, 1.1)
"""How far scores move at first, for features of usual size, the most promising first. Where words
tell topics apart 0.4 is best, where features are few and common 0.15, where they are rare 1."""
FIRST_HOLD = 0.1
"""How firmly weights are held at first, in slopes: the first row alone must not move them far."""
LIGHT = (1e-5, 1e-6, 1e-4, 1e-3)
"""Penalties of squares, where weights are to be not negative but none need be zero."""


class ProximalSettings(NamedTuple):
    """What the models of one bank may differ in: penalty, eta and b of ``proximal.hpp``."""

    alpha: float
    eta: float
    hold: float


def proximal_settings(
    rows: Rows, alphas: Sequence[float], path: Sequence[float], unit: float
) -> list[ProximalSettings]:
    """List what to try, the most promising first: later ones may not fit in memory.

    ``alphas`` are asked for; without any, those of a ``path`` are tried, which falls from one that
    leaves next to no weight. Scores are of the size of ``unit``.

    Examples
    --------
    >>> found = proximal_settings(np.eye(3), [0.1], [], unit=2.0)
    >>> found[0], len(found)
    (ProximalSettings(alpha=0.1, eta=0.8, hold=0.2), 3)
    >>> [one.alpha for one in proximal_settings(np.eye(3), [], [4.0, 3.0, 2.0, 1.0], unit=1.0)][:4]
    [2.0, 3.0, 1.0, 4.0]
    """
    values = rows.values if isinstance(rows, SparseRows) else np.asarray(rows)
    if isinstance(rows, SparseRows):
        values = values[int(rows.indptr[0]) : int(rows.indptr[-1])]
    squares = np.square(values[values != 0], dtype=np.float64)
    size = float(np.sqrt(squares.mean())) if squares.any() else 1.0
    if not alphas:  # those in the middle are the likeliest, and rather small than large
        middle = (len(path) - 1) * 0.65
        alphas = sorted(path, key=lambda alpha: abs(path.index(alpha) - middle)) or LIGHT
    return [
        ProximalSettings(alpha, unit * rate / size**0.5, FIRST_HOLD * unit)
        for rate in RATES
        for alpha in alphas
    ]
