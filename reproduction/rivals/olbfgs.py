"""oLBFGS: limited-memory BFGS on mini-batches."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from polyak.learn.schedules import mean_squares, squared_length_by
from polyak.rows.sparse import Rows, core_arrays
from reproduction.rivals import _kernels
from reproduction.rivals.base import COUNT, POSITIVE, StreamingRival
from reproduction.rivals.calibrate import SAMPLE, lower_of_the_last_two, objective
from reproduction.rivals.stream import Stream

Floats = NDArray[np.float64]

UNTRIED = 0.25
"""The first gain where a sample is too small to try any: below that of a whole Newton step."""

TAUS = (10.0, 100.0, 1_000.0, 10_000.0)
"""The mini-batches after which the gain has halved that are tried."""

ROWS_FOR_TAU = 10_000
"""The rows to try them on: of a thousand, ten mini-batches, no decay could be told from another."""

CONSTANT = 1e100
"""A gain that halves after this number of mini-batches is constant."""


class OLBFGS(StreamingRival):
    """The online limited-memory BFGS of Schraudolph, Yu and Günter.

    Each mini-batch gives a gradient, which the last ``memory`` pairs of differences turn into a
    step of gain ``eta_t = eta0 * tau / (tau + t)``; the same mini-batch is then looked at once
    more, so that its own difference of gradients is the next pair. The difference has ``damping``
    times the step added to it. A first step of almost no length measures the first pair.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge", "log_loss"}, default="squared_hinge"
    alpha : float, default=1e-4
        The penalty ``alpha / 2 * |coef|^2``, above zero; the intercept is not penalised.
    batch_size : int, default=100
        The rows of a mini-batch.
    memory : int, default=10
        How many pairs of differences are kept.
    eta0 : float or "auto", default="auto"
        "auto" tries constant gains on the first 1000 rows, as SGD2 tries learning rates: 1, a half,
        a quarter and so on (or 2, 4 ...), and takes the next lower neighbour of the best. So only
        rows to learn from are looked at.
    tau : float or "auto", default="auto"
        The number of mini-batches after which the gain has halved. "auto" tries 10, 100, 1000 and
        10,000, each for one pass over the first 10,000 rows, and takes the one with the lowest
        objective there.
    damping : float or "auto", default="auto"
        "auto" is a thousandth of the mean squared norm of the first mini-batch's rows, so that
        it does not depend on the units of the features. The hinge needs it most: between its
        corners the gradients do not differ, and damping is all the curvature there is.
    fit_intercept : bool, default=True
    max_iter : int, default=1
        How many passes `fit` makes.

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
    intercept_ : array of shape (1,)
    eta0_, tau_ : float
        The first gain, and after how many mini-batches it has halved.
    classes_, n_features_in_, n_iter_

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(5000, class_sep=2.0, random_state=0)
    >>> OLBFGS().fit(X, y).score(X, y) > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **StreamingRival._parameter_constraints,
        "batch_size": COUNT,
        "memory": COUNT,
        "eta0": [StrOptions({"auto"}), *POSITIVE],
        "tau": [StrOptions({"auto"}), *POSITIVE],
        "damping": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        loss: str = "squared_hinge",
        alpha: float = 1e-4,
        batch_size: int = 100,
        memory: int = 10,
        eta0: Any = "auto",
        tau: Any = "auto",
        damping: Any = "auto",
        fit_intercept: bool = True,
        max_iter: int = 1,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.batch_size = batch_size
        self.memory = memory
        self.eta0 = eta0
        self.tau = tau
        self.damping = damping
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter

    @property
    def eta0_(self) -> float:
        """The first gain."""
        return self._secants().eta0

    @property
    def tau_(self) -> float:
        """After how many mini-batches the gain has halved."""
        return self._secants().tau

    def _secants(self) -> _Secants:
        engine = self._engine()
        assert isinstance(engine, _Secants)
        return engine

    def _new_stream(self) -> Stream:
        size = int(self.batch_size)
        rows = size
        if self.tau == "auto":
            rows = ROWS_FOR_TAU
        elif self.eta0 == "auto":
            rows = SAMPLE
        return Stream(self._begin, sample=_whole(rows, size), unit=size)

    def _begin(self, rows: Rows, targets: Floats) -> _Secants:
        damping = self.damping
        if damping == "auto":
            first = rows[: self.batch_size]
            means = mean_squares(first)
            damping = 1e-3 * squared_length_by(means, 0.0, fit_intercept=self.fit_intercept)
        engine = _Secants(
            features=self.n_features_in_,
            loss=self.loss,
            alpha=float(self.alpha),
            batch=int(self.batch_size),
            memory=int(self.memory),
            eta0=1.0,
            tau=CONSTANT,
            damping=float(damping),
            fit_intercept=bool(self.fit_intercept),
        )
        few = _whole(SAMPLE, engine.batch)
        auto = self.eta0 == "auto"
        eta0 = engine.best_eta0(rows[:few], targets[:few]) if auto else float(self.eta0)
        engine = replace(engine, eta0=eta0)
        tau = engine.best_tau(rows, targets) if self.tau == "auto" else float(self.tau)
        return replace(engine, tau=tau)


def _whole(rows: int, batch: int) -> int:
    """Return the number of rows in whole mini-batches, at least one."""
    return batch * max(1, rows // batch)


@dataclass(slots=True)
class _Secants:
    """The iterate, its intercept last, and the pairs of differences."""

    features: int
    loss: str
    alpha: float
    batch: int
    memory: int
    eta0: float
    tau: float
    damping: float
    fit_intercept: bool
    weights: Floats = field(init=False)
    moves: Floats = field(init=False)
    changes: Floats = field(init=False)
    state: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.weights = np.zeros(self.features + 1)
        self.moves = np.zeros((self.memory, self.features + 1))
        self.changes = np.zeros((self.memory, self.features + 1))
        self.state = np.zeros(3)  # the clock, how many pairs there are, where the next one goes

    def learn(self, rows: Rows, targets: Floats) -> None:
        """Take one step a mini-batch."""
        _kernels.olbfgs(
            *core_arrays(rows),
            targets,
            self.loss,
            self.weights,
            self.moves,
            self.changes,
            self.state,
            alpha=self.alpha,
            eta0=self.eta0,
            tau=self.tau,
            damping=self.damping,
            batch=self.batch,
            intercept=self.fit_intercept,
        )

    def best_eta0(self, rows: Rows, targets: Floats) -> float:
        """Try constant gains on a sample, as SGD2 tries learning rates.

        Of a single mini-batch there is no difference to learn from, and none is tried.
        """
        if len(targets) < 2 * self.batch:
            return UNTRIED
        return lower_of_the_last_two(lambda eta0: self._cost(rows, targets, eta0, CONSTANT))

    def best_tau(self, rows: Rows, targets: Floats) -> float:
        """Try decays on a sample, each for one pass."""
        return min(TAUS, key=lambda tau: self._cost(rows, targets, self.eta0, tau))

    def _cost(self, rows: Rows, targets: Floats, eta0: float, tau: float) -> float:
        """Measure the objective on a sample after one pass over it."""
        tried = replace(self, eta0=eta0, tau=tau)
        try:
            with np.errstate(all="ignore"):
                tried.learn(rows, targets)
        except ArithmeticError:
            return np.inf
        return objective(rows, targets, self.loss, self.alpha, tried.coef, tried.intercept)

    @property
    def coef(self) -> Floats:
        """The weights of the iterate."""
        return self.weights[:-1]

    @property
    def intercept(self) -> float:
        """The intercept of the iterate."""
        return float(self.weights[-1])
