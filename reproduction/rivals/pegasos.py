"""Pegasos: steps as long as the penalty allows, and a ball that holds the iterate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from polyak.rows.sparse import Rows, core_arrays
from reproduction.rivals import _kernels
from reproduction.rivals.base import COUNT, StreamingRival
from reproduction.rivals.stream import Stream

Floats = NDArray[np.float64]


class Pegasos(StreamingRival):
    """The primal subgradient solver of Shalev-Shwartz, Singer and Srebro, on rows as they come.

    Mini-batch ``t`` makes one step of ``gamma_t = 1 / (alpha * t)`` along its mean gradient, and
    the iterate is then drawn back into the ball of radius ``1 / sqrt(alpha)``. The original draws
    its mini-batches at random; here they are the rows in their order.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge", "log_loss"}, default="squared_hinge"
    alpha : float, default=1e-4
        The penalty, above zero.
    batch_size : int, default=1
        ``k``, the rows of a mini-batch.
    fit_intercept : bool, default=True
        The intercept is the weight of a constant feature like any other: penalised, and inside the
        ball. Were it not, the first steps, of length ``1 / alpha``, would throw it out of range.
    max_iter : int, default=1
        How many passes `fit` makes.

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
    intercept_ : array of shape (1,)
    classes_, n_features_in_, n_iter_

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(5000, class_sep=2.0, random_state=0)
    >>> Pegasos(loss="hinge", alpha=1e-2).fit(X, y).score(X, y) > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **StreamingRival._parameter_constraints,
        "batch_size": COUNT,
    }

    def __init__(
        self,
        *,
        loss: str = "squared_hinge",
        alpha: float = 1e-4,
        batch_size: int = 1,
        fit_intercept: bool = True,
        max_iter: int = 1,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.batch_size = batch_size
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter

    def _new_stream(self) -> Stream:
        return Stream(self._begin, sample=1, unit=int(self.batch_size))

    def _begin(self, rows: Rows, targets: Floats) -> _Ball:
        return _Ball(
            self.n_features_in_,
            self.loss,
            float(self.alpha),
            int(self.batch_size),
            bool(self.fit_intercept),
        )


@dataclass(slots=True)
class _Ball:
    """The iterate within its ball."""

    features: int
    loss: str
    alpha: float
    batch: int
    fit_intercept: bool
    weights: Floats = field(init=False)
    state: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.weights = np.zeros(self.features)
        # The clock, the scale, the squared norm of the weights before scaling, the intercept.
        self.state = np.array([0.0, 1.0, 0.0, 0.0])

    def learn(self, rows: Rows, targets: Floats) -> None:
        """Take one step a mini-batch."""
        _kernels.pegasos(
            *core_arrays(rows),
            targets,
            self.loss,
            self.weights,
            self.state,
            alpha=self.alpha,
            radius=self.alpha**-0.5,
            batch=self.batch,
            intercept=self.fit_intercept,
        )

    @property
    def coef(self) -> Floats:
        """The weights of the iterate."""
        return self.weights * float(self.state[1])

    @property
    def intercept(self) -> float:
        """The intercept of the iterate."""
        return float(self.state[3])
