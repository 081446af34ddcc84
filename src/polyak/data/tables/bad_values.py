"""Find strings that are not valid UTF-8; pyarrow does not look for them in columns of strings."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyak.data.tables.arrow_types import (
    codes_of,
    in_one_piece,
    is_bytes,
    is_list,
    stored_as,
    with_column,
)
from polyak.optional_imports import pyarrow


def is_utf8(array: Any) -> bool:
    r"""Whether all strings, also those within lists, structs and dictionaries, are valid UTF-8.

    Examples
    --------
    >>> import pyarrow as pa
    >>> is_utf8(pa.array(["é", None])), is_utf8(pa.array([[b"a"], [b"\xff"]]))
    (True, False)
    """
    pa = pyarrow()
    if pa.types.is_dictionary(array.type):
        return is_utf8(array.dictionary)
    if is_list(array.type):
        return is_utf8(array.flatten())
    try:
        if is_bytes(array.type):
            array.cast(pa.large_binary()).cast(pa.large_string())
        else:
            array.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def without_odd_text(table: Any) -> tuple[Any, dict[int, str]]:
    r"""Replace strings that are not valid UTF-8 by null.

    Returns the table, and the first affected column of each such row.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table, odd = without_odd_text(pa.table({"a": [b"x", b"\xff"]}))
    >>> table.column("a").to_pylist(), odd
    ([b'x', None], {1: 'a'})
    """
    odd: dict[int, str] = {}
    for place, kind in enumerate(table.schema.types):
        if stored_as(kind) not in ("string", "strings"):
            continue
        column = table.column(place)
        if all(map(is_utf8, getattr(column, "chunks", [column]))):
            continue
        name = table.schema.field(place).name
        repaired, rows = _repaired(in_one_piece(column))
        odd |= {row: odd.get(row, name) for row in rows}
        table = with_column(table, place, name, repaired)
    return table, odd


def _repaired(array: Any) -> tuple[Any, list[int]]:
    """Return ``array`` with null for what is not UTF-8, and the rows of that."""
    pa = pyarrow()
    if pa.types.is_dictionary(array.type):
        words, wrong = _repaired(array.dictionary)
        rows = np.flatnonzero(np.isin(codes_of(array, -1), wrong)).tolist()
        return pa.DictionaryArray.from_arrays(array.indices, words), rows
    if is_list(array.type):
        import pyarrow.compute as pc

        _, wrong = _repaired(array.flatten())
        rows = np.unique(pc.list_parent_indices(array).to_numpy()[wrong]).tolist()
    else:
        array = array.cast(pa.large_binary())  # `take` supports neither views nor invalid strings
        rows = [row for row, word in enumerate(array.to_pylist()) if not _is_utf8(word or b"")]
    every = np.arange(len(array))
    return array.take(pa.array(every, mask=np.isin(every, rows))), rows


def _is_utf8(word: bytes) -> bool:
    try:
        word.decode()
    except UnicodeDecodeError:
        return False
    return True
