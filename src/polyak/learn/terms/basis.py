"""The basis of a curve: functions of a column from smooth to rough, so that a ridge is smoothness.

A curve is a value at each of several knots, with straight lines between them. Its roughness is the
sum of squared differences of neighbouring values. Knots are quantiles, so this is measured in
ranks: real columns are skewed and jump. In the coordinates below a plain ridge penalty of the
weights is that roughness, and the functions are centred over the rows, so they say nothing about
the intercept.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyak.model.terms import Axis

Floats = NDArray[np.float64]

MOST_KNOTS = 32
"""The most knots of a curve; a column of fewer different values has one at each of them."""
LEAST_VARIANCE = 1e-4
"""The variance of a function over that of the smoothest below which it is left out. The penalty
smooths what is left: of 16 tables with 1e-3 none has a loss clearly lower, and one of 0.2% more."""


def curve_axis(
    column: str, features: tuple[int, ...], values: Floats, most: int = MOST_KNOTS
) -> Axis | None:
    """Return the axis of a curve from values of the first rows; None if they do not vary.

    It has at most ``most`` functions.

    Examples
    --------
    >>> axis = curve_axis("x", (0,), np.arange(100.0))
    >>> len(axis.knots), axis.size
    (30, 29)
    >>> functions = axis.at(np.arange(100.0))
    >>> bool(np.abs(functions.mean(axis=0)).max() < 1e-12), float(functions[:, 0].var().round(6))
    (True, 1.0)
    """
    knots = knots_of(values)
    if len(knots) < 2:
        return None
    hats = Axis(column, features, tuple(knots.tolist()), _rows(np.eye(len(knots))))
    differences = np.diff(np.eye(len(knots)), axis=0)
    basis = smooth_basis(hats.at(values), differences.T @ differences)
    return Axis(column, features, hats.knots, _rows(basis[:, :most]))


def monotone_axis(
    column: str, features: tuple[int, ...], values: Floats, most: int = MOST_KNOTS
) -> Axis | None:
    """Return the axis of a curve that only rises where no weight is negative.

    Each function rises by one between two neighbouring knots and is constant elsewhere, so weights
    are differences of neighbouring values, and their squares the roughness.

    Examples
    --------
    >>> axis = monotone_axis("x", (0,), np.arange(3.0))
    >>> axis.at(np.array([0.0, 0.5, 1.0, 2.0])).T.round(2).tolist()
    [[-0.67, -0.17, 0.33, 0.33], [-0.33, -0.33, -0.33, 0.67]]
    """
    knots = knots_of(values, min(most + 1, MOST_KNOTS))
    if len(knots) < 2:
        return None
    rising = np.tri(len(knots), len(knots) - 1, -1)
    ramps = Axis(column, features, tuple(knots.tolist()), _rows(rising))
    return Axis(column, features, ramps.knots, _rows(rising - ramps.at(values).mean(axis=0)))


def level_axis(column: str, features: tuple[int, ...], levels: Floats) -> Axis | None:
    """Return the axis of a category from indicators of its levels; None if they do not vary."""
    if len(features) < 2:
        return None
    return Axis(column, features, (), _rows(smooth_basis(levels, np.eye(len(features)))))


def smooth_basis(places: Floats, roughness: Floats) -> Floats:
    """Return the values of the basis functions at the knots, a column each.

    ``places`` are the rows in terms of knots: row by row, weights that add up to one. Functions are
    uncorrelated over the rows; the first has the variance one, and the variance of each is
    inversely proportional to its roughness.
    """
    moments = places.T @ places / len(places)
    centred = np.linalg.svd(moments.sum(axis=0)[None])[2][1:].T
    inner = centred.T @ moments @ centred
    # A knot that hardly any row is near is as good as its neighbours.
    inner += 1e-9 * np.trace(inner) / len(inner) * np.eye(len(inner))
    factor = np.linalg.inv(np.linalg.cholesky(inner))
    rough, axes = np.linalg.eigh(factor @ centred.T @ roughness @ centred @ factor.T)
    rough = np.maximum(rough, 1e-12 * rough[-1])
    keep = rough[0] >= LEAST_VARIANCE * rough
    functions: Floats = (centred @ factor.T @ axes / np.sqrt(rough / rough[0]))[:, keep]
    signs = np.sign(functions[-1])  # so that the first functions rise
    return functions * np.where(signs == 0, 1.0, signs)


def knots_of(values: Floats, most: int = MOST_KNOTS) -> Floats:
    """Return all different values if they are few, else quantiles, each of them a value.

    A value that many rows share has a knot of its own and counts no further, so that the other
    knots are spread over the rest.

    Examples
    --------
    >>> knots_of(np.concatenate([np.zeros(900), np.arange(100.0)]), most=6)
    array([ 0.,  1., 15., 50., 85., 99.])
    """
    different, counts = np.unique(values, return_counts=True)
    if len(different) <= most:
        return different
    often = np.zeros(len(different), dtype=bool)
    while True:
        left = most - int(often.sum())
        more = ~often & (counts * left > counts[~often].sum())
        if not more.any() or left - more.sum() < 2:
            break
        often |= more
    rest = np.repeat(different[~often], counts[~often])
    levels = np.square(np.sin(np.linspace(0.0, 0.5 * np.pi, left)))
    quantiles = np.quantile(rest, levels, method="nearest")
    return np.unique(np.concatenate([different[often], quantiles]))


def _rows(matrix: Floats) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in matrix.tolist())
