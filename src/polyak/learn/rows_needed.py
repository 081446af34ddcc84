"""After how many rows averaging pays off: what a training report and a warning need of the theory.

The paper's answer is of the order of ``1 / (λ0 γ0)``, where ``λ0`` is the smallest eigenvalue of
the Hessian. Real data makes that useless: two features that always add up to one make it zero, and
no prediction depends on such a direction. So ``λ`` here is the eigenvalue down to which the
directions carry 99% of the rows' squared norm.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyak.learn.schedules import CALIBRATION_ROWS
from polyak.losses import get_loss
from polyak.model.training_report import Theory
from polyak.rows.huge_values import SMALLEST
from polyak.rows.sparse import Rows, SparseRows

Floats = NDArray[np.float64]

SHARE = 0.99
"""Share of the rows' squared norm that the directions above ``λ`` carry."""

NARROW = 63
"""Up to this number of features training keeps the whole matrix of second moments, which takes half
a millisecond. With the intercept it is 64 wide: OpenBLAS splits larger matrices between threads,
which on a busy machine wait for each other a hundred times as long as they work."""

MOST_IDS = 1 << 20  # with larger feature ids, an array indexed by id would be mostly empty


def second_moments(rows: Rows, *, fit_intercept: bool) -> Floats | None:
    """Return ``E x xᵀ``, the intercept's feature last; only the diagonal for many features.

    Features that are zero in all rows are left out, so that the result depends neither on the
    declared width of the rows nor on their storage. None where a square overflows.

    Examples
    --------
    >>> second_moments(np.array([[1.0, 0.0], [3.0, 0.0]]), fit_intercept=True)
    array([[5., 2.],
           [2., 1.]])
    """
    rows = rows[:CALIBRATION_ROWS]
    n = max(len(rows), 1)
    with np.errstate(over="ignore", invalid="ignore"):
        X, squares = _used_features(rows)
        if X is None:
            moments = np.append(squares / n, [1.0] * fit_intercept)
        else:
            X = np.hstack([X, np.ones((len(X), 1))]) if fit_intercept else X
            moments = X.T @ X / n
    return moments if np.isfinite(moments).all() else None


def _used_features(rows: Rows) -> tuple[Floats | None, Floats]:
    """Return the columns that are not all zero, if they are few, and their sums of squares."""
    if not isinstance(rows, SparseRows):
        squares = np.einsum("ij,ij->j", rows, rows, dtype=float)
        used = squares > SMALLEST**2
        few = int(used.sum()) <= NARROW
        return (np.ascontiguousarray(rows[:, used], float) if few else None), squares[used]
    column, values = rows.entries()
    values = values.astype(float)
    if len(column) and int(column.max()) >= MOST_IDS:  # hashes: number those that occur
        column = np.unique(column, return_inverse=True)[1]
    squares = np.asarray(np.bincount(column, np.square(values)), np.float64)
    used = squares > SMALLEST**2
    if int(used.sum()) > NARROW:
        return None, squares[used]
    X = np.zeros((len(rows), int(used.sum())))
    there = used[column]
    np.add.at(X, (rows.entry_rows()[there], (np.cumsum(used) - 1)[column[there]]), values[there])
    return X, squares[used]


def rows_needed_by(
    moments: Floats,
    loss: str,
    alpha: float,
    gamma0: float,
    *,
    precondition: float,
    implicit: bool,
    fit_intercept: bool,
) -> Theory:
    """Estimate the rows that averaging needs from the second moments that training kept.

    A preconditioner rescales the features. An implicit step is never longer than the loss's
    curvature allows, so a large learning rate counts as the one it amounts to. Numbers are rounded
    to three digits: the last ones depend on the machine.

    Examples
    --------
    >>> moments = np.diag([1.0, 1e-4])
    >>> how = dict(alpha=0.0, gamma0=0.1, implicit=False, fit_intercept=False)
    >>> rows_needed_by(moments, "squared_error", precondition=1.0, **how).rows
    10
    """
    whole = moments.ndim == 2
    squares = np.diagonal(moments) if whole else moments
    d = np.where(squares > 0, squares, 1.0) ** -precondition
    if fit_intercept:
        d[-1] = 1.0
    length = float(squares @ d)
    if implicit:
        gamma0 = gamma0 / (1.0 + gamma0 * get_loss(loss).typical_curvature * length)
    root = np.sqrt(d)
    scaled = moments * root[:, None] * root if whole else moments * d
    eigenvalues = np.asarray(np.linalg.eigvalsh(scaled) if whole else scaled, np.float64)
    largest_first = np.sort(np.maximum(eigenvalues, 0.0))[::-1] if len(d) else np.zeros(1)
    carried = np.cumsum(largest_first)
    place = int(np.searchsorted(carried, SHARE * carried[-1]))
    curvature = get_loss(loss).typical_curvature
    lambda0 = curvature * float(largest_first[place]) + alpha
    flattest = curvature * float(largest_first[-1])
    if flattest <= 1e-12 * float(largest_first[0]):  # below the rounding error it counts as zero
        flattest = 0.0
    rows = rows_to_asymptotics(lambda0, gamma0) if lambda0 > 0 else 1.0
    lambda0, gamma0, flattest = (
        float(f"{value:.3g}") for value in (lambda0, gamma0, alpha + flattest)
    )
    return Theory(_about(rows), lambda0, gamma0, flattest, spectrum=whole)


def _about(rows: float) -> int:
    """Round an estimate to two digits.

    Examples
    --------
    >>> _about(32561.0), _about(0.2)
    (33000, 1)
    """
    return max(1, round(float(f"{rows:.1e}")))


def rows_to_asymptotics(
    lambda0: float, gamma0: float, a: float | None = None, c: float = 2 / 3
) -> float:
    """Return the rows after which averaging comes close to the batch optimum.

    The order is ``max(1, a/λ0)^(c/(1-c)) / (λ0 γ0)``. With ``a = λ0``, or none given, that is
    the corollary before `CorollarySampleSize2`: there the start is forgotten, and the average
    becomes better than the iterate. Above, `CorollarySampleSize2` asks that the falling learning
    rate cost no more than ``tr(A⁻¹S)``. Below, the start has to be forgotten all the same.

    Both corollaries speak of orders of magnitude, and without their constants they agree at
    ``a = λ0``. The constant in the second one's proof, ``(2 c0 / c)^(1/(1-c)) / (a γ0)`` with
    ``c0 = a c / λ0``, makes that twice what is given here for ``2 a``; the paper's last step loses
    the former two. It is that of a bound: errors computed exactly are there earlier.

    Examples
    --------
    >>> round(rows_to_asymptotics(lambda0=0.02, gamma0=1.0))
    50
    >>> round(rows_to_asymptotics(lambda0=0.02, gamma0=1.0, a=1.0, c=0.5))
    2500
    """
    if not lambda0 > 0:
        raise ValueError(f"lambda0 must be above zero, not {lambda0}")
    over = 1.0 if a is None else max(1.0, a / lambda0)
    power = c / (1.0 - c) if c < 1 else np.inf
    with np.errstate(over="ignore"):  # beyond float64: infinitely many
        return float(np.float64(over) ** power / (lambda0 * gamma0))
