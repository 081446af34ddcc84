"""Arrow types: their classification, and conversion to the few types that the core reads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak._core import column_numbers
from polyak.optional_imports import pyarrow

MISSING_WORDS = ("", "?", "-", "NA", "NaN", "nan", "N/A", "n/a", "null", "NULL", "#N/A")
"""Strings that denote a missing value in string columns; the core has the same list."""


# A table may have thousands of columns, but only a few distinct types.
@lru_cache(maxsize=1024)
def stored_as(kind: Any) -> str | None:
    """Return the storage class of an Arrow type; None if it cannot become a feature.

    Examples
    --------
    >>> import pyarrow as pa
    >>> [stored_as(t) for t in (pa.int8(), pa.dictionary(pa.int8(), pa.string()), pa.date32())]
    ['number', 'string', 'date']
    """
    pa = pyarrow()
    is_a = pa.types
    if is_a.is_dictionary(kind):
        return stored_as(kind.value_type)
    if is_a.is_boolean(kind):
        return "boolean"
    if is_a.is_integer(kind) or is_a.is_floating(kind) or is_a.is_decimal(kind):
        return "number"
    if is_a.is_duration(kind) or is_a.is_null(kind):
        return "number"
    if is_a.is_date(kind):
        return "date"
    if is_a.is_timestamp(kind):
        return "time"
    if is_a.is_time(kind):
        return "clock"
    if is_text(kind):
        return "string"
    if is_list(kind):
        return "strings" if stored_as(kind.value_type) == "string" else None
    return None


def is_list(kind: Any) -> bool:
    """Whether an Arrow type is a list of any layout."""
    is_a = pyarrow().types
    return bool(is_a.is_list(kind) or is_a.is_large_list(kind) or is_a.is_fixed_size_list(kind))


def is_category(kind: Any) -> bool:
    """Whether an Arrow type declares a category: dictionary-encoded values of any type."""
    return bool(pyarrow().types.is_dictionary(kind))


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is a string or binary type.

    Examples
    --------
    >>> import pyarrow as pa
    >>> is_text(pa.large_string()), is_text(pa.binary()), is_text(pa.int8())
    (True, True, False)
    """
    return is_string(kind) or is_bytes(kind)


def is_string(kind: Any) -> bool:
    """Whether an Arrow type is a string type."""
    return is_one_of(kind, "string", "large_string", "string_view")


def with_strings_as(first: Any, table: Any) -> Any:
    """Return a table with strings of the types in the ``first`` schema, as libraries differ."""
    if table.schema.names != first.names or table.schema.equals(first):
        return table
    fields = [
        mine.with_type(old.type) if is_string(mine.type) and is_string(old.type) else mine
        for mine, old in zip(table.schema, first, strict=True)
    ]
    return table.cast(pyarrow().schema(fields))


def is_bytes(kind: Any) -> bool:
    """Whether an Arrow type is binary: text whose encoding is not declared."""
    return is_one_of(kind, "binary", "large_binary", "binary_view")


def is_one_of(kind: Any, *names: str) -> bool:
    """Whether an Arrow type is one of ``names``; older pyarrow releases lack some of these."""
    known = (getattr(pyarrow().types, f"is_{name}", None) for name in names)
    return any(is_it(kind) for is_it in known if is_it is not None)


# The following functions avoid importing pandas. When pyarrow first converts a Python or NumPy
# value, or converts to NumPy, it imports pandas if that is installed, which takes twice as long as
# reading 30 MB of CSV.


def arrow_numbers(values: NDArray[Any]) -> Any:
    """Convert a NumPy array of numbers or datetimes to Arrow; NaN and NaT become null.

    Examples
    --------
    >>> arrow_numbers(np.array([1.5, np.nan])).to_pylist()
    [1.5, None]
    """
    pa = pyarrow()
    there, kind = values == values, pa.from_numpy_dtype(values.dtype)
    if kind == pa.date32():
        # NumPy stores days in 64 bits, Arrow's date32 in 32.
        values = values.astype(np.int64).astype(np.int32)
    bits = None if there.all() else pa.py_buffer(np.packbits(there, bitorder="little"))
    held = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(kind, len(values), [bits, held])


def arrow_number(value: float) -> Any:
    """Return an Arrow scalar for use in pyarrow's compute functions."""
    return arrow_numbers(np.array([value]))[0]


def codes_of(encoded: Any, missing: int) -> NDArray[np.int64]:
    """Return the indices of a dictionary-encoded array, with ``missing`` for nulls.

    Examples
    --------
    >>> import pyarrow as pa
    >>> codes_of(pa.array(["a", None, "b"]).dictionary_encode(), -1)
    array([ 0, -1,  1])
    """
    codes = column_numbers(*encoded.indices.__arrow_c_array__())
    return np.where(np.isnan(codes), missing, codes).astype(np.int64)


def arrow_words(words: Sequence[str]) -> Any:
    """Convert strings to an Arrow string array without nulls.

    Examples
    --------
    >>> arrow_words(["NA", "", "é"]).to_pylist()
    ['NA', '', 'é']
    """
    pa = pyarrow()
    text = [word.encode() for word in words]
    ends = np.cumsum([0, *map(len, text)], dtype=np.int32)
    held = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(text))]
    return pa.Array.from_buffers(pa.string(), len(text), held)


def core_form(array: Any, kind: str) -> Any:
    """Convert ``array`` to an Arrow type that the core reads for columns of this ``kind``.

    An array that already has such a type is returned unchanged.
    """
    pa = pyarrow()
    if is_core_form(array.type, kind):
        return array
    if pa.types.is_null(array.type):
        # The null type has no value type, so choose one that the core reads.
        others = {"number": pa.float64(), "boolean": pa.bool_(), "clock": pa.time64("us")}
        others |= {"date": pa.date32(), "time": pa.date32(), "bag": pa.list_(pa.string())}
        return array.cast(others.get(kind, pa.string()))
    if kind == "category":
        return _words(array)
    if kind == "text":
        import pyarrow.compute as pc

        return pc.utf8_lower(_decoded(_words(array)))
    if kind == "bag":
        return array.cast(pa.list_(pa.large_string()))
    array = _decoded(array)
    if pa.types.is_duration(array.type):
        import pyarrow.compute as pc

        microseconds = array.cast(pa.duration("us")).cast(pa.int64())
        return pc.divide(microseconds.cast(pa.float64(), safe=False), arrow_number(1e6))
    if pa.types.is_decimal(array.type) or pa.types.is_float16(array.type):
        return array.cast(pa.float64())
    is_other_text = is_text(array.type) and not is_core_form(array.type, "category")
    return array.cast(pa.large_string()) if is_other_text else array


@lru_cache(maxsize=1024)
def is_core_form(kind: Any, wanted: str) -> bool:
    """Whether `core_form` for ``wanted`` returns arrays of type ``kind`` unchanged."""
    pa = pyarrow()
    words = (pa.string(), pa.large_string())
    is_coded = pa.types.is_dictionary(kind)
    if wanted == "category":
        return kind in words or (is_coded and kind.value_type in words)
    if wanted in ("date", "time"):
        return stored_as(kind) == wanted and not is_coded
    if wanted == "bag":
        return kind in map(pa.list_, words)
    plain = kind in (pa.float64(), pa.float32(), pa.bool_()) or pa.types.is_integer(kind)
    return plain and wanted in ("number", "boolean")


def _decoded(array: Any) -> Any:
    """Return a dictionary-encoded array as its plain values; other arrays unchanged."""
    pa = pyarrow()
    if not pa.types.is_dictionary(array.type):
        return array
    if isinstance(array, pa.ChunkedArray):
        return pa.chunked_array([_decoded(chunk) for chunk in array.chunks])
    # Cast before `take`, which does not support every string type.
    words = array.dictionary
    words = words.cast(pa.large_string()) if is_text(words.type) else words
    return words.take(array.indices)


def _words(array: Any) -> Any:
    """Return values of any type as strings."""
    if is_core_form(array.type, "category"):
        return array
    array = _decoded(array)
    if is_text(array.type):
        return array.cast(pyarrow().large_string())
    if stored_as(array.type) == "number":
        return _numbers_as_words(array)
    return array.cast(pyarrow().string())


def _numbers_as_words(array: Any) -> Any:
    """Format numbers identically for integer and floating types: 7 rather than 7.0."""
    import pyarrow.compute as pc

    pa = pyarrow()
    if pa.types.is_integer(array.type):
        return array.cast(pa.string())
    if pa.types.is_duration(array.type):
        array = array.cast(pa.int64())
    array = array.cast(pa.float64(), safe=False)
    whole = pc.and_(pc.equal(pc.floor(array), array), pc.less(pc.abs(array), arrow_number(1e15)))
    integers = pc.if_else(whole, array, arrow_number(0.0)).cast(pa.int64(), safe=False)
    return pc.if_else(whole, integers.cast(pa.string()), array.cast(pa.string()))


def with_column(table: Any, place: int, name: str, column: Any) -> Any:
    """Return ``table`` with the column at index ``place`` replaced, or appended if it is the end.

    A function of ours, because record batches of pyarrow 15 have no such methods.

    Examples
    --------
    >>> import pyarrow as pa
    >>> batch = pa.RecordBatch.from_pydict({"a": [1, 2]})
    >>> with_column(with_column(batch, 0, "a", pa.array([3, 4])), 1, "b", pa.nulls(2)).to_pydict()
    {'a': [3, 4], 'b': [None, None]}
    """
    pa = pyarrow()
    if isinstance(table, pa.RecordBatch):
        arrays, names = table.columns, table.schema.names
        arrays[place : place + 1], names[place : place + 1] = [column], [name]
        return pa.RecordBatch.from_arrays(arrays, names=names)
    if place == table.num_columns:
        return table.append_column(name, column)
    return table.set_column(place, name, column)


def in_one_piece(array: Any) -> Any:
    """Return a chunked array as one contiguous array; other arrays unchanged."""
    if not hasattr(array, "num_chunks"):
        return array
    combined = array.unify_dictionaries().combine_chunks()
    if not hasattr(combined, "num_chunks"):
        return combined
    return combined.chunk(0) if combined.num_chunks else pyarrow().array([], combined.type)
