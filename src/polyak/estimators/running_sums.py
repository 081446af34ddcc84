"""Running sums over rows that do not depend, to the last bit, on how the rows are split."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ROWS_AT_A_TIME = 1 << 14
"""This number of rows stays in a processor's cache while it is summed."""


def running_sums(start: Any, values: Floats) -> Floats:
    """Return the cumulative sums of ``values``, continued from ``start``.

    Examples
    --------
    >>> running_sums(1.0, np.array([2.0, 3.0]))
    array([3., 6.])
    """
    # np.sum adds in an order that depends on the length of the array; np.cumsum adds in order.
    return np.cumsum(np.concatenate([np.asarray(start)[None], values]), axis=0)[1:]


class ClassTotals:
    """The total weight of each class so far, from which "balanced" class weights follow.

    Examples
    --------
    >>> ClassTotals(2).balanced(np.array([0, 0, 1]), np.ones(3))
    array([0.5, 0.5, 1.5])
    """

    def __init__(self, classes: int) -> None:
        self.of_class: Floats = np.zeros(classes)
        self.all = 0.0

    def balanced(self, codes: NDArray[np.int64], weights: Floats) -> Floats:
        """Add rows and return their class weights, each balanced over the rows up to it."""
        everything = running_sums(self.all, weights)
        own = np.empty(len(codes))
        by_class = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(self.of_class)))
        for number, rows in enumerate(np.split(by_class, ends[:-1])):
            if len(rows):
                own[rows] = running_sums(self.of_class[number], weights[rows])
                self.of_class[number] = own[rows[-1]]
        self.all = float(everything[-1])
        return _shares(everything, own, len(self.of_class))

    def balanced_at_once(self, codes: NDArray[np.int64], weights: Floats) -> Floats:
        """Add rows and return their class weights, balanced over all of these rows."""
        before = self.of_class.copy(), self.all
        self.balanced(codes, weights)
        return _shares(self.all - before[1], (self.of_class - before[0])[codes], len(before[0]))


def _shares(everything: Any, own: Floats, classes: int) -> Floats:
    # A class without weight occurs only in rows without weight, whose class weight is not used.
    shares: Floats = np.zeros(len(own))
    np.divide(everything, classes * own, out=shares, where=own > 0)
    return shares


class TargetSpread:
    """The running variance of the targets, the denominator of R².

    Examples
    --------
    >>> spread = TargetSpread()
    >>> spread.add(np.array([1.0, 2.0, 3.0]), None)
    >>> spread.variance()
    array([0.666...])
    """

    def __init__(self) -> None:
        # Sums are of differences from the first target, which avoids cancellation.
        self.shift: Floats | None = None
        self.sums: Floats = np.zeros(0)

    def add(self, targets: Floats, weights: Floats | None) -> None:
        """Add rows."""
        columns = targets.reshape(len(targets), -1)
        if weights is not None and not weights.all():
            columns, weights = columns[weights != 0], weights[weights != 0]
        if not len(columns):
            return
        if self.shift is None:
            self.shift = columns[0].astype(np.float64)
            self.sums = np.zeros((3, columns.shape[1]))
        for begin in range(0, len(columns), ROWS_AT_A_TIME):
            some = slice(begin, begin + ROWS_AT_A_TIME)
            away = columns[some] - self.shift
            powers = np.stack([np.ones_like(away), away, away * away], axis=1)
            if weights is not None:
                powers *= weights[some, None, None]
            self.sums = running_sums(self.sums, powers)[-1]

    def variance(self) -> Floats:
        """Return the variance of each output."""
        total, first, second = self.sums
        return np.asarray(np.maximum(second / total - np.square(first / total), 0.0))
