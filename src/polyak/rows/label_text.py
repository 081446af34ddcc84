"""Class labels as text. This module does not import NumPy, for a quick start of the commands."""

from __future__ import annotations

import math
import re
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


def without_formula(text: str) -> str:
    """Return text for a cell of CSV that no spreadsheet computes: after an apostrophe.

    Numbers stay as they are, and so do labels like ``+`` and ``- 50000.``.

    Examples
    --------
    >>> [without_formula(text) for text in ("=1+1", "@SUM(A1)", "-A1", "-1.5e3", "-", "a=b")]
    ["'=1+1", "'@SUM(A1)", "'-A1", '-1.5e3', '-', 'a=b']
    """
    return f"'{text}" if _FORMULA.match(text) else text


# The beginnings on OWASP's page on CSV injection, also in full width, and after blanks.
_FORMULA = re.compile(
    r"[\t\r\n].| *(?:[=@\uff1d\uff20].|[-+\uff0b\uff0d](?![-+.\deE]*$).*[^\W\d])", re.DOTALL
)
