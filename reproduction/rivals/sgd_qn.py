"""SGD-QN: SGD with a gain for each coordinate, from ratios of differences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from polyak.rows.sparse import Rows, SparseRows, core_arrays
from reproduction.rivals import _kernels
from reproduction.rivals.base import COUNT, StreamingRival
from reproduction.rivals.calibrate import SAMPLE, best_gamma0
from reproduction.rivals.stream import Stream

Floats = NDArray[np.float64]

_CLOCK = 3  # where the state counts rows


class SGDQN(StreamingRival):
    """The diagonal quasi-Newton SGD of Bordes, Bottou and Gallinari.

    Coordinate ``j`` has its own gain ``h_j``, at first ``eta0`` as in SGD2. Every ``skip`` rows the
    penalty of these rows is applied at once, and the next row measures the curvature of each of
    its features: the difference of its gradient with the weights now and with those before the
    penalty, over that of the weights, kept within 0.1 to 100 times ``alpha``. Then ``1 / h_j``
    grows by the curvature found times the rows since the last measurement; for features the row
    does not have, that is the penalty's alone. So it is in the authors' program of sgd-2.x.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge", "log_loss"}, default="squared_hinge"
    alpha : float, default=1e-4
        The penalty ``alpha / 2 * |coef|^2``, above zero; the intercept is not penalised.
    skip : int or "auto", default="auto"
        "auto" is sixteen on dense rows, and as many times more on sparse ones as they have
        features for each nonzero, so that the work on all features never outweighs the rows'.
    rule : {"sgd-2.x", "2009 pseudo-code"}, default="sgd-2.x"
        "2009 pseudo-code" is what the paper printed before its erratum: the row after a penalty
        measures before and after its own step, the ratios of weights to gradients are averaged
        with weights of two over their number, and stand beside a common ``1 / (t + t0)``.
    fit_intercept : bool, default=True
        The intercept is the weight of a constant feature with a gain of its own, not penalised;
        the program has none.
    max_iter : int, default=1
        How many passes `fit` makes.

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
    intercept_ : array of shape (1,)
    eta0_ : float
        The learning rate with which all gains begin, found as SGD2 finds its own.
    gains_ : array of shape (n_features,)
        The gains as they are now.
    skip_ : int
    classes_, n_features_in_, n_iter_

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(5000, class_sep=2.0, random_state=0)
    >>> SGDQN().fit(X, y).score(X, y) > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **StreamingRival._parameter_constraints,
        "skip": [StrOptions({"auto"}), *COUNT],
        "rule": [StrOptions({"sgd-2.x", "2009 pseudo-code"})],
    }

    def __init__(
        self,
        *,
        loss: str = "squared_hinge",
        alpha: float = 1e-4,
        skip: Any = "auto",
        rule: str = "sgd-2.x",
        fit_intercept: bool = True,
        max_iter: int = 1,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.skip = skip
        self.rule = rule
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter

    @property
    def eta0_(self) -> float:
        """The learning rate with which all gains began."""
        return self._rescaled().gamma0

    @property
    def gains_(self) -> Floats:
        """The gain of each feature as it is now."""
        engine = self._rescaled()
        return engine.gains / (engine.state[_CLOCK] + engine.t0) if engine.t0 else +engine.gains

    @property
    def skip_(self) -> int:
        """How many rows share a penalty."""
        return self._rescaled().skip

    def _rescaled(self) -> _Rescaled:
        engine = self._engine()
        assert isinstance(engine, _Rescaled)
        return engine

    def _new_stream(self) -> Stream:
        return Stream(self._begin, sample=SAMPLE)

    def _begin(self, rows: Rows, targets: Floats) -> _Rescaled:
        alpha, fit_intercept = float(self.alpha), bool(self.fit_intercept)
        gamma0 = best_gamma0(
            rows, targets, loss=self.loss, alpha=alpha, fit_intercept=fit_intercept
        )
        skip = int(16 * _features_a_nonzero(rows)) if self.skip == "auto" else self.skip
        t0 = 1.0 / (alpha * gamma0) if self.rule == "2009 pseudo-code" else 0.0
        return _Rescaled(self.n_features_in_, self.loss, alpha, gamma0, t0, skip, fit_intercept)


def _features_a_nonzero(rows: Rows) -> float:
    """Count what is not zero, however rows are stored: the same rows must give the same skip."""
    if isinstance(rows, SparseRows):
        stored = rows.values[int(rows.indptr[0]) : int(rows.indptr[-1])]
    else:
        stored = rows
    return float(len(rows) * rows.shape[1] / max(int(np.count_nonzero(stored)), 1))


@dataclass(slots=True)
class _Rescaled:
    """The iterate and the gains of its coordinates."""

    features: int
    loss: str
    alpha: float
    gamma0: float
    t0: float
    skip: int
    fit_intercept: bool
    weights: Floats = field(init=False)
    gains: Floats = field(init=False)
    before: Floats = field(init=False)
    state: Floats = field(init=False)

    def __post_init__(self) -> None:
        gain = 1.0 / self.alpha if self.t0 else self.gamma0
        self.weights, self.before = np.zeros(self.features), np.zeros(self.features)
        self.gains = np.full(self.features, gain)
        # As SgdQnState in rivals/cpp/rival_state.hpp says.
        self.state = np.array([0.0, gain, 0.0, 0.0, 0.0, float(self.skip), 0.0, 2.0])

    def learn(self, rows: Rows, targets: Floats) -> None:
        """Take one step a row."""
        _kernels.sgd_qn(
            *core_arrays(rows),
            targets,
            self.loss,
            self.weights,
            self.gains,
            self.before,
            self.state,
            alpha=self.alpha,
            t0=self.t0,
            skip=self.skip,
            intercept=self.fit_intercept,
        )

    @property
    def coef(self) -> Floats:
        """The weights of the iterate."""
        return self.weights

    @property
    def intercept(self) -> float:
        """The intercept of the iterate."""
        return float(self.state[0])
