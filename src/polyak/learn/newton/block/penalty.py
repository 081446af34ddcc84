"""Penalties of the weights: ridge, elastic net, and weights of a given sign.

Where weights are to be exactly zero, or of a given sign, a quadratic is minimised by coordinate
descent instead of by solving equations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak import _core
from polyak.learn.newton.block.algebra import Equations, solve
from polyak.learn.newton.standardize import Standard

Floats = NDArray[np.float64]
Steps = Callable[..., Floats]
"""A function of the gradient, W, and how many times larger each penalty's matrix is than the one
that is known: W less the minimum of the quadratic."""

WITHIN, REPETITIONS = 0.05, 10
"""The relative error, and the most iterations, of conjugate gradients in a step for the penalties
that do not lead: the next step makes up for the rest."""
SCORES_WITHIN, SCORES_REPETITIONS = 1e-3, 20
"""The same for the weights of squared error that are only used to score the next rows."""
IN_A_STEP, IN_THE_END = 1e-8, 1e-15
"""Coordinate descent ends when no coordinate gains more than this share of the largest gain of a
coordinate from zero."""
ROUNDS = 200
"""The most rounds of coordinate descent over all columns."""
HOLD = 1e-4
"""The curvature that damps every weight in a step, as a share of the rows: where rows are few, or
separate classes, the Hessian is next to zero along some directions."""


class Ridge:
    """The ridge penalty ``w diag(shrink_j) w / 2``, a column per penalty."""

    def __init__(self, shrink: Floats) -> None:
        self.shrink = shrink

    def of_penalties(self, places: NDArray[np.intp] | list[int]) -> Ridge:
        """Return those at these places."""
        return Ridge(self.shrink[:, places])

    @property
    def sizes(self) -> Floats:
        """How large each is."""
        return np.asarray(self.shrink.sum(axis=0))

    def rest(self, W: Floats) -> Floats | float:
        """Return the penalty without the squares, a number per column."""
        return 0.0

    def allowed(self, W: Floats) -> Floats:
        """Return the weights with those of the wrong sign set to zero; the same if none is."""
        return W

    def steps(self, matrix: Floats, lead: int, threads: int) -> Steps:
        """Return the steps by this matrix."""
        equations = Equations(matrix, self.shrink, lead, threads, precise=False)

        def away(slope: Floats, W: Floats, times: Floats | None = None) -> Floats:
            how: Any = {"within": WITHIN, "most": REPETITIONS}
            if times is None:
                return equations.solve(slope, **how)
            return equations.solve(slope / times, self.shrink / times, **how)

        return away

    def nearly(self, G: Floats, right: Floats, W: Floats, lead: int, threads: int) -> Floats:
        """Minimise ``w G w / 2 - right w`` for every penalty and output, well enough for scores."""
        equations = Equations(G, self.shrink, lead, threads, precise=True)
        found = np.empty_like(W)
        for k in range(W.shape[2]):
            columns = np.repeat(right[:, k : k + 1], W.shape[1], axis=1)
            found[:, :, k] = equations.solve(columns, within=SCORES_WITHIN, most=SCORES_REPETITIONS)
        return found

    def exactly(self, G: Floats, right: Floats, place: int, W: Floats) -> Floats:
        """Minimise it for one penalty, and one or several right-hand sides."""
        return solve(G, self.shrink[:, place], right)

    def tiled(self, times: int) -> Ridge:
        """Return the same penalty for several outputs, one below the other."""
        return Ridge(np.tile(self.shrink, (times, 1)))


class Sparse(Ridge):
    """A ridge penalty and ``sum of threshold |w|``, for weights of given signs.

    ``signs`` are 1 for weights that are not negative, -1 for those that are not positive, and 0 for
    others; ``held`` is the damping of each weight in a step.
    """

    def __init__(self, shrink: Floats, threshold: Floats, signs: Floats, held: Floats) -> None:
        super().__init__(shrink)
        self.threshold, self.signs, self.held = threshold, signs, held

    def of_penalties(self, places: NDArray[np.intp] | list[int]) -> Sparse:
        """Return those at these places."""
        own = (self.shrink[:, places], self.threshold[:, places])
        return Sparse(*own, self.signs, self.held)

    @property
    def sizes(self) -> Floats:
        """How large each is."""
        return np.asarray((self.shrink + self.threshold).sum(axis=0))

    def rest(self, W: Floats) -> Floats | float:
        """Return the sum of absolute values, a number per column."""
        return np.asarray((self.threshold * np.abs(W)).sum(axis=0))

    def allowed(self, W: Floats) -> Floats:
        """Return the weights with those of the wrong sign set to zero; the same if none is."""
        wrong = (W.T * self.signs).T < 0
        return np.where(wrong, 0.0, W) if wrong.any() else W

    def steps(self, matrix: Floats, lead: int, threads: int) -> Steps:
        """Return the steps by this matrix."""
        held = matrix + np.diag(self.held)

        def away(slope: Floats, W: Floats, times: Floats | None = None) -> Floats:
            products = held @ W if times is None else times * (held @ W)
            c, each = slope - self.shrink * W - products, []
            for t, linear in enumerate(c.T):
                matrix = held if times is None or times[t] == 1.0 else times[t] * held
                each.append(self._least(matrix, linear, t, W[:, t], IN_A_STEP))
            return np.asarray(W - np.stack(each, axis=1))

        return away

    def nearly(self, G: Floats, right: Floats, W: Floats, lead: int, threads: int) -> Floats:
        """Minimise ``w G w / 2 - right w`` for every penalty and output, from W on."""
        found = np.empty_like(W)
        for t, k in np.ndindex(W.shape[1:]):
            found[:, t, k] = self._least(G, -right[:, k], t, W[:, t, k], IN_A_STEP)
        return found

    def exactly(self, G: Floats, right: Floats, place: int, W: Floats) -> Floats:
        """Minimise it for one penalty from W on, and one or several right-hand sides."""
        columns, start = right.reshape(len(right), -1), W.reshape(len(right), -1)
        each = [
            self._least(G, -own, place, begin, IN_THE_END)
            for own, begin in zip(columns.T, start.T, strict=True)
        ]
        return np.stack(each, axis=1).reshape(right.shape)

    def tiled(self, times: int) -> Sparse:
        """Return the same penalty for several outputs, one below the other."""
        arrays = (self.shrink, self.threshold, self.signs[:, None], self.held[:, None])
        shrink, threshold, signs, held = (np.tile(array, (times, 1)) for array in arrays)
        return Sparse(shrink, threshold, signs[:, 0], held[:, 0])

    def _least(self, H: Floats, c: Floats, place: int, start: Floats, share: float) -> Floats:
        # The core has lower bounds alone, so weights that must not be positive change their sign.
        flip, lowest = np.where(self.signs < 0, -1.0, 1.0), np.where(self.signs, 0.0, -np.inf)
        v, c = flip * start, flip * c
        if (flip < 0).any():
            H = H * flip[:, None] * flip
        ridge = np.ascontiguousarray(self.shrink[:, place])
        curvature = np.diagonal(H) + ridge
        gains = np.divide(c * c, curvature, out=np.zeros_like(c), where=curvature > 0)
        threshold = np.ascontiguousarray(self.threshold[:, place])
        c, H = np.ascontiguousarray(c), np.ascontiguousarray(H)
        if not (np.isfinite(gains).all() and np.isfinite(v).all()):
            return np.full_like(v, np.nan)
        enough = share * float(gains.max(initial=0.0))
        _core.coordinate_descent(H, c, ridge, threshold, lowest, v, enough, ROUNDS)
        return flip * v + 0.0  # which makes a plain zero of minus zero


@dataclass(frozen=True, slots=True)
class Sparsity:
    """A penalty other than a ridge in pseudo-observations.

    Attributes
    ----------
    l1_ratio : float
        The share of absolute values in the penalty; the rest are squares.
    in_rows : bool
        Whether penalties are pseudo-observations; else they are added to the mean loss, for
        features in their own units.
    """

    l1_ratio: float
    in_rows: bool

    def penalty(
        self,
        shrink: Floats,
        penalties: Floats,
        rows: float,
        standard: Standard,
        least: float,
        signs: Floats | None,
    ) -> Ridge:
        """Return the penalty of the sum of losses over ``rows``, for features in standard units.

        ``shrink`` is the ridge in pseudo-observations. The intercept, if it is a column, is the
        first, and has next to no penalty: ``least``.
        """
        free, units = len(shrink) - len(standard), standard.units
        threshold = np.zeros_like(shrink)
        if not self.in_rows:
            whole = rows * penalties / units[:, None]
            threshold[free:] = self.l1_ratio * whole
            shrink = np.full_like(shrink, least)
            shrink[free:] = (1.0 - self.l1_ratio) * whole / units[:, None]
        return penalty_of(shrink, threshold, signs, standard, rows)


def penalty_of(
    shrink: Floats, threshold: Floats, signs: Floats | None, standard: Standard, rows: float
) -> Ridge:
    """Return a penalty of the columns of ``standard``, after the intercept if that is a column.

    ``signs`` are those of the columns' weights, and None if all may have any.
    """
    if signs is None and not threshold.any():
        return Ridge(shrink)
    free = len(shrink) - len(standard)
    held = np.concatenate([np.full(free, rows), np.maximum(standard.squares, 1.0)])
    signs = np.zeros(len(shrink)) if signs is None else np.concatenate([np.zeros(free), signs])
    return Sparse(shrink, threshold, signs, HOLD * held)


def check_penalties(penalties: Floats, sparsity: Sparsity | None) -> None:
    """Raise ValueError unless penalties are positive and finite; that of a mean may be zero."""
    least = 0.0 if sparsity is None or sparsity.in_rows else -math.ulp(0.0)
    if not len(penalties) or not all(least < tau < math.inf for tau in penalties):
        raise ValueError(f"penalties must be positive and finite, unlike {penalties.tolist()}")
