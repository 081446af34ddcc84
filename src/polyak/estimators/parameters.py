"""The parameters of an estimator, kept as scikit-learn asks: under their names, as they came."""

from __future__ import annotations

from typing import Any


def keep(parameters: dict[str, Any]) -> None:
    """Set on an estimator the arguments of its ``__init__``, given as its ``locals()``.

    Examples
    --------
    >>> class Estimator:
    ...     def __init__(self, *, alpha=1.0):
    ...         keep(locals())
    >>> Estimator().alpha
    1.0
    """
    estimator = parameters.pop("self")
    vars(estimator).update(parameters)
