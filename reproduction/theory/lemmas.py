"""The appendix's two lemmas on learning rates: `LemmaGamma` and `Lemma1`, both sides of each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from reproduction.theory.constants import Floats, c0, check_rate, rates


class Sides(NamedTuple):
    """The two sides of ``left ≤ right``."""

    left: Floats
    right: Floats


def gamma_lemma(k: ArrayLike, lambda0: float, gamma0: float, a: float, c: float) -> Sides:
    """Return both sides of `LemmaGamma`: how fast ``1 / γ`` may grow, for ``k ≥ 1``.

    ``(1/γ_(k+1) - 1/γ_k) / γ_(k+1) ≤ (1/γ_k - 1/γ_(k-1)) / γ_k · (1 - λ0 γ_k)^(κ-1)`` with
    ``κ = 1 - max(0, 2c - 1) a / λ0``.

    Examples
    --------
    >>> left, right = gamma_lemma([1, 10, 100], lambda0=0.02, gamma0=1.0, a=0.02, c=0.75)
    >>> left <= right
    array([ True,  True,  True])
    """
    check_rate(lambda0, gamma0, a, c)
    k = np.asarray(k, float)

    def growth(k: Floats) -> Floats:
        """Return ``(1/γ_k - 1/γ_(k-1)) / γ_k`` without cancellation."""
        base = 1.0 + a * gamma0 * k
        return np.asarray(-np.expm1(c * np.log1p(-a * gamma0 / base)) * (base**c / gamma0) ** 2)

    excess = max(0.0, 2.0 * c - 1.0) * a / lambda0  # 1 - κ
    gamma = gamma0 * (1.0 + a * gamma0 * k) ** -c
    return Sides(growth(k + 1.0), growth(k) * np.exp(-excess * np.log1p(-lambda0 * gamma)))


class Between(NamedTuple):
    """What a lemma bounds on both sides: rows ``j = 0 … t`` by eigenvalues."""

    lower: Floats
    exact: Floats
    upper: Floats


def lemma1(t: int, eigenvalues: ArrayLike, gamma0: float, a: float, c: float) -> Between:
    """Return ``X̄_j^t`` and its bounds by `Lemma1`, along the eigenvectors of ``A``.

    ``X̄_j^t = Σ_(i=j…t) γ_j Π_(k=j+1…i) (1 - γ_k λ)`` is how much of row ``j``'s noise is in ``t``
    times the average of ``t`` rows; of the start it is ``X̄_0^t / γ0 - 1``. An average of
    second-order quality would have ``1 / λ`` throughout, and the lemma says how far from that it
    is: ``(1 - X_j^t) / λ ≤ X̄_j^t ≤ (1 + c0 (1 + a γ0 j)^(c-1)) / λ``.

    Examples
    --------
    >>> found = lemma1(100, [1.0, 0.1], gamma0=0.5, a=0.1, c=2 / 3)
    >>> found.exact[50].round(2)  # row 50's noise
    array([1.04, 7.11])
    >>> bool(((found.lower <= found.exact) & (found.exact <= found.upper)).all())
    True
    """
    values = np.asarray(eigenvalues, float)
    gamma = rates(t, gamma0, a, c)[:, None]
    keep = 1.0 - gamma * values
    sums, products = np.ones((2, t + 1, len(values)))
    products[t] = keep[t]
    for j in range(t - 1, -1, -1):
        sums[j] = 1.0 + keep[j + 1] * sums[j + 1]
        products[j] = keep[j] * products[j + 1]
    over = c0(float(values.min()), gamma0, a, c) * (1.0 + a * gamma0 * np.arange(t + 1)) ** (c - 1)
    return Between((1.0 - products) / values, gamma * sums, (1.0 + over[:, None]) / values)
