"""Targets that can be learned."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def first_too_large(targets: NDArray[Any]) -> int | None:
    """Find the first target whose square, which learning takes, is not finite.

    Examples
    --------
    >>> first_too_large(np.array([1.0, -1e200])), first_too_large(np.array(["a", "b"]))
    (1, None)
    """
    if targets.dtype.kind != "f":
        return None
    with np.errstate(over="ignore"):
        if np.isfinite(np.vdot(targets, targets)):
            return None
        usable = np.isfinite(np.square(targets))
    return None if usable.all() else int(np.argmin(usable))
