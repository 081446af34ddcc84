"""The algorithms that the paper compares itself with, on the same rows, losses and penalty.

The paper names five publications and no settings. Each rival is run as its authors' program or
publication sets it, on training rows alone; SGD2 and SGD-QN have two versions, the one that was
public when the paper was written and the authors' later one. docs/rivals.md has the details.

=============  ==================================================================================
name           what it is
=============  ==================================================================================
sgd            plain SGD with ASGD's first rate 1/M, and a rate that falls like 1/t
sgd2           Bottou's svmsgd of sgd-2.x: the first rate is tried out on the first 1001 rows
sgd2-2007      Bottou's svmsgd2 of sgd-1.x: the first rate is computed for rows of unit length
pegasos        steps of 1/(λt), projected on a ball
sgd_qn         SGD-QN as in the authors' program of sgd-2.x
sgd_qn-2009    SGD-QN as printed in 2009, before its erratum
olbfgs         limited-memory BFGS on mini-batches; gain and decay are tried out on first rows
liblinear      the library's dual coordinate descent, one outer iteration
svmasgd        Bottou's svmasgd of sgd-2.x: the paper's ASGD, its first rate tried on first rows
=============  ==================================================================================

Every rival minimises ``mean loss + alpha / 2 * |coef|^2`` without an intercept. ``calibrate(X, y)``
looks at first rows, ``learn(X, y)`` learns from rows as they come and returns False once the
weights have overflowed, ``coef`` are the weights now; ``fit`` does both.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from polyak.losses import get_loss
from reproduction.rivals import _kernels

Floats = NDArray[np.float64]

SAMPLE = 1001
"""The rows that the programs of sgd-2.x look at: those with the numbers 0 to 1000."""
MOST_STEPS = 60
"""How many doublings or halvings away from 1 to look; the programs have no such limit."""
SQUARES_BEFORE = 1e-3
"""oLBFGS: the damping over the mean squared norm of rows, so that units do not matter."""
TAUS, ROWS_FOR_TAU, BATCH, MEMORY = (10.0, 100.0, 1_000.0, 10_000.0), 10_000, 100, 10
"""oLBFGS: decays to try, on how many rows; rows of a mini-batch; pairs of differences kept."""
CONSTANT = 1e100
"""A gain that halves after this number of mini-batches is constant."""


class Rival:
    """A linear classifier of two classes, -1 and +1, learned row by row.

    Examples
    --------
    >>> X, y = np.array([[1.0], [-1.0]] * 500, np.float32), np.array([1.0, -1.0] * 500)
    >>> SGD2(loss="hinge").fit(X, y).score(X, y)
    1.0
    """

    sample = SAMPLE
    """How many first rows `calibrate` looks at."""
    kernel: Any

    def __init__(self, loss: str = "squared_hinge", alpha: float = 1e-4) -> None:
        self.loss, self.alpha = loss, alpha

    def calibrate(self, X: Any, y: Floats) -> None:
        """Choose what is left open by looking at first rows, without learning from them."""
        raise NotImplementedError

    def learn(self, X: Any, y: Floats) -> bool:
        """Learn from rows; return whether all scores were finite."""
        return _learned(self.kernel, self.loss, X, y)

    def fit(self, X: Any, y: Floats) -> Any:
        """Calibrate, and learn all rows once."""
        self.calibrate(X[: self.sample], y[: self.sample])
        self.learn(X, y)
        return self

    @property
    def coef(self) -> Floats:
        """The weights as they are now."""
        return np.asarray(self.kernel.coef())

    def score(self, X: Any, y: Floats) -> float:
        """Return the share of rows whose sign is right."""
        return float(np.mean((X @ self.coef > 0) == (y > 0)))


class SGD(Rival):
    """Plain SGD: the paper's first rate 1/M, falling like 1/t; the last iterate."""

    def calibrate(self, X: Any, y: Floats) -> None:
        """Measure M."""
        self.gamma0 = 1.0 / float(squared_norms(X[:1000]).max())
        self.kernel = _sgd(X, self.alpha, self.gamma0, self.alpha, first=1.0)


class SGD2(Rival):
    """Bottou's ``svmsgd`` of sgd-2.x: the rate is γ₀/(1 + λγ₀t), with γ₀ tried out on a sample."""

    def calibrate(self, X: Any, y: Floats) -> None:
        """Try constant rates on the sample, each for one pass."""
        self.gamma0 = tried_gamma0(X, y, self.loss, self.alpha)
        self.kernel = _sgd(X, self.alpha, self.gamma0, self.alpha)


class SGD2of2007(Rival):
    """Bottou's ``svmsgd2`` of sgd-1.x, which was public when the paper was written.

    Its first rate assumes rows of about unit length: a typical weight, the root of 1/√λ, over the
    loss's derivative there. On much longer rows it diverges.
    """

    def calibrate(self, X: Any, y: Floats) -> None:
        """Compute the first rate from λ and the loss alone."""
        typical = self.alpha**-0.25
        self.gamma0 = typical / max(1.0, -float(get_loss(self.loss).slope(-typical, 1.0)))
        self.kernel = _sgd(X, self.alpha, self.gamma0, self.alpha)


class Pegasos(Rival):
    """Shalev-Shwartz, Singer and Srebro's solver with mini-batches of one row."""

    def calibrate(self, X: Any, y: Floats) -> None:
        """Nothing is left open."""
        self.kernel = _kernels.Pegasos(X.shape[1], self.alpha)


class SGDQN(Rival):
    """Bordes, Bottou and Gallinari's diagonal quasi-Newton SGD, as in sgd-2.x."""

    as_printed = False

    def calibrate(self, X: Any, y: Floats) -> None:
        """Find γ₀ as SGD2 does; share the penalty among more rows where they are sparser."""
        nonzeros = X.nnz if issparse(X) else int(np.count_nonzero(X))
        self.skip = int(16 * X.shape[0] * X.shape[1] / max(nonzeros, 1))
        self.gamma0 = tried_gamma0(X, y, self.loss, self.alpha)
        t0 = 1.0 / (self.alpha * self.gamma0) if self.as_printed else 0.0
        self.kernel = _kernels.SgdQn(X.shape[1], self.alpha, self.gamma0, t0, self.skip)


class SGDQNof2009(SGDQN):
    """SGD-QN as printed in 2009, before its erratum."""

    as_printed = True


class OLBFGS(Rival):
    """Schraudolph, Yu and Günter's online limited-memory BFGS."""

    sample = ROWS_FOR_TAU

    def calibrate(self, X: Any, y: Floats) -> None:
        """Try constant gains on a thousand rows as SGD2 tries rates, then decays on more."""
        few = SAMPLE // BATCH * BATCH
        self.damping = SQUARES_BEFORE * float(squared_norms(X[:BATCH]).mean())
        self.eta0, self.tau = 1.0, CONSTANT

        def cost(rows: int, **tried: float) -> float:
            kernel = self._kernel(X, **tried)
            return _cost(kernel, self.loss, self.alpha, X[:rows], y[:rows])

        self.eta0 = lower_of_the_last_two(lambda eta0: cost(few, eta0=eta0))
        self.tau = min(TAUS, key=lambda tau: cost(len(y), tau=tau))
        self.kernel = self._kernel(X)

    def _kernel(self, X: Any, **tried: float) -> _kernels.Olbfgs:
        gain = {"eta0": self.eta0, "tau": self.tau, **tried}
        return _kernels.Olbfgs(
            X.shape[1], self.alpha, **gain, damping=self.damping, batch=BATCH, memory=MEMORY
        )


class Liblinear(Rival):
    """Dual coordinate descent of Fan and others' library, for the two hinges.

    It needs all rows at once: `learn` runs ``iterations`` outer iterations from the beginning.
    """

    iterations = 1

    def calibrate(self, X: Any, y: Floats) -> None:
        """Nothing is left open."""

    def learn(self, X: Any, y: Floats) -> bool:
        """Run the library; to stop before it has converged is what it is here for."""
        from sklearn.svm import LinearSVC

        # The library has no factor of a half in its squared hinge.
        half = 0.5 if self.loss == "squared_hinge" else 1.0
        model = LinearSVC(
            loss=self.loss,
            C=half / (self.alpha * X.shape[0]),
            dual=True,
            fit_intercept=False,
            max_iter=self.iterations,
            random_state=0,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        self._coef = np.ravel(model.coef_)
        return bool(np.isfinite(self._coef).all())

    @property
    def coef(self) -> Floats:
        """The weights after the last outer iteration."""
        return self._coef


class ASGD(Rival):
    """The paper's ASGD as printed: γ₀ = 1/(κM), a = λ, averaged from row t₀ on.

    κ bounds the curvature of the loss. The paper proposes γ₀ = 1/M; Theorem 1 allows any γ₀ with
    γ₀λ₁ ≤ 1, and λ₁ ≤ κM.
    """

    def __init__(
        self,
        loss: str = "squared_hinge",
        alpha: float = 1e-4,
        t0: int | None = None,
        kappa: float = 1.0,
    ) -> None:
        super().__init__(loss, alpha)
        self.t0, self.kappa = t0, kappa

    def calibrate(self, X: Any, y: Floats) -> None:
        """Measure M on the first 1000 rows."""
        self.begin(X.shape[1], 1.0 / (self.kappa * float(squared_norms(X[:1000]).max())))

    def begin(self, features: int, gamma0: float) -> None:
        """Begin with a first rate."""
        self.gamma0 = gamma0
        power = get_loss(self.loss).power
        t0 = -1 if self.t0 is None else self.t0
        self.kernel = _kernels.Asgd(features, self.alpha, gamma0, power, t0)


class SvmASGD(ASGD):
    """Bottou's ``svmasgd`` of sgd-2.x: ASGD whose first rate is tried out on a sample."""

    def calibrate(self, X: Any, y: Floats) -> None:
        """Try constant rates on the sample, each for one pass."""
        self.begin(X.shape[1], tried_gamma0(X[:SAMPLE], y[:SAMPLE], self.loss, self.alpha))


RIVALS: dict[str, type[Rival]] = {
    "sgd": SGD,
    "sgd2": SGD2,
    "sgd2-2007": SGD2of2007,
    "pegasos": Pegasos,
    "sgd_qn": SGDQN,
    "sgd_qn-2009": SGDQNof2009,
    "olbfgs": OLBFGS,
    "liblinear": Liblinear,
    "svmasgd": SvmASGD,
}
"""Every rival by its name."""


def tried_gamma0(X: Any, y: Floats, loss: str, alpha: float) -> float:
    """Return the first rate that Bottou's programs of sgd-2.x find on a sample."""
    X, y = X[:SAMPLE], y[:SAMPLE]
    return lower_of_the_last_two(
        lambda gamma: _cost(_sgd(X, alpha, gamma, decay=0.0), loss, alpha, X, y)
    )


def lower_of_the_last_two(cost: Callable[[float], float]) -> float:
    """Follow a falling cost from 1 and 2 in steps of two; return the lower of the last two.

    So the programs do: on the way down that is the next lower neighbour of the best rate, on the
    way up the best. Where a cost is not finite this goes on downwards, which the programs do not.

    Examples
    --------
    >>> lower_of_the_last_two(lambda rate: abs(rate - 8)), lower_of_the_last_two(lambda rate: rate)
    (8.0, 8.673617379884035e-19)
    """
    low, high = 1.0, 2.0
    low_cost, high_cost = cost(low), cost(high)
    if high_cost < low_cost:
        for _ in range(MOST_STEPS):
            if not high_cost < low_cost:
                break
            low, low_cost = high, high_cost
            high = 2.0 * low
            high_cost = cost(high)
        return low
    for _ in range(MOST_STEPS):
        if np.isfinite(low_cost) and not low_cost < high_cost:
            break
        high_cost = low_cost
        low /= 2.0
        low_cost = cost(low)
    return low


def squared_norms(X: Any) -> Floats:
    """Return ‖x‖² of each row.

    Examples
    --------
    >>> squared_norms(np.array([[3.0, 4.0]]))
    array([25.])
    """
    X = X.astype(np.float64)
    squares = X.multiply(X) if issparse(X) else np.square(X)
    return np.asarray(squares.sum(axis=1), np.float64).ravel()


def _sgd(X: Any, alpha: float, gamma0: float, decay: float, first: float = 0.0) -> _kernels.Sgd:
    return _kernels.Sgd(X.shape[1], alpha, gamma0, decay, first)


def _learned(kernel: _kernels.Rival, loss: str, X: Any, y: Floats) -> bool:
    if not issparse(X):
        return kernel.learn_dense(loss, np.ascontiguousarray(X, np.float32).ravel(), y)
    offsets = X.indptr.astype(np.int64)
    return kernel.learn_sparse(loss, offsets, X.indices, X.data, y)


def _cost(kernel: _kernels.Rival, loss: str, alpha: float, X: Any, y: Floats) -> float:
    """Return the objective on the rows after one pass over them; infinite if it overflowed."""
    if not _learned(kernel, loss, X, y):
        return np.inf
    coef = kernel.coef()
    with np.errstate(over="ignore", invalid="ignore"):
        cost = float(np.mean(get_loss(loss).value(X @ coef, y)) + alpha / 2 * (coef @ coef))
    return cost if np.isfinite(cost) else np.inf
