"""Advice in error messages about non-numeric values in numeric, boolean or date columns.

Messages spell options as Python arguments, ``missing=('n/a',)``; the command line translates them.
"""

from __future__ import annotations

FRAME = "the frame"
"""The name of an in-memory frame in messages. It is read without options, so none is advised."""


def about_word(source: str, column: str, value: str) -> str:
    """Return which options concern a value that does not fit its column and is read as missing.

    Examples
    --------
    >>> about_word("t.csv", "age", "unknown")
    "; missing=('unknown',) expects it, categorical=('age',) reads the column as words"
    >>> about_word(FRAME, "age", "unknown")
    ''
    """
    if source == FRAME:
        return ""
    return f"; missing={(value,)!r} expects it, categorical={(column,)!r} reads the column as words"
