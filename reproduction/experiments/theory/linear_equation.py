"""The stochastic linear equation of section 2, run many times over."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def how_much(scale: float) -> tuple[int, int]:
    """Return the runs and rows of a simulation; a scale of 0.1 is already the full size."""
    return (400 if scale < 1 else 2000), max(100, round(3000 * min(1.0, 10 * scale)))


def marks_up_to(rows: float, step: float = 0.25, first: float = 0.0) -> list[int]:
    """Return numbers of rows, evenly spaced in their logarithm.

    Examples
    --------
    >>> marks_up_to(30)
    [1, 2, 3, 6, 10, 18]
    """
    return sorted({round(10**power) for power in np.arange(first, np.log10(rows) + 1e-9, step)})


def simulate(
    A: Floats,
    S: Floats,
    delta0: Floats,
    rate: dict[str, float],
    marks: list[int],
    runs: int,
    random: np.random.Generator,
) -> tuple[list[float], list[float]]:
    """Run the stochastic linear equation, and give ``t E‖θ̄_t - θ*‖_A²`` and its standard error."""
    root = np.linalg.cholesky(S).T
    delta, total = np.tile(delta0, (runs, 1)), np.zeros((runs, len(A)))
    means, errors = [], []
    wanted = set(marks)
    for t in range(1, marks[-1] + 1):
        gamma = rate["gamma0"] * (1.0 + rate["a"] * rate["gamma0"] * t) ** -rate["c"]
        delta = delta - gamma * (delta @ A + random.standard_normal(delta.shape) @ root)
        total += delta
        if t in wanted:
            each = np.einsum("ij,ij->i", total @ A, total) / t  # t times that of the mean
            means.append(float(each.mean()))
            errors.append(float(each.std() / np.sqrt(runs)))
    return means, errors


def covariance(random: np.random.Generator, dimensions: int) -> Floats:
    """Draw a covariance whose eigenvalues span a factor of up to a hundred."""
    axes = np.linalg.qr(random.standard_normal((dimensions, dimensions)))[0]
    values = 10.0 ** random.uniform(-2.0, 0.0, dimensions)
    drawn: Floats = (axes * values) @ axes.T
    return (drawn + drawn.T) / 2
