"""Small problems that the tests of the rivals share."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyak.losses import get_loss
from reproduction.rivals import OLBFGS, RIVALS, SGD, SGD2, SGDQN, Pegasos

# Mini-batches of odd sizes, a small skip: whatever is carried from call to call must show.
STREAMING = [
    *(SGD(loss=loss, alpha=1e-3) for loss in SGD.losses),
    *(SGD2(loss=loss, alpha=1e-3) for loss in SGD2.losses),
    *(Pegasos(loss=loss, alpha=1e-2) for loss in Pegasos.losses),
    Pegasos(loss="hinge", alpha=1e-2, batch_size=7),
    *(SGDQN(loss=loss, alpha=1e-3) for loss in SGDQN.losses),
    SGDQN(alpha=1e-3, skip=11, fit_intercept=False),
    SGDQN(alpha=1e-3, rule="2009 pseudo-code"),
    # Its decay is tried on more rows than these tests have.
    *(OLBFGS(loss=loss, alpha=1e-3, batch_size=37, tau=100) for loss in OLBFGS.losses),
]
ALL = [rival(loss=loss, alpha=1e-2) for rival in RIVALS.values() for loss in rival.losses]


def problem(loss: str, rows: int = 2500, features: int = 6, seed: int = 0) -> tuple[Any, Any]:
    """Draw rows with zeros among them and noisy targets; every value is one of float32."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features)) * np.exp(rng.normal(size=features) / 2)
    X[rng.random(X.shape) < 0.4] = 0.0
    X = X.astype(np.float32).astype(np.float64)
    z = X @ rng.normal(size=features) + 0.5 + rng.logistic(size=rows)
    return X, (np.where(z > 0, 1.0, -1.0) if get_loss(loss).classifies else z)


def learned(rival: Any) -> Any:
    """The weights and, last, the intercept."""
    return np.append(np.ravel(rival.coef_), rival.intercept_)


def extra(rival: Any, y: Any) -> dict[str, Any]:
    """What partial_fit needs beside rows and targets."""
    return {"classes": np.unique(y)} if get_loss(rival.loss).classifies else {}
