"""Standard errors from the same pass: how far the weights would lie elsewhere with other rows.

Where w minimises a sum of losses, its covariance is about ``H⁻¹ M H⁻¹``: H the sum of the Hessians,
penalty included, and ``M = Σ g² z zᵀ``, g being the slope of a row's loss times the row's weight.
That holds whatever the noise is like and whether or not the model is true.

The slope of a row by weights that have learned it is too small, the more so the more the row has
pulled them its way. Its leverage ``h zᵀ H⁻¹ z``, h the row's curvature, says how much: without the
row, its slope would be ``g / (1 - leverage)``, exactly so for squared error. M is the sum of those,
so that the covariance is the jackknife's (known as HC3).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyak.learn.newton.block.algebra import gram, quadratic_form
from polyak.learn.newton.block.curvature import Block, curvature, with_offsets
from polyak.learn.newton.block.leave_one_out import MOST_LEVERAGE
from polyak.learn.newton.standardize import Standard
from polyak.losses import Loss
from polyak.storage.sandwich import Sandwich

Floats = NDArray[np.float64]

EARLIEST = 10.0
"""Degrees of freedom per column below which weights are not compared with later ones."""
NO_ROWS = (1e-12, 1e-6)
"""The least and the largest curvature, of a matrix with a diagonal of ones, below which a direction
is without rows; between them, the threshold is ten times the penalty's curvature."""
NOISE = 1e-6
"""The standard error, as a share of the score, below which targets have no noise."""


def slope_spread(block: Block, loss: Loss, w: Floats, inverse: Floats) -> Floats:
    """Return the sum of ``g² z zᵀ`` over rows, each slope as if its row had not been learned.

    ``inverse`` is that of the sum of the Hessians with the rows' own and the penalty, at w.
    """
    scores = with_offsets(block.Z @ w, block.offsets)
    slopes = block.weighted(loss.value_and_slope(scores, block.targets)[1])
    h = block.weighted(curvature(loss, scores, block.targets))
    leverage = np.minimum(h * quadratic_form(block.Z, inverse), MOST_LEVERAGE)
    return gram(block.Z, np.square(slopes / (1.0 - leverage)))


def sandwich_of(
    standard: Standard,
    W: Floats,
    G: list[Floats],
    M: list[Floats],
    shrink: Floats,
    rows: float,
) -> Sandwich:
    """Return weights and their covariance in the units of the rows.

    ``W`` has a column per output; ``shrink`` is the diagonal of the penalty. The weights apply to a
    row's distance from the centres, so that there is no shift to undo.

    The degrees of freedom are the sum of the rows' curvatures less the number of weights. For
    squared error that sum is the number of rows; for log_loss with a rare class about the rows of
    that class, since few of the others carry information.
    """
    first = int(standard.fit_intercept)
    unit = np.concatenate([np.ones(first), 1.0 / standard.units])
    outputs, columns = W.shape[1], 1 + len(standard)
    here = slice(1 - first, None)  # without an intercept the score at the origin is zero
    weights, covariance = np.zeros((columns, outputs)), np.zeros((outputs, columns, columns))
    weights[here] = W * unit[:, None]
    degrees = np.empty(outputs)
    for k in range(outputs):
        own = G[k % len(G)]
        bread = _inverse(own, shrink)
        both = bread @ M[k] @ bread * unit[:, None] * unit
        covariance[k, here, here] = 0.5 * (both + both.T)
        degrees[k] = max((own[0, 0] if first else rows) - len(W), 1.0)
    return Sandwich(standard.features.copy(), standard.centre.copy(), weights, covariance, degrees)


def _inverse(hessian: Floats, shrink: Floats) -> Floats:
    """Return the inverse of the Hessian with the penalty, zero along directions without rows.

    Along those, such as the sum of all dummies less the constant, M is zero but for rounding, and
    so is the sandwich; the inverse of a tiny penalty, squared, would make rounding large. Only the
    penalty says where the weights are along them, so errors are those of weights projected there by
    its inner product: of levels whose weights add up to zero, not of others that score alike.
    """
    whole = hessian + np.diag(shrink)
    size = 1.0 / np.sqrt(np.maximum(np.diagonal(whole), 1e-300))
    values, axes = np.linalg.eigh(whole * size[:, None] * size)
    known = values > np.clip(10.0 * (shrink * size * size).max(initial=0.0), *NO_ROWS)
    axes, root = axes * size[:, None], np.sqrt(shrink)[:, None]
    free, axes = axes[:, ~known], axes[:, known]
    axes = axes - free @ np.linalg.lstsq(root * free, root * axes)[0]
    return np.asarray((axes / values[known]) @ axes.T)


# -- whether weights drift -----------------------------------------------------------------------


def remembered(
    earlier: list[tuple[int, Floats]], rows: int, W: Floats, standard: Standard
) -> list[tuple[int, Floats]]:
    """Return the weights at the last two doublings of the number of rows."""
    if earlier and rows < 2 * earlier[-1][0]:
        return earlier
    slopes = W[int(standard.fit_intercept) :] / standard.units[:, None]
    return [*earlier[-1:], (rows, slopes)]


def drift(
    earlier: list[tuple[int, Floats]], rows: int, sandwich: Sandwich
) -> tuple[int, float] | None:
    """Return the rows of an earlier fit, about half of them, and how far weights moved since then.

    The distance is in standard errors of the difference: weights of a share f of the rows have 1/f
    times the variance of those of all, and a covariance with them that is the variance of those of
    all. None where the earlier weights were of too few rows to be judged.

    Examples
    --------
    >>> one = Sandwich(np.array([4]), np.ones(1), np.ones((2, 1)), np.eye(2)[None], np.full(1, 90.))
    >>> drift([(50, np.array([[4.0]]))], 100, one)
    (50, 3.0)
    """
    early = [one for one in earlier if one[0] <= 0.75 * rows]
    if not early:
        return None
    then, slopes = early[-1]
    known, columns = len(slopes), len(sandwich.weights)
    if (sandwich.degrees * then / rows < EARLIEST * columns).any():
        return None
    if (np.sqrt(sandwich.covariance[:, 0, 0]) < NOISE * np.abs(sandwich.weights[0])).any():
        return None  # targets without noise: what moves is the penalty's share, or rounding
    variances = np.diagonal(sandwich.covariance, axis1=1, axis2=2).T[1 : 1 + known]
    errors = np.sqrt(variances * (rows / then - 1.0))
    away = np.abs(slopes - sandwich.weights[1 : 1 + known])
    moved = np.divide(away, errors, out=np.zeros_like(away), where=errors > 0)
    return then, float(moved.max(initial=0.0))
