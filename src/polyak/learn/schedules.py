"""Learning rates: functions of the row number ``t`` (sections 3 to 5 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyak import _core
from polyak.losses import Loss
from polyak.rows.huge_values import SMALLEST
from polyak.rows.sparse import Rows, SparseRows, core_rows

CALIBRATION_ROWS = 1000
"""The number of first rows that the paper's recipe looks at."""


@dataclass(frozen=True, slots=True)
class Polynomial:
    """The paper's learning rate, ``gamma0 * (1 + a * gamma0 * t) ** -c``.

    Examples
    --------
    >>> rate = Polynomial(gamma0=0.5, a=0.1, c=1.0)
    >>> rate(0), rate(20)
    (0.5, 0.25)
    """

    gamma0: float
    a: float
    c: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.gamma0) and self.gamma0 > 0):
            raise ValueError(f"gamma0 must be positive and finite, not {self.gamma0}")
        if not (np.isfinite(self.a) and self.a >= 0):
            raise ValueError(f"a must be finite and at least zero, not {self.a}")
        if not 0 <= self.c <= 1:
            raise ValueError(f"c must be between 0 and 1, not {self.c}")

    def __call__(self, t: float) -> float:
        """Return the learning rate of row ``t``; the first row is number one."""
        return self.gamma0 * float((1.0 + self.a * self.gamma0 * t) ** -self.c)

    @classmethod
    def from_rows(
        cls, rows: Rows, loss: Loss, alpha: float, *, fit_intercept: bool = True
    ) -> Polynomial:
        """Apply the paper's recipe to the first rows of a data set.

        ``gamma0 = 1 / M`` with ``M`` the largest squared norm among the first 1000 rows (the
        intercept's constant feature counted), ``a = alpha``, a lower bound of the Hessian's
        smallest eigenvalue, and ``c = 2/3`` for least squares or ``3/4`` for any other loss.

        Examples
        --------
        >>> from polyak.losses import get_loss
        >>> rows = np.array([[1.0, 1.0], [0.0, 1.0]])
        >>> Polynomial.from_rows(rows, get_loss("squared_error"), 1e-3, fit_intercept=False)
        Polynomial(gamma0=0.5, a=0.001, c=0.666...)
        """
        M = largest_squared_length(rows, fit_intercept=fit_intercept)
        return cls(1.0 / M, alpha, loss.power)


FAR = 1e8
"""A row is unusual if it is ten thousand times as long as others: this, for squares."""


def largest_squared_length(rows: Rows, *, fit_intercept: bool = True) -> float:
    """Measure ``M``, the largest ``|x|^2`` of the first 1000 rows; 1.0 where all are zero."""
    lengths = _core.squared_norms(core_rows(rows[:CALIBRATION_ROWS]))
    M = float(np.max(lengths, initial=0.0)) + float(fit_intercept)
    return M if M > SMALLEST**2 else 1.0


def unusual_rows(rows: Rows) -> NDArray[np.int64]:
    """Find rows that are thousands of times longer than the others, in features they share.

    Rows that are long because of a rare feature in large units are as they should be.

    Examples
    --------
    >>> rows = np.array([[1.0, 2.0], [2.0, 1.0], [1e6, 2e6], [1.0, 1.0]])
    >>> unusual_rows(rows)
    array([2])
    >>> unusual_rows(np.array([[1.0, 0.0], [2.0, 0.0], [1.0, 1e6], [1.0, 0.0]]))
    array([], dtype=int64)
    """
    lengths = _core.squared_norms(core_rows(rows))
    # The median by sorting: np.median imports the masked arrays, a tenth of the start-up.
    positive = np.sort(lengths[lengths > 0])
    median = positive[len(positive) // 2] if len(positive) else 0.0
    suspect = lengths > FAR * median
    if not suspect.any():
        return np.flatnonzero(suspect)
    if isinstance(rows, SparseRows):
        indices, values = rows.entries()
        row, feature = rows.entry_rows(), np.unique(indices, return_inverse=True)[1]
        square = np.square(values, dtype=float)
    else:
        row, feature = np.nonzero(rows)
        square = np.square(rows[row, feature], dtype=float)
    largest = np.zeros(int(feature.max()) + 1)
    usual = ~suspect[row]
    np.maximum.at(largest, feature[usual], square[usual])
    beyond = (largest[feature] > 0) & (square > FAR * largest[feature])
    return np.flatnonzero(suspect & np.bincount(row[beyond], minlength=len(suspect)).astype(bool))


def mean_squares(rows: Rows) -> NDArray[np.float64]:
    """Return the mean of ``x_j^2`` over the first 1000 rows, for the features that occur there."""
    rows = rows[:CALIBRATION_ROWS]
    if isinstance(rows, SparseRows):
        features, values = rows.entries()
        values = np.square(values, dtype=float)
        if features.max(initial=0) > 8 * len(features):  # too far apart to count in an array
            # By sorting: np.unique would import a good part of NumPy that nothing else needs.
            order = np.argsort(features, kind="stable")
            values, features = (
                values[order],
                np.cumsum(np.diff(features[order], prepend=-1) > 0) - 1,
            )
        squares = np.bincount(features, weights=values)
    else:
        squares = np.square(rows, dtype=float).sum(axis=0)
    return squares[squares > 0] / max(len(rows), 1)


def squared_length_by(means: NDArray[np.float64], p: float, *, fit_intercept: bool = True) -> float:
    """Return the mean squared norm of rows as a preconditioned step sees it.

    That is the mean of ``sum_j d_j x_j^2`` with ``d_j = (mean of x_j^2) ** -p``, from the result of
    `mean_squares`.

    Examples
    --------
    >>> means = mean_squares(np.array([[1.0, 100.0], [1.0, -100.0]]))
    >>> squared_length_by(means, 0.0), squared_length_by(means, 1.0)
    (10002.0, 3.0)
    """
    # The mean over rows of sum_j d_j x_j^2 is the sum over j of (mean of x_j^2) ** (1 - p).
    length = float(np.sum(means ** (1.0 - p))) + float(fit_intercept)
    return length if length > 0 else 1.0
