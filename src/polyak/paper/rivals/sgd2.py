"""SGD2: Bottou's SGD, whose learning rate did best on a sample."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from polyak.estimators.parameters import keep
from polyak.learn.schedules import CALIBRATION_ROWS
from polyak.paper.rivals.base import CLASSIFICATION, StreamingRival
from polyak.paper.rivals.calibrate import best_gamma0
from polyak.paper.rivals.iterate import Iterate
from polyak.paper.rivals.stream import Stream
from polyak.rows.sparse import Rows


class SGD2(StreamingRival):
    """Stochastic gradient descent with ``gamma_t = 1 / (alpha * (t + t_s))``.

    ``t_s = 1 / (alpha * eta0)`` with the ``eta0`` that gave the lowest cost in one pass over the
    first 1000 rows; see `polyak.paper.rivals.calibrate.best_gamma0`. The penalty is a scalar that
    multiplies all weights at once. The model is the last iterate.

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
        The best learning rate on the sample.
    t_start_ : float
        ``t_s``.
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
        keep(locals())

    @property
    def eta0_(self) -> float:
        """The best learning rate on the sample."""
        engine = self._engine()
        assert isinstance(engine, Iterate)
        return engine.gamma0

    @property
    def t_start_(self) -> float:
        """The row number that the learning rate begins with."""
        return 1.0 / (float(self.alpha) * self.eta0_)

    def _new_stream(self) -> Stream:
        return Stream(self._begin, sample=CALIBRATION_ROWS)

    def _begin(self, rows: Rows, targets: NDArray[np.float64]) -> Iterate:
        alpha, fit_intercept = float(self.alpha), bool(self.fit_intercept)
        gamma0 = best_gamma0(
            rows, targets, loss=self.loss, alpha=alpha, fit_intercept=fit_intercept
        )
        # 1 / (alpha (t + t_s)) = gamma0 / (1 + alpha gamma0 t)
        return Iterate(self.n_features_in_, self.loss, alpha, gamma0, alpha, fit_intercept)
