"""Hive partitions: columns in the names of folders, ``year=2013/month=1/part-0.parquet``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from polyak.optional_imports import pyarrow


def key_types(files: Iterable[Any]) -> dict[str, str]:
    """Return the type of each partition key: a number if all its values are integers or null."""
    found: dict[str, str] = {}
    for file in files:
        for name, value in getattr(file, "keys", {}).items():
            is_number = value is None or value.removeprefix("-").isdecimal()
            found[name] = "number" if is_number and found.get(name) != "string" else "string"
    return found


def with_keys(table: Any, keys: dict[str, str | None], types: dict[str, str]) -> Any:
    """Return ``table`` with the partition keys of its file added as columns."""
    pa = pyarrow()
    for name, value in keys.items():
        if types.get(name) == "number":
            scalar = pa.scalar(None if value is None else float(value), pa.float64())
        else:
            scalar = pa.scalar(value, pa.string())
        column = pa.repeat(scalar, table.num_rows)
        if name in table.column_names:
            table = table.set_column(table.column_names.index(name), name, column)
        else:
            table = table.append_column(name, column)
    return table
