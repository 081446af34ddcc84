"""SGD2: Bottou's SGD, whose learning rate was tried out on a sample."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from polyak.rows.sparse import Rows
from reproduction.rivals.base import CLASSIFICATION, StreamingRival
from reproduction.rivals.calibrate import INTERCEPT_RATE, SAMPLE, best_gamma0
from reproduction.rivals.iterate import Iterate
from reproduction.rivals.stream import Stream


class SGD2(StreamingRival):
    """Stochastic gradient descent as Bottou's program ``svmsgd`` (sgd-2.x) has it.

    The learning rate is ``eta0 / (1 + alpha * eta0 * t)``, t being 0 for the first row, and
    ``eta0`` is found on the first 1001 rows: see `reproduction.rivals.calibrate.best_gamma0`. The
    intercept learns at a hundredth of the rate. The model is the last iterate.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge", "log_loss", "squared_error"}, default="squared_hinge"
    alpha : float, default=1e-4
        The penalty ``alpha / 2 * |coef|^2``, above zero; the intercept is not penalised.
    fit_intercept : bool, default=True
    max_iter : int, default=1
        How many passes `fit` makes.

    Attributes
    ----------
    coef_ : array of shape (1, n_features), or (n_features,) for ``loss="squared_error"``
    intercept_ : array of shape (1,)
    eta0_ : float
        The first learning rate, found on the sample.
    classes_, n_features_in_, n_iter_

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(5000, class_sep=2.0, random_state=0)
    >>> SGD2().fit(X, y).score(X, y) > 0.9
    True
    """

    losses = (*CLASSIFICATION, "squared_error")
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **StreamingRival._parameter_constraints,
        "loss": [StrOptions(set(losses))],
    }

    def __init__(
        self,
        *,
        loss: str = "squared_hinge",
        alpha: float = 1e-4,
        fit_intercept: bool = True,
        max_iter: int = 1,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter

    @property
    def eta0_(self) -> float:
        """The first learning rate, found on the sample."""
        engine = self._engine()
        assert isinstance(engine, Iterate)
        return engine.gamma0

    def _new_stream(self) -> Stream:
        return Stream(self._begin, sample=SAMPLE)

    def _begin(self, rows: Rows, targets: NDArray[np.float64]) -> Iterate:
        alpha, fit_intercept = float(self.alpha), bool(self.fit_intercept)
        gamma0 = best_gamma0(
            rows, targets, loss=self.loss, alpha=alpha, fit_intercept=fit_intercept
        )
        return Iterate(
            self.n_features_in_,
            self.loss,
            alpha,
            gamma0,
            decay=alpha,
            fit_intercept=fit_intercept,
            first=0.0,
            intercept_rate=INTERCEPT_RATE,
        )
