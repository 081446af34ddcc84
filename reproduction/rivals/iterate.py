"""Plain SGD steps on the core, which SGD and SGD2 both make."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from polyak.rows.sparse import Rows, core_arrays
from reproduction.rivals import _kernels

Floats = NDArray[np.float64]


@dataclass(slots=True)
class Iterate:
    """The last iterate of SGD with the learning rate ``gamma0 / (1 + decay * gamma0 * t)``.

    ``t`` is 1 for the first row, or ``first``. ``intercept_rate`` is the learning rate of the
    intercept over that of the weights.

    Examples
    --------
    >>> iterate = Iterate(2, loss="squared_error", alpha=0.0, gamma0=0.5, decay=0.0)
    >>> iterate.learn(np.array([[1.0, 0.0]]), np.array([2.0]))
    >>> iterate.coef, iterate.intercept
    (array([1., 0.]), 1.0)
    """

    features: int
    loss: str
    alpha: float
    gamma0: float
    decay: float
    fit_intercept: bool = True
    first: float = 1.0
    intercept_rate: float = 1.0
    weights: Floats = field(init=False)
    state: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.weights = np.zeros(self.features)
        self.state = np.array([self.first - 1.0, 1.0, 0.0])  # clock, scale, intercept

    def learn(self, rows: Rows, targets: Floats) -> None:
        """Take one step a row."""
        _kernels.sgd(
            *core_arrays(rows),
            targets,
            self.loss,
            self.weights,
            self.state,
            alpha=self.alpha,
            gamma0=self.gamma0,
            decay=self.decay,
            intercept_rate=self.intercept_rate if self.fit_intercept else 0.0,
        )

    @property
    def coef(self) -> Floats:
        """The weights of the iterate."""
        return self.weights * float(self.state[1])

    @property
    def intercept(self) -> float:
        """The intercept of the iterate."""
        return float(self.state[2])
