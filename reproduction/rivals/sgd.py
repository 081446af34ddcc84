"""SGD: the paper's recipe without the average."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from polyak.learn.schedules import CALIBRATION_ROWS, largest_squared_length
from polyak.rows.sparse import Rows
from reproduction.rivals.base import CLASSIFICATION, POSITIVE, StreamingRival
from reproduction.rivals.iterate import Iterate
from reproduction.rivals.stream import Stream


class SGD(StreamingRival):
    """Stochastic gradient descent: the last iterate, ``gamma_t = eta0 / (1 + alpha * eta0 * t)``.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge", "log_loss", "squared_error"}, default="squared_hinge"
    alpha : float, default=1e-4
        The penalty ``alpha / 2 * |coef|^2``; the intercept is not penalised.
    eta0 : float or "auto", default="auto"
        "auto" is one over the largest squared norm of the first 1000 rows.
    decay : float or "auto", default="auto"
        ``a`` of the learning rate ``eta0 / (1 + a * eta0 * t)``; "auto" is ``alpha``.
    fit_intercept : bool, default=True
    max_iter : int, default=1
        How many passes `fit` makes.

    Attributes
    ----------
    coef_ : array of shape (1, n_features), or (n_features,) for ``loss="squared_error"``
    intercept_ : array of shape (1,)
    eta0_ : float
        The learning rate's first value as it was found.
    classes_, n_features_in_, n_iter_

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(5000, class_sep=2.0, random_state=0)
    >>> SGD(loss="hinge").fit(X, y).score(X, y) > 0.9
    True
    """

    losses = (*CLASSIFICATION, "squared_error")
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **StreamingRival._parameter_constraints,
        "loss": [StrOptions(set(losses))],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "eta0": [StrOptions({"auto"}), *POSITIVE],
        "decay": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        loss: str = "squared_hinge",
        alpha: float = 1e-4,
        eta0: Any = "auto",
        decay: Any = "auto",
        fit_intercept: bool = True,
        max_iter: int = 1,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.eta0 = eta0
        self.decay = decay
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter

    @property
    def eta0_(self) -> float:
        """The learning rate's first value as it was found."""
        engine = self._engine()
        assert isinstance(engine, Iterate)
        return engine.gamma0

    def _new_stream(self) -> Stream:
        return Stream(self._begin, sample=CALIBRATION_ROWS if self.eta0 == "auto" else 1)

    def _begin(self, rows: Rows, targets: NDArray[np.float64]) -> Iterate:
        gamma0, decay = self.eta0, self.alpha if self.decay == "auto" else self.decay
        if gamma0 == "auto":
            gamma0 = 1.0 / largest_squared_length(rows, fit_intercept=self.fit_intercept)
        if self.alpha * gamma0 >= 1.0 + decay * gamma0:
            raise ValueError(
                "alpha times the learning rate must be below one, or the penalty overshoots; "
                f"alpha is {self.alpha} and the first rate {gamma0}"
            )
        return Iterate(
            self.n_features_in_,
            loss=self.loss,
            alpha=float(self.alpha),
            gamma0=float(gamma0),
            decay=float(decay),
            fit_intercept=bool(self.fit_intercept),
        )
