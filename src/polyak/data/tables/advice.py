"""What to do about words where a table has none so far.

Messages name options as Python does, ``missing=('n/a',)``; the command line spells them its way.
"""

from __future__ import annotations

FRAME = "the frame"
"""What messages call a frame in memory. It is read without options, so none is advised."""


def about_word(source: str, column: str, value: str) -> str:
    """Return how to read a word in a column of numbers, truths or dates all the same.

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
