"""Plain SGD steps on the core, which SGD and SGD2 both make."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from polyak import _core
from polyak.rows.sparse import Rows, core_arrays

Floats = NDArray[np.float64]


@dataclass(slots=True)
class Iterate:
    """The last iterate of SGD with the learning rate ``gamma0 / (1 + decay * gamma0 * t)``.

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
    weights: Floats = field(init=False)
    state: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.weights = np.zeros(self.features)
        self.state = np.array([0.0, 1.0, 0.0])  # clock, scale, intercept

    def learn(self, rows: Rows, targets: Floats) -> None:
        """Take one step a row."""
        _core.rivals.sgd(
            *core_arrays(rows),
            targets,
            self.loss,
            self.weights,
            self.state,
            alpha=self.alpha,
            gamma0=self.gamma0,
            decay=self.decay,
            intercept=self.fit_intercept,
        )

    @property
    def coef(self) -> Floats:
        """The weights of the iterate."""
        return self.weights * float(self.state[1])

    @property
    def intercept(self) -> float:
        """The intercept of the iterate."""
        return float(self.state[2])

    def scores(self, rows: Rows) -> Floats:
        """Score rows with the iterate."""
        weights = np.ascontiguousarray(self.coef[:, None])
        scores: Floats = _core.score_rows(*core_arrays(rows), weights)[:, 0]
        return scores + self.intercept
