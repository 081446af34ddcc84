"""Nested columns as flat ones: structs and lists of numbers become top-level columns.

``{"a": {"b": 1}}`` becomes ``a.b``, and ``{"emb": [0.5, 2.0]}`` becomes ``emb[0]`` and ``emb[1]``.
Tables are flattened as they are read, so no other module handles nested types.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from polyak.data.options import Columns
from polyak.data.tables.arrow_types import in_one_piece, is_list, stored_as
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
    pa = pyarrow()
    if is_list(kind):
        inner = kind.value_type
        is_number = stored_as(inner) in ("number", "boolean") and not pa.types.is_null(inner)
        return is_number or (is_list(inner) and is_nested(inner))
    if pa.types.is_dictionary(kind):
        return is_nested(kind.value_type)
    is_struct = pa.types.is_struct(kind)
    return is_struct or pa.types.is_interval(kind) or isinstance(kind, pa.BaseExtensionType)


class Layout:
    """How nested columns map to flat ones.

    Attributes
    ----------
    lists : dict of str to int
        The length of each list column's lists, set by its first non-null row.
    origins : dict of str to str
        The column of the source that each flat column comes from.
    """

    def __init__(self, lists: dict[str, int] | None = None) -> None:
        self.lists = lists or {}
        self.origins: dict[str, str] = {}

    def flatten(self, table: Any) -> tuple[Any, dict[int, str]]:
        """Return the flattened table, and the reason for each row that is invalid.

        The first table sets the lengths of lists that are not known yet.
        """
        if not any(map(is_nested, set(table.schema.types))):
            return table, {}
        wrong: dict[int, str] = {}
        flat: dict[str, Any] = {}
        for name, column in zip(table.schema.names, table.columns, strict=True):
            parts = dict(self._parts(name, column, wrong))
            self.origins |= dict.fromkeys(parts, name)
            flat |= parts
        return type(table).from_pydict(flat), wrong

    def named(self, columns: Columns) -> Columns:
        """Return ``columns`` with each name of a struct or list replaced by its flat columns."""
        lists = ("drop", "only", "categorical", "numeric", "text")
        parts = {role: map(self._parts_of, getattr(columns, role)) for role in lists}
        named: dict[str, Any] = {role: tuple(chain(*each)) for role, each in parts.items()}
        return replace(columns, **named)

    def _parts_of(self, name: str) -> list[str]:
        inside = (f"{name}.", f"{name}[")
        parts = [p for p, origin in self.origins.items() if p.startswith(inside) and p != origin]
        return parts if parts and name not in self.origins else [name]

    def _parts(self, name: str, column: Any, wrong: dict[int, str]) -> Iterator[tuple[str, Any]]:
        """Yield the flat columns of ``column`` with their names; add invalid rows to ``wrong``."""
        if not is_nested(column.type):
            yield name, column
        elif pyarrow().types.is_struct(column.type):
            for field, part in zip(column.type, column.flatten(), strict=True):
                yield from self._parts(f"{name}.{field.name}", part, wrong)
        elif is_list(column.type):
            for place, part in enumerate(self._items(name, in_one_piece(column), wrong)):
                yield from self._parts(f"{name}[{place}]", part, wrong)
        else:
            yield from self._parts(name, _without_extension(in_one_piece(column)), wrong)

    def _items(self, name: str, column: Any, wrong: dict[int, str]) -> list[Any]:
        """Return the first, second, ... items of a list column; null lists have null items.

        All lists must have the same length: rows with another are added to ``wrong``.
        """
        import pyarrow.compute as pc

        lengths = pc.list_value_length(column).fill_null(-1).to_numpy()
        there = np.flatnonzero(lengths >= 0)
        if len(there):
            self.lists.setdefault(name, int(lengths[there[0]]))
        size = self.lists.get(name, 0)
        right = lengths == size
        for row in there[~right[there]].tolist():
            reason = f"the list in column {name} has {lengths[row]:,} numbers, where the first has "
            wrong.setdefault(row, f"{reason}{size:,}; drop={(name,)!r} leaves it out")
        pa = pyarrow()
        values = column.flatten()
        if size and right.all() and not values.null_count and pa.types.is_floating(values.type):
            # A transposed copy: an embedding of 384 numbers takes half the time of `list_element`.
            return list(map(pa.array, np.ascontiguousarray(values.to_numpy().reshape(-1, size).T)))
        known = pc.if_else(pa.array(right), column, pa.scalar(None, column.type))
        return [pc.list_element(known, place) for place in range(size)]


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
