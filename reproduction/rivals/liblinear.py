"""LIBLINEAR: the real library's dual coordinate descent, stopped after a few outer iterations."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from reproduction.rivals.base import COUNT, POSITIVE, Rival


class LIBLINEAR(Rival):
    """Dual coordinate descent of the library by Fan, Chang, Hsieh, Wang and Lin.

    It needs all rows at once, so it has no `partial_fit`. Like the paper, it leaves the logistic
    loss out: what LIBLINEAR has for it is another algorithm.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
    alpha : float, default=1e-4
        The penalty, above zero. LIBLINEAR's ``C`` is then ``1 / (alpha * n)`` for the hinge, and
        half of that for its squared hinge, which has no factor of a half.
    fit_intercept : bool, default=True
        The library's intercept is the weight of a constant feature, penalised like any other.
    max_iter : int, default=1
        Outer iterations: how many times each row has its turn, in a random order.
    tol : float, default=1e-4
        The library stops earlier where its own measure of optimality is below.
    random_state : int, default=0
        Orders the rows.

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
    intercept_ : array of shape (1,)
    classes_, n_features_in_, n_iter_

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(5000, class_sep=2.0, random_state=0)
    >>> LIBLINEAR(max_iter=2).fit(X, y).score(X, y) > 0.9
    True
    """

    losses = ("squared_hinge", "hinge")
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Rival._parameter_constraints,
        "max_iter": COUNT,
        "tol": POSITIVE,
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        loss: str = "squared_hinge",
        alpha: float = 1e-4,
        fit_intercept: bool = True,
        max_iter: int = 1,
        tol: float = 1e-4,
        random_state: Any = 0,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> Self:
        """Make ``max_iter`` outer iterations over all rows.

        Parameters
        ----------
        X : array or scipy sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)

        Returns
        -------
        self
        """
        if self.loss not in self.losses:
            raise ValueError(
                f"LIBLINEAR's dual coordinate descent is for {' and '.join(self.losses)}; for "
                f"{self.loss} the library has another algorithm, which the paper leaves out"
            )
        X, y = self._rows(X, y, reset=True)
        self._set_classes(y)
        half = 0.5 if self.loss == "squared_hinge" else 1.0
        library = LinearSVC(
            loss=self.loss,
            C=half / (self.alpha * X.shape[0]),
            dual=True,
            fit_intercept=self.fit_intercept,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=self.random_state,
        )
        with warnings.catch_warnings():
            # To stop before it has converged is what it is here for.
            warnings.simplefilter("ignore", ConvergenceWarning)
            library.fit(_with_narrow_indices(X), self._signs(y))
        self.coef_ = library.coef_.astype(np.float64)
        self.intercept_ = np.atleast_1d(np.asarray(library.intercept_, dtype=np.float64))
        self.n_iter_ = int(library.n_iter_)
        return self


def _with_narrow_indices(X: Any) -> Any:
    """Store the same rows with the 32-bit indices that the library takes."""
    if not sparse.issparse(X) or X.indices.dtype == X.indptr.dtype == np.int32:
        return X
    most = np.iinfo(np.int32).max
    if X.nnz > most or max(X.shape) > most:
        raise ValueError(f"LIBLINEAR can hold {most} nonzeros and features, not {X.nnz}")
    parts = X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)
    narrow = sparse.csr_matrix(X.shape, dtype=X.dtype)
    narrow.data, narrow.indices, narrow.indptr = parts
    return narrow
