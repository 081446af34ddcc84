"""Whether columns that equal the target in the first rows do so in all others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polyak.data.tables.arrow_types import stored_as
from polyak.data.tables.source import Source
from polyak.data.tables.targets import numbers_of, words_of
from polyak.data.tables.written import plain_values
from polyak.errors import DataError

PLAIN = ("number", "boolean")  # true is 1, and 1 is 1.0


def copies_in(source: Source, target: str | None) -> Callable[[dict[str, str], str], bool] | None:
    """Give what tells whether a column equals the target in all rows; None if that takes a pipe."""
    if target is None or not source.can_read_again():
        return None

    def is_copy(written: dict[str, str], name: str) -> bool:
        try:
            return _is_copy(source, name, str(target), written)
        except DataError:  # which whoever reads all columns will meet
            return True

    return is_copy


def _is_copy(source: Source, name: str, target: str, written: dict[str, str]) -> bool:
    both = [target, name]
    source.plan({each: "string" for each in both if each in written}, both)
    for piece in source.pieces({}):
        table = source.batch(piece, [])
        columns = [
            plain_values(table.column(each), written[each])[0]
            if each in written
            else table.column(each)
            for each in both
        ]
        if not equal(*columns):
            return False
    return True


def equal(a: Any, b: Any) -> bool:
    """Compare two columns: as numbers if both are such, or else as words."""
    if stored_as(a.type) in PLAIN and stored_as(b.type) in PLAIN:
        return np.array_equal(numbers_of(a), numbers_of(b), equal_nan=True)
    return np.array_equal(words_of(a)[0], words_of(b)[0])
