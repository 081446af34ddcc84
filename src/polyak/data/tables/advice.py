"""Advice in error messages about non-numeric values in numeric, boolean or date columns.

Messages spell options as Python arguments, ``missing=('n/a',)``; the command line translates them.
"""

from __future__ import annotations

FRAME = "the frame"
"""The name of an in-memory frame in messages. It is read without options, so none is advised."""


def about_word(source: str, column: str, value: str) -> str:
    """Return which options read ``value`` in a numeric, boolean or date column without an error.

    Examples
    --------
    >>> about_word("t.csv", "age", "unknown")
    "; missing=('unknown',) reads it as missing; categorical=('age',) reads the column as words"
    >>> about_word(FRAME, "age", "unknown")
    ''
    """
    if source == FRAME:
        return ""
    return (
        f"; missing={(value,)!r} reads it as missing; "
        f"categorical={(column,)!r} reads the column as words"
    )
