"""How many names of hashed features are collected, and how many a model keeps."""

from __future__ import annotations

MOST_NAMES = 100_000
"""How many hashed features have a name in a model, unless somebody says otherwise."""


def names_to_see(most: int) -> int:
    """Say how many names to collect, if a model is to keep so many: all of up to 2^18 slots.

    Examples
    --------
    >>> names_to_see(100), names_to_see(0)
    (262144, 0)
    """
    return max(4 * most, 1 << 18) if most else 0
