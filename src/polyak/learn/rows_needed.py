"""What the theory says of a data set: how many rows before averaging pays off.

The paper's answer is of the order of ``1 / (λ0 γ0)``, where ``λ0`` is the smallest eigenvalue of
the Hessian. Taken by its letter that is useless on real data: two features that always add up to
one make it zero, and no prediction ever depends on such a direction. So ``λ`` here is the
eigenvalue down to which the directions carry 99 % of the rows' squared norm.
"""

from __future__ import annotations

import textwrap
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak.learn.schedules import CALIBRATION_ROWS, largest_squared_length
from polyak.losses import get_loss
from polyak.rows.sparse import Rows, SparseRows, as_rows

Floats = NDArray[np.float64]

SHARE = 0.99
"""How much of the rows' squared norm the directions that count must carry."""

NARROW = 63
"""Up to so many features training keeps all their second moments, which takes half a millisecond.
With the intercept they are 64: of larger matrices OpenBLAS makes work for several threads, which
on a busy machine wait for each other a hundred times as long as they work."""

MOST_IDS = 1 << 20  # beyond, a sum an id would be mostly empty


class RowsNeeded(NamedTuple):
    """How many rows before averaging pays off; right to an order of magnitude, not more.

    Attributes
    ----------
    rows : int
        ``1 / (λ γ0)``.
    lambda0 : float
        The curvature of the flattest direction that counts, penalty included.
    gamma0 : float
        The first learning rate.
    flattest : float
        The curvature of the flattest direction of all. After ``1 / (flattest γ0)`` rows averaging
        pays in every direction.
    spectrum : bool
        Whether ``lambda0`` is of a sample's spectrum. Otherwise it is of the mean squares of the
        features, as if they were uncorrelated.
    """

    rows: int
    lambda0: float
    gamma0: float
    flattest: float
    spectrum: bool = True

    @property
    def rows_in_every_direction(self) -> float:
        """How many rows it takes in the worst direction; infinite if nothing curves it."""
        return rows_to_asymptotics(self.flattest, self.gamma0) if self.flattest > 0 else np.inf

    def words(self, rows_seen: int | None = None) -> str:
        """Say it.

        Examples
        --------
        >>> print(RowsNeeded(3600, 1.4e-3, 0.2, 1e-6).words(rows_seen=32561))
        By the paper's theory averaging pays off after about 3,600 rows; this model saw 32,561. That
        is 1 / (lambda * gamma0) with gamma0 = 0.2, the first learning rate, and lambda = 0.0014:
        the directions curved at least as much carry 99% of the rows' squared norm, in a sample of
        the first rows. In the flattest direction of all it takes about 5,000,000 rows.
        """
        seen = "." if rows_seen is None else f"; this model saw {rows_seen:,}."
        where = (
            "directions curved at least as much carry 99% of the rows' squared norm, in a "
            "sample of the first rows."
            if self.spectrum
            else "features curved at least as much carry 99% of the rows' squared norm, as if "
            "none were correlated with another."
        )
        most = self.rows_in_every_direction
        worst = f"it takes about {_about(most):,} rows" if np.isfinite(most) else "it never does"
        return _wrapped(
            f"By the paper's theory averaging pays off after about {self.rows:,} rows{seen} That "
            f"is 1 / (lambda * gamma0) with gamma0 = {self.gamma0:.3g}, the first learning rate, "
            f"and lambda = {self.lambda0:.3g}: the {where} In the flattest direction of all "
            f"{worst}."
        )

    def as_dict(self) -> dict[str, Any]:
        """Give the numbers for a model to keep, rounded: the last digits depend on the machine."""
        digits = {k: float(f"{v:.3g}") for k, v in self._asdict().items() if isinstance(v, float)}
        return self._asdict() | digits


def rows_needed(
    X_sample: Any,
    loss: str = "squared_hinge",
    alpha: float = 0.0,
    *,
    gamma0: float | None = None,
    fit_intercept: bool = True,
) -> RowsNeeded:
    """Tell how many rows it takes on your data before averaging pays off.

    Parameters
    ----------
    X_sample : array, scipy sparse or SparseRows
        Some rows, the first 1000 of which count. Where there are fewer rows than features they
        show the most curved directions only, and the answer is rather too small.
    loss : str
    alpha : float
        The penalty, which curves every direction.
    gamma0 : float, optional
        The first learning rate; by default the paper's ``1 / M``.
    fit_intercept : bool

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 20)) * np.linspace(0.1, 1.0, 20)
    >>> needed = rows_needed(X, "squared_error")
    >>> needed.rows
    490
    """
    rows = as_rows(X_sample)[:CALIBRATION_ROWS]
    if not len(rows):
        raise ValueError("there are no rows to look at")
    if gamma0 is None:
        gamma0 = 1.0 / largest_squared_length(rows, fit_intercept=fit_intercept)
    return from_eigenvalues(_spectrum(rows, fit_intercept), loss, alpha, gamma0)


def from_eigenvalues(
    eigenvalues: Floats, loss: str, alpha: float, gamma0: float, *, spectrum: bool = True
) -> RowsNeeded:
    """Tell it from the eigenvalues of ``E x xᵀ``."""
    largest_first = np.sort(np.maximum(eigenvalues, 0.0))[::-1]
    carried = np.cumsum(largest_first)
    place = int(np.searchsorted(carried, SHARE * carried[-1])) if len(carried) else 0
    curvature = get_loss(loss).typical_curvature
    counts = curvature * float(largest_first[place]) if len(largest_first) else 0.0
    flattest = curvature * float(largest_first[-1]) if len(largest_first) else 0.0
    lambda0 = counts + alpha
    rows = rows_to_asymptotics(lambda0, gamma0) if lambda0 > 0 else 1.0
    # An eigenvalue that is rounding error is none.
    noise = 1e-12 * float(largest_first[0]) if len(largest_first) else 0.0
    return RowsNeeded(
        _about(rows), lambda0, gamma0, alpha + (flattest if flattest > noise else 0.0), spectrum
    )


def _spectrum(rows: Rows, fit_intercept: bool) -> Floats:
    """Give the eigenvalues of the mean of ``x xᵀ``, of the smaller of its two products."""
    ones = float(fit_intercept)
    n, width = rows.shape
    if isinstance(rows, SparseRows):
        from scipy.sparse import csr_matrix

        span = slice(int(rows.indptr[0]), int(rows.indptr[-1]))
        indptr = rows.indptr - rows.indptr[0]
        X = csr_matrix(
            (rows.values[span].astype(float), rows.indices[span], indptr), shape=(n, width)
        )
    else:
        X = np.asarray(rows, float)
    if width < n:
        moments = np.zeros((width + 1, width + 1))
        product = X.T @ X
        moments[:-1, :-1] = product.toarray() if hasattr(product, "toarray") else product
        moments[-1, :-1] = moments[:-1, -1] = ones * np.asarray(X.sum(axis=0)).ravel()
        moments[-1, -1] = ones * n
        moments = moments if fit_intercept else moments[:-1, :-1]
    else:
        product = X @ X.T
        moments = (product.toarray() if hasattr(product, "toarray") else product) + ones
    found: Floats = np.linalg.eigvalsh(moments / n)
    return found


# -- what training keeps ---------------------------------------------------------------------------


def second_moments(rows: Rows, *, fit_intercept: bool) -> Floats | None:
    """Measure ``E x xᵀ``, the intercept's feature last; of many features the diagonal alone.

    Features that are zero in all rows are left out, so that it does not matter how wide the rows
    are said to be or how they are stored. None where numbers are too large to be squared.

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
    """Give the columns that are not all zero, if they are few, and their sums of squares."""
    if not isinstance(rows, SparseRows):
        squares = np.einsum("ij,ij->j", rows, rows, dtype=float)
        used = squares > 0
        few = int(used.sum()) <= NARROW
        return (np.ascontiguousarray(rows[:, used], float) if few else None), squares[used]
    span = slice(int(rows.indptr[0]), int(rows.indptr[-1]))
    column, values = rows.indices[span], rows.values[span].astype(float)
    if len(column) and int(column.max()) >= MOST_IDS:  # hashes: number those that occur
        column = np.unique(column, return_inverse=True)[1]
    squares = np.asarray(np.bincount(column, np.square(values)), np.float64)
    used = squares > 0
    if int(used.sum()) > NARROW:
        return None, squares[used]
    X = np.zeros((len(rows), int(used.sum())))
    row = np.repeat(np.arange(len(rows)), np.diff(rows.indptr))
    there = used[column]
    np.add.at(X, (row[there], (np.cumsum(used) - 1)[column[there]]), values[there])
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
) -> RowsNeeded:
    """Tell how many rows a way of learning needs, from what training kept.

    A preconditioner rescales the features. An implicit step is never longer than the loss's
    curvature allows, so that a large learning rate counts as the one it amounts to.

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
    return from_eigenvalues(eigenvalues, loss, alpha, gamma0, spectrum=whole)


# -- words -----------------------------------------------------------------------------------------


def _about(rows: float) -> int:
    """Round to two digits: it is an estimate.

    Examples
    --------
    >>> _about(32561.0), _about(0.2)
    (33000, 1)
    """
    return max(1, round(float(f"{rows:.1e}")))


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 92, break_long_words=False, break_on_hyphens=False)


def rows_to_asymptotics(
    lambda0: float, gamma0: float, a: float | None = None, c: float = 2 / 3
) -> float:
    """Tell how many rows it takes averaging to come close to what batch reaches.

    Of the order of ``max(1, a/λ0)^(c/(1-c)) / (λ0 γ0)``. With ``a = λ0``, or none given, that is
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
    with np.errstate(over="ignore"):  # more rows than a number can say are infinitely many
        return float(np.float64(over) ** power / (lambda0 * gamma0))
