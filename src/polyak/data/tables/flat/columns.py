"""Flatten nested columns: structs and lists of numbers become top-level columns.

``{"a": {"b": 1}}`` becomes ``a.b``, and ``{"emb": [0.5, 2.0]}`` becomes ``emb[0]`` and ``emb[1]``.
Tables are flattened as they are read, so no other module handles nested types.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.data.options import Columns
from polyak.data.tables.arrow_types import in_one_piece, stored_as
from polyak.optional_imports import pyarrow


# A table may have thousands of columns, but only a few distinct types.
@lru_cache(maxsize=1024)
def is_nested(kind: Any) -> bool:
    """Whether a column of this type is flattened: a struct, list of numbers or extension type.

    Examples
    --------
    >>> import pyarrow as pa
    >>> kinds = pa.struct([("a", pa.int8())]), pa.list_(pa.float32()), pa.list_(pa.string())
    >>> [is_nested(kind) for kind in kinds]
    [True, True, False]
    """
    return pyarrow().types.is_struct(kind) or _is_list(kind) or _is_extension(kind)


def _is_list(kind: Any) -> bool:
    """Whether the type is a list of numbers or booleans, nested to any depth."""
    is_a = pyarrow().types
    if not (is_a.is_list(kind) or is_a.is_large_list(kind) or is_a.is_fixed_size_list(kind)):
        return False
    inner = kind.value_type
    return _is_list(inner) or (not is_a.is_null(inner) and stored_as(inner) in _NUMBERS)


_NUMBERS = ("number", "boolean")


def _is_extension(kind: Any) -> bool:
    pa = pyarrow()
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return isinstance(kind, pa.BaseExtensionType) or pa.types.is_interval(kind)


@dataclass(slots=True)
class Layout:
    """How nested columns map to flat ones.

    Attributes
    ----------
    lists : dict of str to int
        The length of each list column's lists, set by its first non-null row.
    groups : dict of str to list of str
        The flat columns of each struct or list.
    origins : dict of str to str
        The top-level column that each flat column comes from.
    """

    lists: dict[str, int] = field(default_factory=dict)
    groups: dict[str, list[str]] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)

    def learn(self, table: Any) -> None:
        """Determine the layout from the first rows."""
        for name, column in zip(table.column_names, table.columns, strict=True):
            for part, _ in _parts(name, column, self.lists, self.groups, {}):
                self.origins[part] = name

    def flatten(self, batch: Any) -> tuple[Any, dict[int, str]]:
        """Return the flattened table, and the reason for each row that is invalid."""
        wrong: dict[int, str] = {}
        columns: dict[str, Any] = {}
        lists = dict(self.lists)
        names, kinds = batch.schema.names, batch.schema.types
        for number, (name, kind) in enumerate(zip(names, kinds, strict=True)):
            column = batch.column(number)
            parts = _parts(name, column, lists, {}, wrong) if is_nested(kind) else [(name, column)]
            columns.update(parts)
        pa = pyarrow()
        make = pa.table if isinstance(batch, pa.Table) else pa.RecordBatch.from_pydict
        return make(columns), wrong

    def named(self, columns: Columns) -> Columns:
        """Return ``columns`` with each name of a struct or list replaced by its flat columns."""

        def every(names: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(part for name in names for part in self.groups.get(name, [name]))

        return replace(
            columns,
            drop=every(columns.drop),
            only=every(columns.only),
            categorical=every(columns.categorical),
            text=every(columns.text),
        )


def flattened(table: Any, lists: dict[str, int]) -> tuple[Any, Layout]:
    """Flatten the first rows of a table; ``lists`` holds the list lengths known beforehand."""
    layout = Layout(dict(lists))
    if any(map(is_nested, set(table.schema.types))):
        layout.learn(table)
        table = layout.flatten(table)[0]
    return table, layout


def _parts(
    name: str,
    column: Any,
    lists: dict[str, int],
    groups: dict[str, list[str]],
    wrong: dict[int, str],
) -> Iterator[tuple[str, Any]]:
    """Yield the flat columns of ``column`` with their names.

    Adds new list lengths to ``lists``, names to ``groups`` and invalid rows to ``wrong``.
    """
    pa = pyarrow()
    kind = column.type
    inner: list[tuple[str, Any]]
    if pa.types.is_struct(kind):
        inner = [(f"{name}.{kind.field(i).name}", part) for i, part in enumerate(column.flatten())]
    elif _is_list(kind):
        items = _items(name, in_one_piece(column), lists, wrong)
        inner = [(f"{name}[{place}]", item) for place, item in enumerate(items)]
    elif _is_extension(kind):
        yield from _parts(name, _without_extension(in_one_piece(column)), lists, groups, wrong)
        return
    else:
        yield name, column
        return
    mine: list[str] = []
    for part, values in inner:
        for leaf in _parts(part, values, lists, groups, wrong):
            mine.append(leaf[0])
            yield leaf
    groups[name] = mine


def _items(name: str, column: Any, lists: dict[str, int], wrong: dict[int, str]) -> list[Any]:
    """Return the first, second, ... items of a list column as arrays; null lists have null items.

    All lists must have the same length: rows with another are added to ``wrong``.
    """
    import pyarrow.compute as pc

    lengths = pc.list_value_length(column).fill_null(-1).to_numpy(zero_copy_only=False)
    there = np.flatnonzero(lengths >= 0)
    if name not in lists:
        if not len(there):
            return []
        lists[name] = int(lengths[there[0]])
    size = lists[name]
    right = lengths == size
    for row in there[~right[there]].tolist():
        wrong.setdefault(
            row,
            f"the list in column {name} has {lengths[row]:,} numbers, where the first has {size:,}",
        )
    values = (column if right.all() else column.filter(pyarrow().array(right))).flatten()
    if _is_plain(values.type):
        return _columns_of(values.to_numpy(zero_copy_only=False), right, size)
    places = np.where(right, np.cumsum(right) - 1, 0) * size
    return [values.take(pyarrow().array(places + k, mask=~right)) for k in range(size)]


def _is_plain(kind: Any) -> bool:
    is_a = pyarrow().types
    return bool(is_a.is_integer(kind) or is_a.is_float32(kind) or is_a.is_float64(kind))


def _columns_of(values: NDArray[Any], right: NDArray[np.bool_], size: int) -> list[Any]:
    """Transpose the items of lists of the right length into columns; other rows become NaN."""
    pa = pyarrow()
    rows = values.reshape(-1, size)
    if not right.all():
        every = np.full((len(right), size), np.nan)
        every[right] = rows
        rows = every
    columns = np.empty((size, len(rows)), rows.dtype)
    # Transpose in blocks of rows that fit into the cache.
    for begin in range(0, len(rows), _TOGETHER):
        columns[:, begin : begin + _TOGETHER] = rows[begin : begin + _TOGETHER].T
    memory, kind = pa.py_buffer(columns), pa.from_numpy_dtype(columns.dtype)
    step = columns.itemsize * len(rows)
    buffers = (memory.slice(place * step, step) for place in range(size))
    return [pa.Array.from_buffers(kind, len(rows), [None, buffer]) for buffer in buffers]


_TOGETHER = 256


def _without_extension(array: Any) -> Any:
    """Return an extension array as its storage type; intervals and pandas periods as strings."""
    pa = pyarrow()
    if pa.types.is_dictionary(array.type):
        words = _without_extension(array.dictionary)
        return pa.DictionaryArray.from_arrays(array.indices, words)
    named = getattr(array.type, "extension_name", None)
    if named is not None and not named.startswith("pandas."):
        return array.storage
    values = array.to_pylist() if named is None else array.to_pandas()
    return pa.array([None if value is None or value != value else str(value) for value in values])
