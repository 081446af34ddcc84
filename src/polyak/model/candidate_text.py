"""A candidate of the race as text, for the screen and for the report page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polyak.model.training_report import CandidateReport

Write = Callable[[Any], str]
"""How to write a number."""

HEADS = ("method", "penalty", "preconditioner", "rate", "decay", "power")
"""The columns of `settings_cells`."""

_METHODS = {"averaged SGD": "sgd", "adaptive SGD": "adaptive"}


def three_digits(value: Any) -> str:
    """Write a number with three significant digits."""
    return f"{value:.3g}"


def settings_text(candidate: CandidateReport, number: Write = three_digits) -> str:
    """Return a candidate's method and settings in one phrase.

    Examples
    --------
    >>> newton = CandidateReport(
    ...     penalty=10.0, number=0, running=True, rows=4000, progressive_loss=None
    ... )
    >>> settings_text(newton)
    'block Newton steps, penalty 10'
    """
    rate, together = candidate.schedule, " on all classes together" if candidate.softmax else ""
    if candidate.constant:
        return "a constant: no feature improved on it"
    if candidate.terms is not None:
        return f"{candidate.terms}{together}, a penalty for each"
    if candidate.alpha is None:
        penalty = f"penalty {number(candidate.penalty)}"
    else:
        penalty = f"alpha {number(candidate.alpha)}"
    if candidate.dense:
        return f"matrix products of dense rows, {penalty}"
    if rate is None:
        return f"block Newton steps{together}, {penalty}"
    if candidate.method == "proximal":
        return f"proximal steps, learning rate {number(rate.gamma0)}, {penalty}"
    if rate.a == 0.0 and candidate.averaging is not None and candidate.averaging.start is None:
        return f"SGD at the constant rate {number(rate.gamma0)}, not averaged"
    if candidate.adagrad is not None:
        return (
            f"adaptive SGD{together}, rates by squared gradients to the power "
            f"{number(candidate.precondition)} from {number(rate.gamma0)}, {penalty}"
        )
    return (
        f"averaged SGD{together}, preconditioner {number(candidate.precondition)}, "
        f"learning rate {number(rate.gamma0)}, decay {number(rate.a)} to the power "
        f"{number(rate.c)}, {penalty}"
    )


def settings_cells(
    candidate: CandidateReport, number: Write = three_digits, none: str = "-"
) -> list[str]:
    """Return a candidate's method and settings, one cell each; ``none`` where it has no such."""
    if candidate.constant:
        return ["constant", *[none] * 5]
    if candidate.terms is not None:
        return [candidate.terms, *[none] * 5]
    if candidate.schedule is None:
        has_alpha = candidate.alpha is not None
        penalty = number(candidate.alpha) if has_alpha else f"{number(candidate.penalty)} rows"
        return [candidate.method, penalty, *[none] * 4]
    rate = candidate.schedule
    values = (candidate.alpha, candidate.precondition, rate.gamma0, rate.a, rate.c)
    return [_METHODS.get(candidate.method, candidate.method), *map(number, values)]
