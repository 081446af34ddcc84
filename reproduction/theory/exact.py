"""Errors without simulation: moments of SGD and its average, followed from row to row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from reproduction.theory.constants import Floats, rates


class Errors(NamedTuple):
    """``E‖θ - θ*‖_A²`` after given numbers of rows, of the average and of the iterate."""

    average: Floats
    iterate: Floats


def linear_errors(
    rows: Sequence[int],
    A: ArrayLike,
    S: ArrayLike,
    delta0: ArrayLike,
    gamma0: float,
    a: float,
    c: float,
) -> Errors:
    """Follow the stochastic linear equation of section 2 (`EqSGDLinear`, `EqLinearAvg`).

    Along an eigenvector of ``A`` nothing mixes, so that the mean of the iterate, the variances
    of iterate and sum, and their covariance are all that there is to follow.

    Examples
    --------
    >>> found = linear_errors([1, 1000], np.eye(1), np.eye(1), [1.0], gamma0=0.5, a=0.0, c=0.5)
    >>> found.average.round(5), found.iterate.round(5)
    (array([0.5    , 0.001]), array([0.5    , 0.33333]))
    """
    values, axes = np.linalg.eigh(np.asarray(A, float))
    noise = np.diagonal(axes.T @ np.asarray(S, float) @ axes)
    mean, total = axes.T @ np.asarray(delta0, float), np.zeros(len(values))
    var, cov, var_total = np.zeros((3, len(values)))
    gammas, wanted = rates(rows[-1], gamma0, a, c), set(rows)
    average, iterate = [], []
    for t in range(1, rows[-1] + 1):
        keep = 1.0 - gammas[t] * values
        mean, var, cov = keep * mean, keep**2 * var + gammas[t] ** 2 * noise, keep * cov
        total, var_total, cov = total + mean, var_total + 2.0 * cov + var, cov + var
        if t in wanted:
            average.append(float(values @ (total**2 + var_total)) / t**2)
            iterate.append(float(values @ (mean**2 + var)))
    return Errors(np.array(average), np.array(iterate))
