"""Rows to learn from, and the same as text."""

from __future__ import annotations

from typing import Any

import numpy as np

WIDTH = 20


def rows(n: int, seed: int) -> tuple[Any, Any]:
    """Draw rows of a logistic model with correlated features."""
    random = np.random.default_rng(seed)
    mix = np.random.default_rng(99).normal(size=(WIDTH, WIDTH)) / np.sqrt(WIDTH)
    X = random.normal(size=(n, WIDTH)) @ (mix + 0.5 * np.eye(WIDTH))
    truth = np.random.default_rng(98).normal(size=WIDTH)
    return X, np.where(random.random(n) < 1 / (1 + np.exp(-(X @ truth))), 1.0, -1.0)


def as_text(X: Any, y: Any) -> str:
    return "".join(
        f"{target:g} {' '.join(f'{j + 1}:{value:.5g}' for j, value in enumerate(row))}\n"
        for row, target in zip(X.tolist(), y.tolist(), strict=True)
    )
