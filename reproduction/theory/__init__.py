"""The paper's theory (sections 2 to 4 and the appendix) as functions, with the paper's symbols.

Each function names the result it comes from by its label in the paper's source.

Throughout, the learning rate is ``γ_t = γ0 (1 + a γ0 t)^-c``, ``A`` is the Hessian at the optimum
``θ*`` with smallest eigenvalue ``λ0`` and largest ``λ1``, ``S`` the covariance of the gradient
there, ``Δ_t = θ_t - θ*``, and ``‖v‖_A² = vᵀ A v``, which for ``Δ`` is twice the excess risk.
"""

from polyak.learn.rows_needed import rows_to_asymptotics
from reproduction.theory.constants import (
    asymptotic_variance,
    best_power,
    c0,
    c1,
    largest_stable_rate,
    rates,
)
from reproduction.theory.exact import Problem, errors, linear_errors, noise_away, second_order_error
from reproduction.theory.lemmas import gamma_lemma, lemma1
from reproduction.theory.linear import (
    Bound,
    ErrorBound,
    averaged_bound,
    averaged_bound_at,
    iterate_bound_at,
)
from reproduction.theory.remainders import (
    combined_bound,
    decomposition,
    non_quadratic_bound,
    regression_bound,
    regression_bound_at,
)

__all__ = [
    "Bound",
    "ErrorBound",
    "Problem",
    "asymptotic_variance",
    "averaged_bound",
    "averaged_bound_at",
    "best_power",
    "c0",
    "c1",
    "combined_bound",
    "decomposition",
    "errors",
    "gamma_lemma",
    "iterate_bound_at",
    "largest_stable_rate",
    "lemma1",
    "linear_errors",
    "noise_away",
    "non_quadratic_bound",
    "rates",
    "regression_bound",
    "regression_bound_at",
    "rows_to_asymptotics",
    "second_order_error",
]
