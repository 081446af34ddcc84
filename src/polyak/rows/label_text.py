"""Class labels as text. This module does not import NumPy, for a quick start of the commands."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any


def label_text(label: Any) -> str:
    """Return a label as text: 1 rather than 1.0.

    Examples
    --------
    >>> import numpy as np
    >>> [label_text(label) for label in (np.float32(-1.0), 0.5, True, math.nan, "yes")]
    ['-1', '0.5', 'True', 'nan', 'yes']
    """
    is_float = isinstance(label, Real) and not isinstance(label, Integral)  # NumPy's types too
    if is_float and math.isfinite(label) and label == int(label):
        return str(int(label))
    return str(label)
