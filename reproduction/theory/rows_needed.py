"""After how many rows averaging pays off on a sample of rows; see `polyak.learn.rows_needed`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.learn.rows_needed import from_eigenvalues
from polyak.learn.schedules import CALIBRATION_ROWS, largest_squared_length
from polyak.model.training_report import Theory
from polyak.rows.sparse import Rows, SparseRows, as_rows

Floats = NDArray[np.float64]


def rows_needed(
    X_sample: Any,
    loss: str = "squared_hinge",
    alpha: float = 0.0,
    *,
    gamma0: float | None = None,
    fit_intercept: bool = True,
) -> Theory:
    """Estimate from a sample of your rows after how many of them averaging pays off.

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


def _spectrum(rows: Rows, fit_intercept: bool) -> Floats:
    """Return the eigenvalues of the mean of ``x xᵀ``, computed from the smaller of its products."""
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
