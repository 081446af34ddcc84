"""Rates that follow gradients, as AdaGrad's do: for rows with many features, most of them rare.

Coordinate ``j`` moves by ``eta / (tau + sum of (slope * x_j)^2) ** p``: a feature that is rare, or
that the model is right about, keeps a large rate however late it comes. In a bank that is a
preconditioner of mean squares of gradients, and a rate that falls like ``t ** -p``.
"""

from __future__ import annotations

from typing import NamedTuple

from polyak.learn.schedules import Polynomial

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
