"""The paper's theory (sections 2 to 4 and the appendix) as functions, with the paper's symbols.

Each function names the result it comes from by its label in the paper's source. What they say of
a data set of yours is in `reproduction.theory.rows_needed`.

Throughout, the learning rate is ``γ_t = γ0 (1 + a γ0 t)^-c``, ``A`` is the Hessian at the optimum
``θ*`` with smallest eigenvalue ``λ0`` and largest ``λ1``, ``S`` the covariance of the gradient
there, ``Δ_t = θ_t - θ*``, and ``‖v‖_A² = vᵀ A v``, which for ``Δ`` is twice the excess risk.
"""

from polyak.learn.rows_needed import rows_to_asymptotics
from reproduction.theory.combined import combined_bound
from reproduction.theory.constants import (
    asymptotic_variance,
    best_power,
    c0,
    c1,
    largest_stable_rate,
)
from reproduction.theory.exact import linear_errors
from reproduction.theory.lemmas import gamma_lemma, lemma1
from reproduction.theory.linear import (
    Bound,
    ErrorBound,
    averaged_bound,
    averaged_bound_at,
    iterate_bound_at,
)
from reproduction.theory.non_quadratic import non_quadratic_bound
from reproduction.theory.regression import regression_bound, regression_bound_at
from reproduction.theory.rows_needed import rows_needed
from reproduction.theory.second_order import second_order_error

__all__ = [
    "Bound",
    "ErrorBound",
    "asymptotic_variance",
    "averaged_bound",
    "averaged_bound_at",
    "best_power",
    "c0",
    "c1",
    "combined_bound",
    "gamma_lemma",
    "iterate_bound_at",
    "largest_stable_rate",
    "lemma1",
    "linear_errors",
    "non_quadratic_bound",
    "regression_bound",
    "regression_bound_at",
    "rows_needed",
    "rows_to_asymptotics",
    "second_order_error",
]
