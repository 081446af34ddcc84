"""The paper's theory (sections 2 to 4) as functions, with the paper's symbols.

Each function names the result it comes from by its label in the paper's source. What they say of
a data set of yours is in `polyak.paper.theory.rows_needed`.

Throughout, the learning rate is ``γ_t = γ0 (1 + a γ0 t)^-c``, ``A`` is the Hessian at the optimum
``θ*`` with smallest eigenvalue ``λ0`` and largest ``λ1``, ``S`` the covariance of the gradient
there, ``Δ_t = θ_t - θ*``, and ``‖v‖_A² = vᵀ A v``, which for ``Δ`` is twice the excess risk.
"""

from polyak.learn.rows_needed import RowsNeeded, rows_needed, rows_to_asymptotics
from polyak.paper.theory.bounds import (
    Bound,
    asymptotic_variance,
    averaged_bound,
    best_power,
    c0,
    c1,
    largest_stable_rate,
    non_quadratic_bound,
    regression_bound,
)

__all__ = [
    "Bound",
    "RowsNeeded",
    "asymptotic_variance",
    "averaged_bound",
    "best_power",
    "c0",
    "c1",
    "largest_stable_rate",
    "non_quadratic_bound",
    "regression_bound",
    "rows_needed",
    "rows_to_asymptotics",
]
