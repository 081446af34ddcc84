"""Find the invalid values of a column, for all its rows at once.

pyarrow's own error reports at most the first invalid value of a column.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.data.tables.arrow_types import codes_of, is_bytes, is_one_of, is_text, with_column
from polyak.optional_imports import pyarrow


def not_utf8(array: Any) -> NDArray[np.int64]:
    r"""Return the indices of strings, or lists of strings, that are not valid UTF-8.

    Examples
    --------
    >>> import pyarrow as pa
    >>> not_utf8(pa.array([b"a", None, b"\xff"])).tolist(), not_utf8(pa.array(["a"])).tolist()
    ([2], [])
    """
    pa = pyarrow()
    is_a = pa.types
    none = np.empty(0, np.int64)
    if is_a.is_dictionary(array.type):
        wrong = not_utf8(array.dictionary)
        if not len(wrong):
            return none
        codes = codes_of(array, -1)
        return np.flatnonzero(np.isin(codes, wrong))
    if is_a.is_list(array.type) or is_a.is_large_list(array.type):
        wrong = not_utf8(array.flatten())
        if not len(wrong):
            return none
        import pyarrow.compute as pc

        return np.unique(pc.list_parent_indices(array).to_numpy()[wrong]).astype(np.int64)
    if is_a.is_struct(array.type):
        return np.unique(np.concatenate([none, *map(not_utf8, array.flatten())]))
    if not is_text(array.type) or (not is_bytes(array.type) and _is_sound(array)):
        return none
    return _wrong(array.cast(pa.large_binary()), _is_utf8)


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
    pa = pyarrow()
    odd: dict[int, str] = {}
    for number, kind in enumerate(table.schema.types):
        if not _may_be_odd(kind):
            continue
        name = table.schema.field(number).name
        column = table.column(number)
        if isinstance(column, pa.ChunkedArray):
            column = column.unify_dictionaries().combine_chunks()
        for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
            rows = not_utf8(chunk)
            words = chunk.dictionary if pa.types.is_dictionary(chunk.type) else None
            if not len(rows) and (words is None or not len(not_utf8(words))):
                continue
            odd |= {row: odd.get(row, name) for row in rows.tolist()}
            table = with_column(table, number, name, _with_holes(chunk, rows))
    return table, odd


def _with_holes(array: Any, rows: NDArray[np.int64]) -> Any:
    pa = pyarrow()
    if pa.types.is_dictionary(array.type):
        # Nulls in the indices would leave the invalid words in the dictionary.
        words = _with_holes(array.dictionary, not_utf8(array.dictionary))
        return pa.DictionaryArray.from_arrays(array.indices, words)
    every = np.arange(len(array))
    if is_one_of(array.type, "string_view", "binary_view"):
        # `take` does not support view types.
        array = array.cast(pa.large_binary())
    return array.take(pa.array(every, mask=np.isin(every, rows)))


@lru_cache(maxsize=1024)
def _may_be_odd(kind: Any) -> bool:
    is_a = pyarrow().types
    if is_a.is_dictionary(kind) or is_a.is_list(kind) or is_a.is_large_list(kind):
        return _may_be_odd(kind.value_type)
    return is_text(kind)


def _is_sound(array: Any) -> bool:
    try:
        array.validate(full=True)
    except pyarrow().ArrowInvalid:
        return False
    return True


def _wrong(words: Any, is_right: Callable[[bytes], bool]) -> NDArray[np.int64]:
    """Return the rows whose word fails ``is_right``, which is called once per distinct word."""
    encoded = words.dictionary_encode()
    verdicts = [is_right(word) for word in encoded.dictionary.to_pylist()]
    wrong = np.flatnonzero(~np.array(verdicts, dtype=bool))
    codes = codes_of(encoded, -1)
    return np.flatnonzero(np.isin(codes, wrong)).astype(np.int64)


def _is_utf8(word: bytes) -> bool:
    try:
        word.decode()
    except UnicodeDecodeError:
        return False
    return True


def short(text: str) -> str:
    """Return ``text`` truncated to 60 characters."""
    return text if len(text) <= 60 else text[:59] + "…"
