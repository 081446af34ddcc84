"""Rates that follow gradients, as AdaGrad's do: for rows with many features, most of them rare.

Coordinate ``j`` moves by ``eta / (tau + sum of (slope * x_j)^2) ** p``: a feature that is rare, or
that the model is right about, keeps a large rate however late it comes. In a bank that is a
preconditioner of mean squares of gradients, and a rate that falls like ``t ** -p``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from polyak.learn.schedules import Polynomial
from polyak.rows.sparse import Rows, SparseRows

LEAST = 1e-4
"""The share of the mean squared norm that every sum of squares begins at (``tau``).

Without it the first step on a feature is as long however small the slope was.
"""
POWERS_AND_RATES = ((0.5, 1.0), (0.625, 0.5), (0.5, 2.0), (0.625, 1.0), (0.5, 0.5), (0.625, 0.25))
"""``p`` and ``eta``, the most promising first. The last iterate is the model: such rates average
by themselves."""


class AdaptiveRate(NamedTuple):
    """A preconditioner's power, the sum that its squares begin at, and the rate over time."""

    power: float
    least: float
    schedule: Polynomial


def adaptive_rates(length: float) -> list[AdaptiveRate]:
    """Give the rates to try where rows have this mean squared norm.

    Multiplying all features by a number changes no score: ``eta`` is in units that see to it.

    Examples
    --------
    >>> adaptive_rates(2.0)[0]
    AdaptiveRate(power=0.5, least=0.0002, schedule=Polynomial(gamma0=0.707..., a=1.414..., c=0.5))
    """
    found = []
    for p, eta in POWERS_AND_RATES:
        gamma0 = eta * length ** (p - 1.0)
        found.append(AdaptiveRate(p, LEAST * length, Polynomial(gamma0, 1.0 / gamma0, p)))
    return found


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
