"""The penalty that the settings of a recipe ask for, and which settings exclude each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polyak.losses import get_loss

if TYPE_CHECKING:
    from polyak.learn.newton.block.penalty import Sparsity

KINDS = ("l2", "l1", "elasticnet", "none")
OF_AVERAGING = ("eta0", "decay", "power_t", "average", "step", "precondition")


Asking = Any
"""A `polyak.learn.recipes.Recipe`, which may not be imported here: it stands above this module."""


def is_sparse(asking: Asking) -> bool:
    """Whether weights are to be exactly zero, or not negative."""
    return bool((asking.penalty in ("l1", "elasticnet") and asking.alpha != 0) or asking.positive)


def is_unpenalised(asking: Asking) -> bool:
    """Whether there is to be no penalty at all, whatever its kind."""
    return bool(asking.alpha == 0)


def sparsity_of(asking: Asking) -> Sparsity | None:
    """Return the penalty that is asked for, unless it is a ridge in pseudo-observations."""
    if not is_sparse(asking) and (asking.alpha == "auto" or is_unpenalised(asking)):
        return None
    from polyak.learn.newton.block.penalty import Sparsity  # with all that Newton steps need

    ratio = {"l1": 1.0, "l2": 0.0, "none": 0.0}.get(asking.penalty, asking.l1_ratio)
    in_rows = asking.penalty == "l2" and asking.alpha == "auto"
    return Sparsity(ratio, asking.positive, in_rows)


def check(asking: Asking) -> None:
    """Raise ValueError if settings exclude each other.

    Averages of iterates have no zeros: sparse weights come from block Newton steps and, where
    features are many, from proximal steps.
    """
    if asking.penalty not in KINDS:
        raise ValueError(f"a penalty is {', '.join(KINDS)}, not {asking.penalty!r}")
    if not 0.0 <= asking.l1_ratio <= 1.0:
        raise ValueError(f"l1_ratio is between 0 and 1, not {asking.l1_ratio}")
    if asking.penalty == "none" and asking.alpha not in ("auto", 0):
        raise ValueError(f"with penalty=None alpha must be 'auto' or 0, not {asking.alpha}")
    if not is_sparse(asking):
        return
    what = words(asking)
    if asking.intervals:
        raise ValueError(f"there are no intervals with {what}: they know nothing of its bias")
    if asking.recipe != "auto":
        raise ValueError(f"{what} needs recipe='auto', not {asking.recipe!r}")
    for name in OF_AVERAGING:
        if getattr(asking, name) != "auto":
            raise ValueError(f"{what} is not for averaged SGD, which {name} is a setting of")
    if not get_loss(asking.loss).has_curvature:
        raise ValueError(f"{what} needs a loss with a curvature, which {asking.loss} has not")


def words(asking: Asking) -> str:
    """Return the setting that asks for sparse weights."""
    return "positive=True" if asking.penalty in ("l2", "none") else f"penalty={asking.penalty!r}"


def too_wide(asking: Asking, most: int) -> str:
    """Return the error that there are too many features for that."""
    return f"{words(asking)} is for up to {most:,} features here, and there are more"
