"""Whether a term has any effect: a score test of all its weights at once.

With H the Hessian of all rows, the score u of a term's weights at zero, all others refitted without
a penalty, is normal with the covariance φS if the term has no effect, S being what the other
columns leave of its block of H. The statistic is |u|² in the coordinates in which the roughness of
a curve is |w|², so smooth effects count most: it is the locally most powerful test of a variance of
the weights above zero, and it does not depend on the penalty that was chosen. Its distribution is
that of a weighted sum of chi-squared variables, whose tail a saddlepoint approximation gives.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak.learn.newton.block.algebra import solve

Floats = NDArray[np.float64]

NO_PENALTY = 1e-8
"""The penalty of all columns, as a share of their curvature, so that equations are definite."""
NOTHING = 1e-6
"""What other columns leave of a term's largest curvature, as a share of it or of one row, below
which a direction is theirs: a term of such directions alone, as the last of all dummies, cannot be
tested."""


class Significance(NamedTuple):
    """A statistic, its degrees of freedom if all weights were alike, and the p-value."""

    statistic: float
    degrees: float
    p_value: float


def score_tests(
    hessian: Floats,
    right: Floats,
    terms: list[NDArray[np.intp]],
    units: Floats,
    dispersion: float,
    degrees: float,
) -> list[Significance]:
    """Test for each term, given as columns, whether its weights are all zero.

    ``right`` is what ``hessian`` times the weights is at the optimum without a penalty; ``units``
    are those of the columns, and ``degrees`` the degrees of freedom of the dispersion.
    """
    held = NO_PENALTY * np.maximum(np.diagonal(hessian), 1e-300)
    inverse = solve(hessian, held, np.eye(len(hessian)))
    weights = inverse @ right
    found = []
    for columns in terms:
        # The inverse of a block of the inverse is what the other columns leave of the Hessian.
        left = np.linalg.inv(inverse[np.ix_(columns, columns)])
        u = (left @ weights[columns]) * units[columns]
        left = 0.5 * (left + left.T) * units[columns][:, None] * units[columns]
        values = np.linalg.eigvalsh(left)
        whole = np.diagonal(hessian)[columns] * np.square(units[columns])
        shares = dispersion * values[values > NOTHING * max(whole.max(), 1.0)]
        if not len(shares):
            found.append(Significance(0.0, 0.0, 1.0))
            continue
        total, squares = float(shares.sum()), float(shares @ shares)
        ratio, own = float(u @ u) / total, total * total / squares
        found.append(Significance(ratio * own, own, tail(shares / total, ratio, degrees)))
    return found


def tail(shares: Floats, value: float, degrees: float) -> float:
    """Return the probability that a weighted sum of chi-squared variables exceeds a value.

    The value is a ratio to a variance estimated with ``degrees`` degrees of freedom. By the
    saddlepoint approximation of Lugannani and Rice, as Kuonen (1999) applies it.

    Examples
    --------
    >>> round(tail(np.full(5, 0.2), 11.0705 / 5, 1e9), 3)  # chi-squared, 5 degrees of freedom
    0.05
    >>> round(tail(np.full(4, 0.25), 3.4780, 10.0), 3)  # F(4, 10)
    0.05
    """
    if value <= 0:
        return 1.0
    each = np.concatenate([shares, [-value / degrees]])
    times = np.concatenate([np.ones(len(shares)), [degrees]])

    def slope(t: float) -> float:
        return float((times * each / (1.0 - 2.0 * t * each)).sum())

    # K' rises from minus to plus infinity between the poles.
    low, high = -0.5 * degrees / value, 0.5 / float(shares.max())
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    t = 0.5 * (low + high)
    grown = 1.0 - 2.0 * t * each
    cumulant = -0.5 * float((times * np.log(grown)).sum())
    second = 2.0 * float((times * np.square(each / grown)).sum())
    w = math.copysign(math.sqrt(max(-2.0 * cumulant, 0.0)), t)
    v = t * math.sqrt(second)
    if abs(w) < 1e-4:  # at the mean, where the formula is 0/0
        third = 8.0 * float((times * (each / grown) ** 3).sum())
        return 0.5 - third / (6.0 * math.sqrt(second) ** 3 * math.sqrt(2.0 * math.pi))
    z = w + math.log(v / w) / w
    return 0.5 * math.erfc(z / math.sqrt(2.0))
