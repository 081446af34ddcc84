"""Leave-one-out: the score of each row by weights that were found without it.

Where rows are few, their progressive losses depend too much on their order. But in the end all of
them are there, and at an optimum the weights need not be refitted without each of them.
With ``H`` the Hessian of all losses and penalties and ``q = z' H^-1 z``, a Newton step that takes a
row of slope g and curvature h out moves its score by ``g q / (1 - h q)``: exact for squared error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from polyak.learn.newton.block.algebra import definite_inverse, gram
from polyak.learn.newton.block.curvature import Block, curvature, with_offsets
from polyak.losses import Loss

Floats = NDArray[np.float64]

MOST_LEVERAGE = 1.0 - 1e-6
"""The largest leverage: a row that alone determines its score would have one."""
FEW_ROWS = 5000
"""Rows beyond which their order matters little."""
MOST_WORK, LITTLE_WORK = 1e10, 1e9
"""Multiplications that computing leverages may take, a second or two; and few of them."""


def is_cheap(rows: int, columns: int, models: int, most: float = MOST_WORK) -> bool:
    """Whether to leave each row out in turn: rows are few, and not too wide.

    Examples
    --------
    >>> is_cheap(1000, 100, 6), is_cheap(100_000, 10, 6)
    (True, False)
    """
    return rows <= FEW_ROWS and (rows + columns) * columns**2 * models <= most


def scores_left_out(
    loss: Loss,
    Z: NDArray[Any],
    targets: Floats,
    weights: Floats | None,
    W: Floats,
    shrink: Floats,
    offsets: Floats | None = None,
    times: float = 1.0,
    spent: float = 0.0,
) -> Floats:
    """Return the score of every row by weights found without it, a column per penalty.

    It is NaN where no weights are finite.

    Parameters
    ----------
    loss : a loss with a curvature
    Z : array of shape (rows, columns)
    targets : array of shape (rows,)
    weights : array of shape (rows,), optional
    W : array of shape (columns, penalties)
        The optimum of all rows for each penalty.
    shrink : array of shape (columns, penalties)
        The second derivatives of the penalties.
    offsets : array of shape (rows,), optional
        What is added to the scores.
    times : float
        The rows that each of them stands for: ``shrink`` is then a share of the penalties as large
        as that of the rows.
    spent : float
        The degrees of freedom that the choice of penalties took: see `shared_by_all`.

    Examples
    --------
    >>> from polyak.losses import get_loss
    >>> loss = get_loss("squared_error")
    >>> Z, y = np.ones((4, 1)), np.array([1.0, 2.0, 3.0, 6.0])
    >>> free = np.zeros((1, 1))  # the mean of the others, without a penalty
    >>> scores_left_out(loss, Z, y, None, np.array([[3.0]]), free).T
    array([[3.666..., 3.333..., 3.   , 2.   ]])
    >>> scores_left_out(loss, Z, y, None, np.array([[3.0]]), free, spent=1.0).T
    array([[5., 4., 3., 0.]])
    """
    found = np.empty((len(Z), W.shape[1]))
    for place, own in enumerate(shrink.T):
        scores = with_offsets(np.asarray(Z @ W[:, place], dtype=np.float64), offsets)
        _, slope = loss.value_and_slope(scores, targets)
        h = curvature(loss, scores, targets)
        if weights is not None:
            slope, h = slope * weights, h * weights
        inverse = definite_inverse(gram(Z, h), own)
        if inverse is None:
            found[:, place] = np.nan
            continue
        leverage = np.square(Z @ inverse.T).sum(axis=1, dtype=np.float64) / times
        left = 1.0 - np.minimum(h * leverage, MOST_LEVERAGE)
        leverage += shared_by_all(spent / times, float(left.sum()), float(h.mean()))
        found[:, place] = scores + slope * leverage / left
    return found


def shared_by_all(spent: float, left: float, h: float) -> float:
    """Return what to add to leverages in which the choice of penalties is not seen.

    It took ``spent`` of the degrees of freedom that are ``left`` to the rows, so what a row leaves
    unexplained is larger by the same factor in all of them. ``h`` is their mean curvature. Added to
    1 - h q instead, it would ruin a row that has a leverage of nearly one.

    Examples
    --------
    >>> round(shared_by_all(1.0, 3.0, h=1.0), 6)  # what rows leave is larger by a half
    0.5
    """
    share = min(spent / max(left, 1e-300), 0.5)
    return share / (1.0 - share) / max(h, 1e-300)


@dataclass(frozen=True, slots=True)
class Spectrum:
    """A Hessian in units of the penalty: with any size of it, the inverse is known.

    Attributes
    ----------
    mean : array of shape (columns,)
        The mean of the rows, by which the intercept is eliminated; zero without one.
    weight : float
        The intercept's own curvature; infinite without one.
    values : array of shape (columns,)
        The eigenvalues.
    axes : array of shape (columns, columns)
        The eigenvectors, for rows in their own units.
    """

    mean: Floats
    weight: float
    values: Floats
    axes: Floats

    @classmethod
    def of(cls, hessian: Floats, ridge: Floats, first: int) -> Self:
        """Return that of a sum of ``h z z'``, of which the ``first`` column is the intercept's."""
        own = hessian[first:, first:]
        mean, weight = np.zeros(len(own)), np.inf
        if first:
            weight = max(float(hessian[0, 0]), 1e-300)
            mean = hessian[0, 1:] / weight
            own = own - weight * np.outer(mean, mean)
        unit = 1.0 / np.sqrt(ridge[first:])
        values, axes = np.linalg.eigh(own * unit[:, None] * unit)
        return cls(mean, weight, np.maximum(values, 0.0), axes * unit[:, None])

    def times_larger(self, Z: NDArray[Any], h: Floats) -> Floats:
        """Return how many times the size of this Hessian those of some curvatures have."""
        if np.isfinite(self.weight):
            return np.asarray(h.sum(axis=0) / self.weight)
        squares = np.square(Z @ self.axes).sum(axis=1)
        return np.asarray(squares @ h / max(self.values.sum(), 1e-300))

    def leverages(self, Z: NDArray[Any], penalties: Floats, times: Floats) -> Floats:
        """Return ``z' (times H + penalty)^-1 z`` of each row, a column per penalty.

        Examples
        --------
        >>> Z = np.array([[1.0, 0.0], [1.0, 2.0], [1.0, 4.0]])
        >>> spectrum = Spectrum.of(Z.T @ Z, np.array([0.0, 1.0]), 1)
        >>> spectrum.leverages(Z, np.array([1.0]), np.ones(1)).T.round(6)
        array([[0.777778, 0.333333, 0.777778]])
        """
        along = Z[:, Z.shape[1] - len(self.mean) :] @ self.axes
        along -= self.mean @ self.axes
        found = np.square(along, out=along) @ (1.0 / (times * self.values[:, None] + penalties))
        return np.asarray(found + 1.0 / (times * self.weight))


def one_step(
    loss: Loss, rows: Block, W: Floats, spectrum: Spectrum, penalties: Floats, times: float
) -> tuple[Floats, Floats]:
    """Return what `scores_left_out` does, for penalties that share a Hessian but for its size.

    Each row stands for ``times`` as many. How many times larger the Hessian of each penalty is, by
    the sum of curvatures, is returned too: the more it differs from one, the less it is the same.
    """
    targets = rows.targets[:, None]
    scores = with_offsets(np.asarray(rows.Z @ W, dtype=np.float64), rows.offsets)
    slopes = rows.weighted(loss.value_and_slope(scores, targets)[1])
    h = rows.weighted(loss.curvature_at(scores, targets))
    larger = spectrum.times_larger(rows.Z, h) * times
    leverages = spectrum.leverages(rows.Z, penalties, larger)
    left = 1.0 - np.minimum(h * leverages, MOST_LEVERAGE)
    return scores + slopes * leverages / left, larger
