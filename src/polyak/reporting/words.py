"""Numbers and settings as text."""

from __future__ import annotations

import math
from typing import Any

from polyak.losses import get_loss
from polyak.model.training_report import AveragingReport, CandidateReport
from polyak.reporting.markup import element, joined

DECAY = joined("(1 + a γ₀ t)", element("sup", "−c"))
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def is_number(value: Any) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, int | float) and math.isfinite(value)


def number(value: Any, digits: int = 3) -> str:
    """Format a number with this many significant digits; tiny and huge ones as powers of ten.

    Examples
    --------
    >>> number(0.21574), number(-12345678.0), number(1e-6), number(None), number(99.7, 2)
    ('0.216', '−1.23 × 10⁷', '10⁻⁶', 'unknown', '100')
    """
    if not is_number(value):
        return "unknown"
    if value == 0:
        return "0"
    if 1e-3 <= abs(value) < 1e6:
        rounded = float(f"{value:.{digits}g}")  # 99.7 is 100 in two digits, not 1e+02
        text = f"{value:.{digits}g}" if abs(rounded) < 10**digits else f"{value:,.0f}"
        return text.replace("-", "−")
    mantissa, power = f"{value:.{digits - 1}e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    ten = "10" + str(int(power)).translate(_SUPERSCRIPTS)
    if mantissa in ("1", "-1"):
        return ("−" if mantissa == "-1" else "") + ten
    return f"{mantissa} × {ten}".replace("-", "−")


def measured(value: Any) -> str:
    """Format a measured number with four significant digits, trailing zeros included.

    Examples
    --------
    >>> measured(0.216), measured(20182.4), measured(3e-7)
    ('0.2160', '20,182', '3 × 10⁻⁷')
    """
    plain = is_number(value) and 1e-3 <= abs(value) < 1e4
    return f"{value:#.4g}".rstrip(".").replace("-", "−") if plain else number(value, 4)


def short(value: float) -> str:
    """Format a number for an axis.

    Examples
    --------
    >>> [short(value) for value in (0.0, 0.25, 500.0, 20000.0, 3e9, 5e-4, 5e-5)]
    ['0', '0.25', '500', '20k', '3G', '0.0005', '5×10⁻⁵']
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if size <= abs(value) < size * 1e3:
            return f"{value / size:g}{letter}".replace("-", "−")
    if value and not 1e-4 <= abs(value) < 1e3:
        return number(value, 2).replace(" ", "")
    return f"{value:g}".replace("-", "−")


def count(amount: int, one: str, many: str | None = None) -> str:
    """Format a count with its noun, in the singular or plural.

    Examples
    --------
    >>> count(1, "class", "classes"), count(32561, "row")
    ('1 class', '32,561 rows')
    """
    return f"{amount:,} {one if amount == 1 else many or one + 's'}"


def percent(value: Any) -> str:
    """Format a fraction as a percentage.

    Examples
    --------
    >>> percent(0.15616)
    '15.6%'
    """
    return f"{100 * value:.3g}%" if is_number(value) else "unknown"


def loss_name(loss: str) -> str:
    """Return the usual name of a loss."""
    return get_loss(loss).title


def settings(candidate: CandidateReport) -> list[tuple[str, str]]:
    """Return the settings of a candidate as pairs of a name and an explanation."""
    if candidate.penalty is not None:
        return [
            ("Method", "block Newton steps, each row learned once"),
            ("Penalty", f"equivalent to {number(candidate.penalty)} pseudo-observations")
            if candidate.alpha is None
            else ("Penalty α", number(candidate.alpha)),
        ]
    if candidate.terms is not None:
        return [
            ("Method", f"{candidate.terms} by block Newton steps, each row learned once"),
            ("Penalty", "one for each term, chosen from the rows"),
        ]
    if candidate.constant:
        return [("Method", "a constant: no feature improved on it")]
    rate = candidate.schedule
    if candidate.step == "proximal":
        return [
            ("Method", "proximal steps: the model is the last iterate, weights of zero included"),
            ("Penalty α", number(candidate.alpha)),
            ("First learning rate", "unknown" if rate is None else number(rate.gamma0)),
        ]
    found = [("Method", candidate.method), ("Penalty α", number(candidate.alpha))]
    if rate is not None:
        found += [
            ("First learning rate γ₀", number(rate.gamma0)),
            ("Its decay", joined(DECAY, f" with a = {number(rate.a)}, c = {number(rate.c)}")),
        ]
    found.append(("Steps", _step(candidate.step)))
    if candidate.precondition is not None:
        of = "square" if candidate.adagrad is None else "squared gradient"
        found.append(("Preconditioner", _preconditioner(candidate.precondition, of)))
    if candidate.averaging is not None:
        found.append(("Averaging", _averaging(candidate.averaging)))
    return found


def _step(step: Any) -> str:
    return {
        "implicit": "implicit: with the gradient after the step, which cannot overshoot",
        "explicit": "explicit, as in the paper",
    }.get(step, "unknown")


def _preconditioner(p: float, of: str) -> str:
    if p == 0:
        return "none"
    return f"the step of a feature is multiplied by its mean {of} to the power −{p:g}"


def _averaging(averaging: AveragingReport) -> str:
    start, power = averaging.start, averaging.power
    if start is None:
        return "none: the model is the last iterate"
    if start == "auto":
        begin = "from the row at which the average is better"
    else:
        begin = f"after row {start:,}" if start else "from the first row"
    if power == 0:
        return f"{begin}, with equal weights"
    power_text = element("sup", f"{power:g}" if power != 1 else "")
    return joined(f"{begin}, iterate m with weight m", power_text)
