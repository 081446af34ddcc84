"""Batch: the exact minimiser over all rows, which a learner of one pass can only approach."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import lstsq
from scipy.optimize import minimize
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from polyak.losses import Loss, get_loss
from reproduction.rivals.base import CLASSIFICATION, COUNT, POSITIVE, Rival

Floats = NDArray[np.float64]

MOST_FEATURES = 5000
"""Up to this number of features, least squares are solved by normal equations."""


class Batch(Rival):
    """The minimiser of ``mean loss + alpha / 2 * |coef|^2``, to nearly the last digit.

    Least squares are solved by their normal equations. The other losses are minimised by L-BFGS
    over all rows, in coordinates of equal curvature; the hinge, which has a corner, through a
    sequence of ever less rounded ones.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge", "log_loss", "squared_error"}, default="squared_hinge"
    alpha : float, default=1e-4
        May be zero for ``loss="squared_error"`` only: elsewhere there may be no minimum.
    fit_intercept : bool, default=True
        The intercept is not penalised.
    tol : float, default=1e-9
        Stop when no coordinate of the gradient is larger.
    max_iter : int, default=5000
        Of L-BFGS; for the hinge, of each of the sequence.

    Attributes
    ----------
    coef_ : array of shape (1, n_features), or (n_features,) for ``loss="squared_error"``
    intercept_ : array of shape (1,)
    objective_ : float
        The minimum: the mean loss and the penalty.
    classes_, n_features_in_, n_iter_

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 3.0, 5.0])
    >>> line = Batch(loss="squared_error", alpha=0).fit(X, y)
    >>> line.coef_.round(6), line.intercept_.round(6)
    (array([2.]), array([1.]))
    """

    losses = (*CLASSIFICATION, "squared_error")
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Rival._parameter_constraints,
        "loss": [StrOptions(set(losses))],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "tol": POSITIVE,
        "max_iter": COUNT,
    }

    def __init__(
        self,
        *,
        loss: str = "squared_hinge",
        alpha: float = 1e-4,
        fit_intercept: bool = True,
        tol: float = 1e-9,
        max_iter: int = 5000,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> Self:
        """Minimise over all rows.

        Parameters
        ----------
        X : array or scipy sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)

        Returns
        -------
        self
        """
        if self.alpha == 0 and self.loss != "squared_error":
            raise ValueError(f"without a penalty (alpha=0) the {self.loss} may have no minimum")
        X, y = self._rows(X, y, reset=True)
        self._set_classes(y)
        problem = _Problem(X, self._signs(y), self.loss, self.alpha, self.fit_intercept)
        if self.loss == "squared_error" and X.shape[1] <= MOST_FEATURES:
            solution, self.n_iter_ = problem.normal_equations(), 1
        else:
            solution, self.n_iter_ = problem.descend(self.tol, self.max_iter)
        self.coef_ = self._shaped(solution[:-1])
        self.intercept_ = solution[-1:].copy()
        self.objective_ = problem.objective(solution)
        return self


class _Problem:
    """An objective; its variable is the weights and, last, the intercept."""

    def __init__(self, X: Any, y: Floats, loss: str, alpha: float, intercept: bool) -> None:
        self.X, self.y, self.alpha, self.intercept = (
            X.astype(np.float64),
            y,
            float(alpha),
            intercept,
        )
        self.loss: Loss = get_loss(loss)
        self.n, self.features = X.shape

    def objective(self, w: Floats) -> float:
        losses = self.loss.value(self._scores(w), self.y)
        return float(losses.mean() + self.alpha / 2 * (w[:-1] @ w[:-1]))

    def normal_equations(self) -> Floats:
        # Centred, which takes the intercept out of the equations and spares half their digits.
        mean = (
            np.asarray(self.X.mean(axis=0)).ravel() if self.intercept else np.zeros(self.features)
        )
        level = self.y.mean() if self.intercept else 0.0
        product = self.X.T @ self.X
        product = product.toarray() if sparse.issparse(product) else np.asarray(product)
        second = product / self.n - np.outer(mean, mean) + self.alpha * np.eye(self.features)
        first = self.X.T @ (self.y - level) / self.n
        coef = np.linalg.solve(second, first) if self.alpha > 0 else lstsq(second, first)[0]
        return np.append(coef, level - mean @ coef)

    def descend(self, tol: float, max_iter: int) -> tuple[Floats, int]:
        unit, iterations = self._units(), 0
        solution = np.zeros(self.features + 1)
        roundings = 10.0 ** -np.arange(0, 6.5, 0.5) if self.loss.name == "hinge" else [0.0]
        for rounding in roundings:
            found = minimize(
                lambda z, rounding=rounding: self._value_and_gradient(z, unit, rounding),
                solution / unit,
                jac=True,
                method="L-BFGS-B",
                options={
                    "maxiter": max_iter,
                    "maxfun": 2 * max_iter,
                    "maxcor": 30,
                    "ftol": 1e-15,
                    "gtol": tol,
                },
            )
            solution = found.x * unit
            iterations += int(found.nit)
        return solution, max(iterations, 1)

    def _units(self) -> Floats:
        """Return the scales that make the curvature of every coordinate about one."""
        squares = self.X.multiply(self.X) if sparse.issparse(self.X) else np.square(self.X)
        curvature = self.loss.curvature * np.asarray(squares.mean(axis=0)).ravel() + self.alpha
        return np.append(1.0 / np.sqrt(curvature), 1.0 / np.sqrt(self.loss.curvature))

    def _scores(self, w: Floats) -> Floats:
        return np.asarray(self.X @ w[:-1] + w[-1], dtype=np.float64)

    def _value_and_gradient(self, z: Floats, unit: Floats, rounding: float) -> tuple[float, Floats]:
        w = z * unit
        scores = self._scores(w)
        if rounding:
            losses, slopes = _rounded_hinge(scores, self.y, rounding)
        else:
            losses, slopes = self.loss.value(scores, self.y), self.loss.slope(scores, self.y)
        value = float(losses.mean() + self.alpha / 2 * (w[:-1] @ w[:-1]))
        gradient = np.empty_like(w)
        gradient[:-1] = self.X.T @ slopes / self.n + self.alpha * w[:-1]
        gradient[-1] = slopes.mean() if self.intercept else 0.0
        return value, gradient * unit


def _rounded_hinge(scores: Floats, y: Floats, width: float) -> tuple[Floats, Floats]:
    """Return the hinge smoothed over this width, which lowers it by at most half the width."""
    left = np.maximum(0.0, 1.0 - y * scores)
    inside = np.minimum(left, width)
    return inside * (left - inside / 2) / width, -y * inside / width
