"""Targets and weights from columns of a table: numbers or strings, and their validity."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak._core import column_numbers
from polyak.data.tables.arrow_types import (
    MISSING_WORDS,
    codes_of,
    core_form,
    in_one_piece,
    is_category,
    stored_as,
)
from polyak.model.schema import Target


def numbers_of(array: Any) -> NDArray[np.float64]:
    """Read a column as numbers, with NaN for nulls; dates and times in days."""
    return column_numbers(*core_form(array, "number").__arrow_c_array__())


def words_of(array: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Read a column as strings, whole numbers without a decimal point.

    Returns the strings, with None for missing values, and the mask of those that are present.

    Examples
    --------
    >>> import pyarrow as pa
    >>> words_of(pa.array([1.0, None, 2.5]))
    (array(['1', None, '2.5'], dtype=object), array([ True, False,  True]))
    """
    encoded = in_one_piece(core_form(array, "category"))
    if not is_category(encoded.type):
        encoded = encoded.dictionary_encode()
    known: list[Any] = [
        None if word is None or word in MISSING_WORDS else word
        for word in encoded.dictionary.to_pylist()
    ]
    words = np.array([*known, None], dtype=object)
    codes = codes_of(encoded, len(known))
    there = np.array([word is not None for word in words], dtype=bool)
    return words[codes], there[codes]


def values_in(array: Any) -> int:
    """Count the distinct values of a column.

    Examples
    --------
    >>> import pyarrow as pa
    >>> values_in(pa.array([1.0, None, 2.5, 1.0])), values_in(pa.array(["a", "b", "NA"]))
    (2, 2)
    """
    values = in_one_piece(array).to_pylist()
    return len({value for value in values if value == value} - {None, *MISSING_WORDS})


def read_targets(array: Any, target: Target) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the targets, and the mask of rows that have one."""
    if target.positive is not None:
        words, there = words_of(array)
        is_positive = words == target.positive
        return np.where(is_positive, target.positive, str(target.negative)), there
    if target.kind == "class" or stored_as(array.type) == "string":
        words, there = words_of(array)
        return np.where(there, words, "").astype(str), there
    numbers = numbers_of(array)
    return numbers, ~np.isnan(numbers)
