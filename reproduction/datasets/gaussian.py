"""Generated dense rows: Gaussian features whose covariance has a given spectrum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def gaussian_rows(
    n_rows: int, n_features: int, *, power: float, error: float, longest: float = 1.0, seed: int = 0
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Draw rows whose covariance has the eigenvalues ``1 / k ** power``, and noisy linear targets.

    The axes are turned by two reflections, so that no feature stands for an eigenvalue alone. What
    the target depends on falls more slowly than the spectrum: along axis ``k`` it has a share of
    ``1 / k`` of the variance, so the flat directions matter too. Targets are the sign of
    ``ρ s + √(1 - ρ²) n`` with a Gaussian score ``s``, normal noise ``n`` and ``ρ = cos(π error)``,
    which makes the best linear rule err on that share of rows.

    Parameters
    ----------
    n_rows, n_features : int
    power : float
    error : float
        The share of rows that the best linear rule gets wrong.
    longest : float
        1 scales every row to unit length, as the PASCAL challenge does; otherwise all rows are
        scaled alike, so that the greatest ‖x‖² of the first thousand is this.
    seed : int

    Examples
    --------
    >>> X, y = gaussian_rows(2000, 50, power=1.0, error=0.2, longest=9.0)
    >>> X.shape, X.dtype, float(np.square(X[:1000]).sum(axis=1).max().round(3))
    ((2000, 50), dtype('float32'), 9.0)
    """
    rng = np.random.default_rng(seed)
    k = np.arange(1.0, n_features + 1)
    truth = rng.normal(size=n_features) / np.sqrt(k)
    axes = rng.normal(size=(2, n_features))
    X = rng.standard_normal((n_rows, n_features), np.float32)
    signal = np.cos(np.pi * error)
    score = signal * (X @ (truth / np.linalg.norm(truth)).astype(np.float32))
    y = np.where(score + np.sqrt(1 - signal**2) * rng.standard_normal(n_rows) > 0, 1.0, -1.0)
    X *= (k ** (-power / 2)).astype(np.float32)
    for axis in (axes / np.linalg.norm(axes, axis=1, keepdims=True)).astype(np.float32):
        X -= 2 * (X @ axis)[:, None] * axis
    squares = np.einsum("ij,ij->i", X, X)
    if longest == 1.0:
        X /= np.sqrt(squares)[:, None]
    else:
        X *= np.float32(np.sqrt(longest / squares[:1000].max()))
    return X, y
