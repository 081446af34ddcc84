"""Small problems to learn from, shared by the tests of the core."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from polyak.learn.bank import Bank
from polyak.learn.schedules import Polynomial
from polyak.losses import get_loss

OF_THE_PAPER = ["squared_error", "squared_hinge", "hinge", "log_loss"]
LOSSES = [
    *OF_THE_PAPER,
    "modified_huber",
    "huber(0.4)",
    "quantile(0.3)",
    "epsilon_insensitive(0.2)",
    "poisson",
    "gamma",
]
RATE = Polynomial(gamma0=0.05, a=0.01, c=0.75)


def make_rows(
    n_rows: int, n_features: int, *, density: float = 0.4, seed: int = 0
) -> tuple[Any, Any]:
    """Draw rows with zeros among them, features of unlike scales, and a noisy linear truth.

    The values are numbers of float32, so that either type can hold them.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)) * np.exp(rng.normal(size=n_features) / 2)
    X *= rng.random(X.shape) < density
    X = X.astype(np.float32).astype(np.float64)
    truth = rng.normal(size=n_features)
    return X, X @ truth + 0.5 + 0.5 * rng.normal(size=n_rows)


def targets_for(loss: str, y: Any) -> Any:
    """Turn real targets into such as the loss accepts."""
    if get_loss(loss).classifies:
        return np.where(y > 0, 1.0, -1.0)
    means = np.exp(np.clip(0.25 * np.asarray(y), -3.0, 3.0))
    return {"poisson": np.round(means), "gamma": means}.get(loss, y)


def problem(loss: str, n_rows: int, n_features: int, **options: Any) -> tuple[Any, Any]:
    X, y = make_rows(n_rows, n_features, **options)
    return X, targets_for(loss, y)


def make_bank(loss: str = "squared_hinge", **options: Any) -> Bank:
    return Bank(**{"loss": loss, "alpha": 1e-2, "schedule": RATE, **options})


def stored(X: Any, storage: str) -> Any:
    return csr_array(X) if storage == "sparse" else X


def distance(a: Any, b: Any) -> float:
    """The relative distance of two vectors."""
    return float(np.linalg.norm(np.subtract(a, b)) / np.linalg.norm(b))


def same_bits(one: Bank, other: Bank) -> bool:
    """Whether two banks agree to the last bit in everything that learning changes."""
    a, b = one.state(), other.state()
    return a.keys() == b.keys() and all(same_number_bits(a[name], b[name]) for name in a)


def same_number_bits(a: Any, b: Any) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
