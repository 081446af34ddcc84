"""Section 4: what a curvature that changes away from the optimum adds."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from reproduction.theory.constants import Floats, c0, rate_sum


def non_quadratic_bound(
    t: ArrayLike,
    *,
    lambda0: float,
    gamma0: float,
    a: float,
    c: float,
    c2: float,
    c3: float,
    c4: float,
    c5: float,
    c6: float,
    delta0: float,
    printed: bool = False,
) -> Floats:
    """Bound ``t E‖I⁽³⁾‖_A²``, what the curvature's change away from the optimum adds.

    From `LemmaNonQuadratic`, for losses that are not quadratic. ``c4`` bounds that change
    (assumption `A_Xi3Bound`), ``c2``, ``c3``, ``c5`` and ``c6`` the distance of the iterates
    (`A_DeltaBound`, `A_DeltaBound2`), and ``delta0`` is ``‖Δ_0‖_A²``. It vanishes for
    ``c > 1/2`` only.

    The paper's proof has the index off by one: ``ξ⁽³⁾_j`` is a matter of ``Δ_(j-1)``, not of
    ``Δ_j``, so that ``‖Δ_0‖`` is in both of its sums and has to be added to what the assumptions
    say of the rows from the first on. That makes ``1 + c5`` of ``c5``, and ``2 (1 + c2) c3`` of
    ``2 c2 c3``. ``printed=True`` gives the bound as the paper has it; it is exceeded ten thousand
    times over by the gradient ``θ + θ²`` without noise, from ``θ_0 = 0.1`` at a learning rate of 1.

    Examples
    --------
    >>> constants = dict(c2=1.0, c3=0.1, c4=1.0, c5=1.0, c6=0.1, delta0=1.0)
    >>> rate = dict(lambda0=0.1, gamma0=0.5, a=0.1, c=3 / 4)
    >>> non_quadratic_bound([1e3, 1e6], **rate, **constants).round(3)
    array([0.638, 0.023])
    >>> non_quadratic_bound([1e3, 1e6], **rate, **constants, printed=True).round(3)
    array([0.531, 0.022])
    """
    t = np.asarray(t, float)
    first = 0.0 if printed else 1.0
    outer = (1.0 + c0(lambda0, gamma0, a, c)) ** 2 * c4**2 / t
    total = rate_sum(t, gamma0, a, c)
    start = (1 + 2 * c2) * (first + c5) * delta0**2
    middle = 2 * (first + c2) * c3 * delta0 + (1 + 2 * c2) * c6
    return np.asarray(outer * (start + middle * total + c3**2 * total**2))
